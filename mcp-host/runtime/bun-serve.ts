import type { Peer, BoundServer, ServeOptions } from './types.ts';

/** Rejects when the address cannot be opened. */
export async function serve({
  host,
  port,
  number,
  idle_seconds,
  max_body_bytes,
  usual_path,
  fetch,
  fault,
}: ServeOptions): Promise<BoundServer> {
  const server = Bun.serve({
    hostname: host,
    port,
    idleTimeout: idle_seconds,
    // Without this Bun answers a fault with a page that shows the stack.
    development: false,
    // With port sharing a second host on the port would get every other request.
    reusePort: false,
    error: fault,
    maxRequestBodySize: max_body_bytes,
    fetch: (request, server) => fetch(request, new SocketPeer(server, request, number, idle_seconds)),
    routes: {
      [usual_path]: (request: Request, server: Bun.Server<undefined>) =>
        fetch(request, new SocketPeer(server, request, number, idle_seconds), usual_path),
    },
  });
  return { port: server.port ?? port, stop: (now) => server.stop(now) };
}

/** A timeout belongs to the connection, so it is restored for the next request. */
class SocketPeer implements Peer {
  readonly listener: number;
  readonly #server: Bun.Server<undefined>;
  readonly #request: Request;
  readonly #idle_seconds: number;
  #holds = 0;

  constructor(server: Bun.Server<undefined>, request: Request, listener: number, idle_seconds: number) {
    this.listener = listener;
    this.#server = server;
    this.#request = request;
    this.#idle_seconds = idle_seconds;
  }

  address(): string {
    return this.#server.requestIP(this.#request)?.address ?? '';
  }

  hold(): void {
    if (this.#holds++ === 0) this.#server.timeout(this.#request, 0);
  }

  release(): void {
    if (--this.#holds === 0) this.#server.timeout(this.#request, this.#idle_seconds);
  }
}
