import { withTimeout } from '#core/lib/with-timeout.ts';
import type { Env } from '#core/process/env.ts';
import { acceptedHostNames, installationPorts } from '#core/edge/accepted-names.ts';
import { withHost } from '#core/edge/requests/hostless.ts';
import { IDLE_SECONDS } from '#core/edge/body.ts';
import { type Log, traceOf } from '#core/process/log.ts';
import { createAgent, INTERNAL } from './http.ts';
import { withEnd } from '#core/edge/body.ts';
import { sendLines } from './lines.ts';
import { createAgentProbes } from './probes.ts';
import { createServerLink } from './server-link.ts';

/** Time limit of a call: the maximum that Bun accepts. */
const CALL_SECONDS = 255;

export interface RunningAgent {
  /** The port that the agent listens on. */
  readonly port: number;
  /** Lets running calls finish, then sends the last log lines. */
  stop(): Promise<void>;
}

/** Starts the listener. @param ending whether the program is shutting down, which the probes report. */
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
    local_ports: installationPorts(env),
    log,
    tally,
  });
  const probes = createAgentProbes({ ...server, metrics_token: env.SVC_METRICS_TOKEN, tally, ending });
  const listener = Bun.serve({
    hostname: env.SVC_BIND,
    port: env.SVC_AGENT_MCP_PORT,
    idleTimeout: IDLE_SECONDS,
    maxRequestBodySize: 20 * 1024 * 1024,
    // Bun's error page would show source code, and its report of a fault is no line of the log.
    development: false,
    // With port sharing a second agent on the port would get every other request.
    reusePort: false,
    error(error) {
      log.error('request failed', { reason: traceOf(error) });
      return Response.json({ detail: INTERNAL }, { status: 500 });
    },
    async fetch(given, socket) {
      socket.timeout(given, CALL_SECONDS);
      const request = withHost(given);
      if (request instanceof Response) return request;
      const probed = probes.answer(request);
      if (probed !== null) return probed;
      const started = performance.now();
      const response = await answer(request, socket.requestIP(given)?.address ?? null);
      probes.add(request.method, response.status, performance.now() - started);
      // Subscription streams may be silent for longer than any timeout. Bun keeps a timeout for later requests of the connection,
      // so it is restored.
      const streams = response.headers.get('content-type')?.startsWith('text/event-stream') === true;
      socket.timeout(given, streams ? 0 : IDLE_SECONDS);
      return streams ? withEnd(response, () => socket.timeout(given, IDLE_SECONDS)) : response;
    },
  });
  return {
    port: listener.port ?? env.SVC_AGENT_MCP_PORT,
    async stop() {
      await withTimeout(listener.stop(), 5_000, () => undefined);
      // The server may have stopped already.
      await withTimeout(lines.stop(), 500, () => undefined);
    },
  };
}
