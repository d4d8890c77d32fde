import type { ControlPlane } from '#core/control-plane/control-plane.ts';
import type { Hono } from 'hono';
import { withHost } from '#core/edge/requests/hostless.ts';
import { withEnd } from '#core/edge/body.ts';
import { faultOutside } from '#server/request/faults.ts';
import { isStream } from './http.ts';
import type { ServerEnv } from '#server/request/server-env.ts';
import { type SocketOwner, socketHandler } from '#server/request/sockets.ts';

export interface ListenOptions {
  readonly app: ControlPlane;
  readonly http: Hono<ServerEnv>;
  readonly hostname: string;
  readonly port: number;
  /** Connections without traffic for this time are closed, unless a stream or a call is running; at most 255. */
  readonly idle_seconds: number;
  /** Present: only connections from the TLS terminator are accepted. The client addresses by the terminator's port. */
  readonly tunnels?: ReadonlyMap<number, string>;
}

export interface Listener {
  readonly port: number;
  /** Accepts no more connections, and resolves when the last exchange has ended. */
  drain(): Promise<void>;
  stop(): Promise<void>;
}

/** Opens an HTTP listener of the front. Throws the system's error when the port is unavailable. */
export function listen({ app, http, hostname, port, idle_seconds, tunnels }: ListenOptions): Listener {
  const server = Bun.serve({
    hostname,
    port,
    idleTimeout: idle_seconds,
    // All other bodies have separate limits, which are enforced while they arrive.
    maxRequestBodySize: Math.max(20 * 1024 * 1024, app.env.SVC_FILES_MAX_BYTES),
    websocket: socketHandler,
    // Bun's error page would show source code. Faults outside Hono are answered like any other.
    development: false,
    // With port sharing a second server on the port would get every other request.
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
      // Streams may be silent for long. A timeout belongs to the connection, so it is restored after every request.
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
