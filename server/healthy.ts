import { withDevSecrets } from '#core/edge/dev-secrets.ts';
import { parseEnv, processEnvironment } from '#core/process/env.ts';

/** A container's health check: requests the liveness probe of the program of this role. Exits with 0 or 1. */
const TIMEOUT_MS = 2_500;
/** Addresses that mean every interface of the machine, and how to reach a program that listens there. */
const ANY: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '::': '[::1]', '*': '127.0.0.1' };

const { env } = parseEnv('agent', withDevSecrets(processEnvironment()));
const PORTS = { all: env.SVC_PORT, server: env.SVC_PORT, host: env.SVC_FASTMCP_PORT, agent: env.SVC_AGENT_MCP_PORT };
const bind = env.SVC_BIND;
const address = ANY[bind] ?? (bind.includes(':') ? `[${bind}]` : bind);
// A host listens at the address of its snapshot, and at SVC_BIND before it has one.
const addresses = env.SVC_ROLE === 'host' ? new Set([address, '127.0.0.1']) : [address];
const probed = [...addresses].map(async (at) => {
  const answer = await fetch(`http://${at}:${PORTS[env.SVC_ROLE]}/livez`, { signal: AbortSignal.timeout(TIMEOUT_MS) });
  if (!answer.ok) throw new Error(`/livez answered ${answer.status}`);
});
process.exit(
  await Promise.any(probed).then(
    () => 0,
    () => 1,
  ),
);
