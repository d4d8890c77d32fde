import type { ControlPlane } from '#core/control-plane/control-plane.ts';
import type { Hono } from 'hono';
import { withHost } from '#core/edge/requests/hostless.ts';
import { withEnd } from '#core/lib/stream-end.ts';
import { faultOutside } from '#server/request/faults.ts';
import { isStream } from './http.ts';
import type { ServerEnv } from '#server/request/server-env.ts';
import { type SocketOwner, socketHandler } from '#server/request/sockets.ts';

export interface ListenOptions {
  readonly app: ControlPlane;
  readonly http: Hono<ServerEnv>;
  readonly hostname: string;
  readonly port: number;
  /** Connections that say and hear nothing for so long are closed, unless a stream or a call is under way; at most 255. */
  readonly idle_seconds: number;
  /** Only connections of our own TLS are let in: the addresses behind them, by the port that they come from. */
  readonly tunnels?: ReadonlyMap<number, string>;
}

export interface Listener {
  readonly port: number;
  /** Takes no more connections, and ends when the last exchange has ended. */
  drain(): Promise<void>;
  stop(): Promise<void>;
}

/** An HTTP listener of the front; throws the system's error when the port cannot be had. */
export function listen({ app, http, hostname, port, idle_seconds, tunnels }: ListenOptions): Listener {
  const server = Bun.serve({
    hostname,
    port,
    idleTimeout: idle_seconds,
    // Every other body has a limit of its own, which is counted as it arrives.
    maxRequestBodySize: Math.max(20 * 1024 * 1024, app.env.SVC_FILES_MAX_BYTES),
    websocket: socketHandler,
    // Bun's own page of a fault shows the source; what Hono could not answer is told like any other fault.
    development: false,
    // Bun takes that for a wish to share the port: a second server would get every other request.
    reusePort: false,
    error: (error) => faultOutside(app, error),
    async fetch(given, listener) {
      let is_socket = false;
      const peer = listener.requestIP(given);
      const address = tunnels === undefined ? (peer?.address ?? null) : (tunnels.get(peer?.port ?? 0) ?? null);
      if (tunnels !== undefined && address === null) return new Response(null, { status: 421 });
      const request = withHost(given);
      if (request instanceof Response) return request;
      const response = await http.fetch(request, {
        address,
        secure: tunnels !== undefined,
        upgrade: (owner: SocketOwner) => (is_socket = listener.upgrade(given, { data: owner })),
        received: () => listener.timeout(given, 0),
      });
      if (is_socket) return response;
      // Streams are quiet for long. A timeout stays with the connection: after anything else the usual one holds again.
      const rest = () => listener.timeout(given, idle_seconds);
      if (isStream(response)) {
        listener.timeout(given, 0);
        return withEnd(response, rest);
      }
      rest();
      return response;
    },
  });
  return { port: server.port ?? port, drain: () => server.stop(false), stop: () => server.stop(true) };
}
