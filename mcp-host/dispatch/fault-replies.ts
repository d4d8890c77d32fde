import type { Exchange, GrantableScopes } from '#mcp-host/requests/exchange.ts';
import type { ResponseBody } from '#mcp-host/protocol/lists.ts';
import { reply, accepted, toRpcError, idOf } from '#mcp-host/protocol/replies.ts';
import type { Log } from '#core/process/log.ts';
import { CallerGone } from '#mcp-host/requests/running-calls.ts';
import { noteRefusal } from '#mcp-host/protocol/refusal-notes.ts';
import { errorText } from '#mcp-host/protocol/messages.ts';

const GZIP = { 'content-encoding': 'gzip', vary: 'Accept-Encoding' };

export function replyWith(answer: ResponseBody, { accepts_gzip }: Exchange): Response {
  const packed = accepts_gzip?.() === true ? answer.packed() : null;
  return packed === null ? reply(answer.plain()) : reply(packed, 200, GZIP);
}

/** What a request ended with that threw. @param body of the request, for its id. */
export function replyToFault(error: unknown, body: unknown, log: Log, request_id?: string, beyond?: GrantableScopes): Response {
  if (error instanceof CallerGone) return accepted();
  const rpc = toRpcError(error, log, request_id);
  const asks = beyond !== undefined && rpc.scopes.length > 0;
  const headers = asks ? { 'www-authenticate': beyond.challenge(rpc.scopes) } : undefined;
  return noteRefusal(reply(errorText(idOf(body), rpc), rpc.http_status, headers), rpc.message, error);
}
