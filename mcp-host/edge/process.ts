import { processEnvironment } from '#core/env.ts';
import { createStreams } from '#mcp-host/protocol/streams.ts';
import type { Peer } from '#mcp-host/protocol/exchange.ts';
import { createEdgeHost, type EdgeHost } from './edge-host.ts';
import { openIsolate } from './parts.ts';
import { platformFetch } from './platform-fetch.ts';

const KEEP_ALIVE_MS = 15_000;

/** One host for all requests of a process, which keeps its pools, queues, caches and streams as any host does. */
function openProcess(text: string): () => Promise<EdgeHost> {
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
  return () =>
    (opened ??= open().catch((error: unknown) => {
      // The next request tries again.
      opened = null;
      throw error;
    }));
}

const peerAt = (address: () => string): Peer => ({ listener: 0, address, hold: () => undefined, release: () => undefined });

interface DenoInfo {
  readonly remoteAddr?: { readonly hostname?: string };
}

/** What `deno serve` calls. It stops listening on SIGTERM by itself, and goes on as long as a session of a pool is open. */
export function serveDeno(text: string) {
  const host = openProcess(text);
  process.once('SIGTERM', () => void host().then((opened) => opened.close()));
  return {
    fetch: async (request: Request, info?: DenoInfo): Promise<Response> =>
      (await host()).fetch(
        request,
        peerAt(() => info?.remoteAddr?.hostname ?? ''),
      ),
  };
}

interface BunServer {
  requestIP?(request: Request): { readonly address: string } | null;
}

/** Bun closes a connection that is silent for so long: the most that it takes. */
const IDLE_SECONDS = 255;

/** What `bun run` serves: the members of the default export are options of Bun.serve. */
export function serveBun(text: string) {
  const host = openProcess(text);
  return {
    idleTimeout: IDLE_SECONDS,
    // A fault is no page with its stack.
    development: false,
    fetch: async (request: Request, server?: BunServer): Promise<Response> =>
      (await host()).fetch(
        request,
        peerAt(() => server?.requestIP?.(request)?.address ?? ''),
      ),
  };
}
