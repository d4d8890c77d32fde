import { withDevSecrets } from '#core/edge/dev-secrets.ts';
import { withTimeout } from '#core/lib/with-timeout.ts';
import { EnvError, parseEnv, processEnvironment } from '#core/env.ts';
import { acceptedHostNames, ownPorts } from '#core/edge/accepted-names.ts';
import { withHost } from '#core/edge/hostless.ts';
import { IDLE_SECONDS } from '#core/edge/body.ts';
import { createLog, logUnhandled, toStream } from '#core/log.ts';
import { onStop } from '#core/product.ts';
import { createAgent } from './http.ts';
import { withEnd } from '#core/lib/stream-end.ts';
import { sendLines } from './lines.ts';
import { createAgentProbes } from './probes.ts';
import { createServerLink } from './server-link.ts';

/** What a call may take: Bun's largest value. */
const CALL_SECONDS = 255;

try {
  main();
} catch (error) {
  process.stderr.write(`${error instanceof EnvError ? error.message : `The agent cannot start: ${String(error)}`}\n`);
  process.exit(1);
}

function main(): void {
  const { env, warnings } = parseEnv('agent', withDevSecrets(processEnvironment()));
  const log = createLog(env.SVC_LOG_LEVEL, toStream(process.stdout), 'agent');
  const server = {
    server_url: env.SVC_SERVER_URL ?? `http://127.0.0.1:${env.SVC_PORT}`,
    service_token: env.SVC_AGENT_SERVICE_TOKEN,
  };
  const lines = sendLines(log, createServerLink(server));
  for (const warning of warnings) log.warning(warning);
  logUnhandled(log);
  const tally = { undeclared: 0 };
  const answer = createAgent({
    ...server,
    trusted_proxies: env.SVC_TRUSTED_PROXIES,
    public_url: env.SVC_PUBLIC_URL,
    local_url: `http://127.0.0.1:${env.SVC_PORT}`,
    allowed_hosts: acceptedHostNames(env, [env.SVC_AGENT_MCP_URL, env.SVC_SERVER_URL]),
    own_ports: ownPorts(env),
    log,
    tally,
  });
  const ending = onStop(async () => {
    log.info('agent stops');
    // Running calls may finish.
    await withTimeout(listener.stop(), 5_000, () => undefined);
    // The server may be gone already.
    await withTimeout(lines.stop(), 500, () => undefined);
  });
  const probes = createAgentProbes({ ...server, metrics_token: env.SVC_METRICS_TOKEN, tally, ending });
  const listener = Bun.serve({
    hostname: env.SVC_BIND,
    port: env.SVC_AGENT_MCP_PORT,
    idleTimeout: IDLE_SECONDS,
    maxRequestBodySize: 20 * 1024 * 1024,
    async fetch(given, socket) {
      socket.timeout(given, CALL_SECONDS);
      const request = withHost(given);
      if (request instanceof Response) return request;
      const probed = probes.answer(request);
      if (probed !== null) return probed;
      const started = performance.now();
      const response = await answer(request, socket.requestIP(given)?.address ?? null);
      probes.add(request.method, response.status, performance.now() - started);
      // Streams of subscriptions are quiet for longer than any limit. Bun keeps the value for the connection's next request.
      const streams = response.headers.get('content-type')?.startsWith('text/event-stream') === true;
      socket.timeout(given, streams ? 0 : IDLE_SECONDS);
      return streams ? withEnd(response, () => socket.timeout(given, IDLE_SECONDS)) : response;
    },
  });
  log.info('agent listens', { address: env.SVC_BIND, port: listener.port });
}
