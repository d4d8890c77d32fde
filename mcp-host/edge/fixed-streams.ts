import { RPC, RpcError } from '#mcp-host/protocol/messages.ts';
import { refuse } from '#mcp-host/protocol/replies.ts';
import type { Streams } from '#mcp-host/protocol/streams.ts';

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
