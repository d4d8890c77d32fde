import { RPC, RpcError } from '#mcp-host/protocol/messages.ts';
import { refuse } from '#mcp-host/protocol/replies.ts';
import type { Streams } from '#mcp-host/dispatch/streams.ts';
import { hostName } from '#core/edge/origins.ts';
import { createEdgeHost } from './edge-host.ts';
import { type IsolateParts, openIsolate } from './parts.ts';
import { platformFetch } from './parts.ts';
import { workersSockets } from './workers-sockets.ts';

const NOTHING_CHANGES = 'Nothing changes while this server runs, so there is nothing to listen to. Send messages with POST.';

/** On platforms where a request cannot wait for events of other requests, streams are refused, as the protocol allows. */
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
 * The export for workerd. Sockets and timers belong to the request that created them, so each request has a separate host; the
 * definitions, their lists and the counters of rate limits are shared in the isolate.
 */
export function serveWorkers(text: string) {
  let shared_parts: IsolateParts | null = null;
  return {
    async fetch(request: Request, bindings: Readonly<Record<string, unknown>>, context: Context): Promise<Response> {
      // A shared promise would end with the request that created it, so only the result is shared.
      const parts = (shared_parts ??= await openIsolate(text, (name) => bindings[name]));
      const name = hostName(request.headers.get('host') ?? '');
      const host = await createEdgeHost({
        ...parts,
        // The platform only forwards requests whose names lead to this Worker.
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
