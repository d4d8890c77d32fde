import { processEnvironment } from '#core/process/env.ts';
import { withTimeout } from '#core/lib/with-timeout.ts';
import { createStreams } from '#mcp-host/dispatch/streams.ts';
import type { Peer } from '#mcp-host/runtime/types.ts';
import { createEdgeHost, type EdgeHost } from './edge-host.ts';
import { openIsolate } from './parts.ts';
import { platformFetch } from './platform-fetch.ts';

const KEEP_ALIVE_MS = 15_000;
/** How long calls may run on when the process is to end, as those of a host. */
const GRACE_MS = 8_000;
/** Milliseconds for what is on its way to databases then, and to clients. */
const REST_MS = 500;

interface HostProcess {
  /** One host for all requests, which keeps its pools, queues, caches and streams as any host does. */
  readonly host: () => Promise<EdgeHost>;
  /** Lets calls finish. There is nothing to do where nobody asked yet. */
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
        // The next request tries again.
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

/** What `deno serve` calls. It stops listening on SIGTERM by itself, and goes on as long as a session of a pool is open. */
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

/** Bun closes a connection that is silent for so long: the most that it takes. */
const IDLE_SECONDS = 255;

/** What `bun run` serves: the members of the default export are options of Bun.serve. */
export function serveBun(text: string) {
  const { host, end } = openProcess(text);
  /** Bun hands it over with a request, and to nobody before. */
  let serving: BunServer | undefined;
  process.once('SIGTERM', () => {
    const ended = withTimeout(end(), GRACE_MS + REST_MS, () => undefined);
    // A client that keeps its connection open does not keep the process.
    const sent = ended.then(() => withTimeout(serving?.stop?.() ?? Promise.resolve(), REST_MS, () => undefined));
    void sent.finally(() => process.exit(0));
  });
  return {
    idleTimeout: IDLE_SECONDS,
    // A fault is no page with its stack.
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
