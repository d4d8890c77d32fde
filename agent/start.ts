import { withTimeout } from '#core/lib/with-timeout.ts';
import type { Env } from '#core/process/env.ts';
import { acceptedHostNames, ownPorts } from '#core/edge/accepted-names.ts';
import { withHost } from '#core/edge/requests/hostless.ts';
import { IDLE_SECONDS } from '#core/edge/body.ts';
import type { Log } from '#core/process/log.ts';
import { createAgent } from './http.ts';
import { withEnd } from '#core/lib/stream-end.ts';
import { sendLines } from './lines.ts';
import { createAgentProbes } from './probes.ts';
import { createServerLink } from './server-link.ts';

/** What a call may take: Bun's largest value. */
const CALL_SECONDS = 255;

export interface RunningAgent {
  /** The port that is listened on. */
  readonly port: number;
  /** Lets running calls finish, then sends the last log lines. */
  stop(): Promise<void>;
}

/** Listens. @param ending whether the program ends, which its probes report. */
export function startAgent(env: Env, log: Log, ending: () => boolean): RunningAgent {
  const server = {
    server_url: env.SVC_SERVER_URL ?? `http://127.0.0.1:${env.SVC_PORT}`,
    service_token: env.SVC_AGENT_SERVICE_TOKEN,
  };
  const lines = sendLines(log, createServerLink(server));
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
  return {
    port: listener.port ?? env.SVC_AGENT_MCP_PORT,
    async stop() {
      await withTimeout(listener.stop(), 5_000, () => undefined);
      // The server may be gone already.
      await withTimeout(lines.stop(), 500, () => undefined);
    },
  };
}
