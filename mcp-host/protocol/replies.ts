import { oneLine, wellFormedJson } from '#core/lib/text/wire-text.ts';
import type { Log } from '#core/process/log.ts';
import { CallerGone } from '#mcp-host/call/context.ts';
import { largeBody } from '#mcp-host/runtime/runtime.ts';
import type { Beyond, Exchange } from './exchange.ts';
import type { ResponseBody } from './lists.ts';
import { noteRefusal } from '#mcp-host/observe/refusal-notes.ts';
import { createSending, LARGE_BLOB, LARGE_TEXT, noteSending } from '#mcp-host/transports/sending.ts';
import { errorText, isRpcId, RPC, RpcError, type RpcId } from './messages.ts';

const JSON_HEADERS = { 'content-type': 'application/json' };
const JSON_OK = { status: 200, headers: new Headers(JSON_HEADERS) };
/** An answer of the MCP endpoint. */
export function reply(answer: string | Blob, status = 200, headers?: Readonly<Record<string, string>>): Response {
  const init = status === 200 && headers === undefined ? JSON_OK : { status, headers: { ...JSON_HEADERS, ...headers } };
  if (typeof answer !== 'string') return followed(answer, answer.size, init);
  const text = wellFormedJson(answer);
  return followed(text, text.length, init);
}

function followed(answer: string | Blob, bytes: number, init: ResponseInit): Response {
  if (bytes < (typeof answer === 'string' ? LARGE_TEXT : LARGE_BLOB)) return new Response(answer, init);
  const sending = createSending(bytes);
  return noteSending(new Response(largeBody(answer, sending), init), sending);
}

const GZIP = { 'content-encoding': 'gzip', vary: 'Accept-Encoding' };
export function replyWith(answer: ResponseBody, { accepts_gzip }: Exchange): Response {
  const packed = accepts_gzip?.() === true ? answer.packed() : null;
  return packed === null ? reply(answer.plain()) : reply(packed, 200, GZIP);
}

export const accepted = (): Response => new Response(null, { status: 202 });

/** Of a refusal that ends soon. */
export const RETRY = { 'retry-after': '5' };
/** A sentence in place of an answer. @param id of the message, where it was read. */
export const refuse = (
  status: number,
  message: string,
  headers?: Readonly<Record<string, string>>,
  { id = null, code = RPC.server }: { id?: RpcId | null; code?: number } = {},
): Response => noteRefusal(reply(errorText(id, new RpcError(code, message)), status, headers), message);

/** What a request ended with that threw. @param body of the request, for its id. */
export function replyToFault(error: unknown, body: unknown, log: Log, request_id?: string, beyond?: Beyond): Response {
  if (error instanceof CallerGone) return accepted();
  const rpc = toRpcError(error, log, request_id);
  const asks = beyond !== undefined && rpc.scopes.length > 0;
  const headers = asks ? { 'www-authenticate': beyond.challenge(rpc.scopes) } : undefined;
  return noteRefusal(reply(errorText(idOf(body), rpc), rpc.http_status, headers), rpc.message, error);
}

export function toRpcError(error: unknown, log: Log, request_id: string | undefined): RpcError {
  if (error instanceof RpcError) return error;
  log.error('request_failed', { request_id, error: error instanceof Error ? (error.stack ?? error.message) : String(error) });
  return new RpcError(RPC.internal, 'The server failed. See its log.', { http_status: 500 });
}

/** The id of a request, to answer it when nothing else of it was read. */
export function idOf(body: unknown): RpcId | null {
  const id = typeof body === 'object' && body !== null && 'id' in body ? body.id : null;
  return isRpcId(id) || typeof id === 'number' ? id : null;
}

export const EVENT_HEADERS = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
};
/** A message as an event of a stream. */
export const eventOf = (message: string): string => `event: message\ndata: ${oneLine(message)}\n\n`;

/** Events in one piece are no stream: their connection may idle out like any other. */
export function eventResponse(events: string, headers = new Headers()): Response {
  headers.set('content-type', 'text/event-stream');
  headers.delete('content-length');
  if (events.length < LARGE_TEXT) headers.set('content-length', String(Buffer.byteLength(events)));
  return followed(events, events.length, { headers });
}
