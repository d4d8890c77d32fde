import type { Peer } from '#mcp-host/protocol/exchange.ts';

export interface ServeOptions {
  readonly host: string;
  readonly port: number;
  /** Names the listener to its peers. */
  readonly number: number;
  readonly idle_seconds: number;
  readonly max_body_bytes: number;
  /** The path of nearly all requests, which need not be read out of their URL then. */
  readonly usual_path: string;
  /** @param path where it is known already. */
  readonly fetch: (request: Request, peer: Peer, path?: string) => Response | Promise<Response>;
  readonly fault: (error: Error) => Response;
}

/** An open address. */
export interface Served {
  readonly port: number;
  /** Takes no new connections; with `now` it ends those that are open. Settles when all have ended. */
  stop(now: boolean): Promise<void>;
}

/** Throws when the address cannot be had. */
export function serve({ host, port, number, idle_seconds, max_body_bytes, usual_path, fetch, fault }: ServeOptions): Served {
  const server = Bun.serve({
    hostname: host,
    port,
    idleTimeout: idle_seconds,
    // A fault of ours is no page with its stack.
    development: false,
    // Bun takes that for a wish to share the port: a second host would get every other request.
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

/** A timeout stays with the connection, so that it is put back for the next request. */
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
