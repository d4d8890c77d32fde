import { RPC, RpcError } from '#mcp-host/protocol/messages.ts';
import { refuse } from '#mcp-host/protocol/replies.ts';
import type { Streams } from '#mcp-host/dispatch/streams.ts';
import { hostName } from '#core/edge/origins.ts';
import { createEdgeHost } from './edge-host.ts';
import { type IsolateParts, openIsolate } from './parts.ts';
import { platformFetch } from './platform-fetch.ts';
import { workersSockets } from './workers-sockets.ts';

const NOTHING_CHANGES = 'Nothing changes while this server runs, so there is nothing to listen to. Send messages with POST.';

/** Where a request may not wait for what happens in others: streams are refused, as the protocol allows. */
export const FIXED_STREAMS: Streams = {
  attach: () => refuse(405, NOTHING_CHANGES, { allow: 'POST' }),
  listen() {
    throw new RpcError(RPC.method_not_found, NOTHING_CHANGES, { http_status: 404 });
  },
  carry: () => refuse(405, NOTHING_CHANGES, { allow: 'POST' }),
  followed: () => [],
  detach: () => undefined,
  announce: () => undefined,
  review: () => undefined,
  keepAlive: () => undefined,
  end: () => undefined,
  endOf: () => undefined,
  count: () => 0,
};

interface Context {
  waitUntil(work: Promise<unknown>): void;
}

/**
 * What workerd calls. Sockets and timers belong to the request that made them, so each request has a host of its own over what the
 * isolate keeps: the definitions, their lists and the counters of rate limits.
 */
export function serveWorkers(text: string) {
  let kept: IsolateParts | null = null;
  return {
    async fetch(request: Request, bindings: Readonly<Record<string, unknown>>, context: Context): Promise<Response> {
      // Not one promise for all: it would end with the request that made it.
      const parts = (kept ??= await openIsolate(text, (name) => bindings[name]));
      const name = hostName(request.headers.get('host') ?? '');
      const host = await createEdgeHost({
        ...parts,
        // The platform hands on requests for names that lead to this Worker, and no others.
        allowed_hosts: new Set([...parts.allowed_hosts, ...(name === null ? [] : [name])]),
        network: { fetch: platformFetch, sockets: workersSockets },
        streams: FIXED_STREAMS,
        keeps_pools: false,
        compressed_outside: true,
        onClosing: (closing) => context.waitUntil(closing),
      });
      const address = () => request.headers.get('cf-connecting-ip') ?? '';
      return host.fetch(request, { listener: 0, address, hold: () => undefined, release: () => undefined });
    },
  };
}
