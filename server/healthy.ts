import { parseEnv, processEnvironment } from '#core/process/env.ts';
import { withDevSecrets } from '#core/edge/dev-secrets.ts';

/** What a container's health check runs: asks the program of this role whether it lives. Ends with 0 or 1. */
const TIMEOUT_MS = 2_500;

const { env } = parseEnv('agent', withDevSecrets(processEnvironment()));
const PORTS = { all: env.SVC_PORT, server: env.SVC_PORT, host: env.SVC_FASTMCP_PORT, agent: env.SVC_AGENT_MCP_PORT };
const url = `http://127.0.0.1:${PORTS[env.SVC_ROLE]}/livez`;
const alive = await fetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS) }).then(
  (answer) => answer.ok,
  () => false,
);
process.exit(alive ? 0 : 1);
