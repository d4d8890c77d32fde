import { processEnvironment } from '#core/process/env.ts';
import { withTimeout } from '#core/lib/with-timeout.ts';
import { createStreams } from '#mcp-host/dispatch/streams.ts';
import type { Peer } from '#mcp-host/runtime/types.ts';
import { createEdgeHost, type EdgeHost } from './edge-host.ts';
import { openIsolate } from './parts.ts';
import { platformFetch } from './parts.ts';

const KEEP_ALIVE_MS = 15_000;
/** How long running calls may continue when the process ends, as in a host. */
const GRACE_MS = 8_000;
/** Milliseconds after that for pending messages to databases and clients. */
const REST_MS = 500;

interface HostProcess {
  /** One host for all requests, with the pools, queues, caches and streams of any host. */
  readonly host: () => Promise<EdgeHost>;
  /** Lets calls finish. Before the first request there is no host to close. */
  readonly end: () => Promise<void>;
}

function openProcess(text: string): HostProcess {
  let opened: Promise<EdgeHost> | null = null;
  const open = async (): Promise<EdgeHost> => {
    const environment = processEnvironment();
    const parts = await openIsolate(text, (name) => environment[name]);
    const host = await createEdgeHost({
      ...parts,
      network: { fetch: platformFetch, sockets: null },
      streams: createStreams(),
      keeps_pools: true,
      compressed_outside: false,
      onClosing: () => undefined,
    });
    setInterval(() => host.keepAlive(), KEEP_ALIVE_MS).unref();
    return host;
  };
  return {
    host: () =>
      (opened ??= open().catch((error: unknown) => {
        // The next request opens it again.
        opened = null;
        throw error;
      })),
    end: async () => (await opened?.catch(() => null))?.close(GRACE_MS),
  };
}

const peerAt = (address: () => string): Peer => ({ listener: 0, address, hold: () => undefined, release: () => undefined });

interface DenoInfo {
  readonly remoteAddr?: { readonly hostname?: string };
}

/** The export for `deno serve`. Deno stops listening on SIGTERM, and runs on while a session of a pool is open. */
export function serveDeno(text: string) {
  const { host, end } = openProcess(text);
  process.once('SIGTERM', () => void end());
  return {
    fetch: async (request: Request, info?: DenoInfo): Promise<Response> =>
      (await host()).fetch(
        request,
        peerAt(() => info?.remoteAddr?.hostname ?? ''),
      ),
  };
}

interface BunServer {
  stop?(now?: boolean): Promise<void>;
  requestIP?(request: Request): { readonly address: string } | null;
}

/** Bun closes a connection that is silent for this long; 255 is the most that it accepts. */
const IDLE_SECONDS = 255;

/** The export for `bun run`: its members are options of Bun.serve. */
export function serveBun(text: string) {
  const { host, end } = openProcess(text);
  /** Undefined before the first request, because Bun passes the server only with requests. */
  let serving: BunServer | undefined;
  process.once('SIGTERM', () => {
    const ended = withTimeout(end(), GRACE_MS + REST_MS, () => undefined);
    // A client that keeps its connection open does not keep the process running.
    const sent = ended.then(() => withTimeout(serving?.stop?.() ?? Promise.resolve(), REST_MS, () => undefined));
    void sent.finally(() => process.exit(0));
  });
  return {
    hostname: processEnvironment()['SVC_BIND'] || '127.0.0.1',
    idleTimeout: IDLE_SECONDS,
    // Without this Bun answers a fault with a page that shows the stack.
    development: false,
    async fetch(request: Request, server?: BunServer): Promise<Response> {
      serving = server;
      return (await host()).fetch(
        request,
        peerAt(() => server?.requestIP?.(request)?.address ?? ''),
      );
    },
  };
}
