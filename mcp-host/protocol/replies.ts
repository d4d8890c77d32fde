import { wellFormedJson, oneLine } from '#core/lib/text/wire-text.ts';
import { largeBody } from '#mcp-host/runtime/runtime.ts';
import { createSending, LARGE_BLOB, LARGE_TEXT, noteSending } from '#mcp-host/runtime/sending.ts';
import { noteRefusal } from './refusal-notes.ts';
import { errorText, RPC, RpcError, type RpcId, isRpcId } from './messages.ts';
import type { Log } from '#core/process/log.ts';

const JSON_HEADERS = { 'content-type': 'application/json' };

const JSON_OK = { status: 200, headers: new Headers(JSON_HEADERS) };

export const accepted = (): Response => new Response(null, { status: 202 });

/** Headers of a refusal that is expected to end soon. */
export const RETRY = { 'retry-after': '5' };

/** Refuses a request with a sentence. @param id of the message, if it was read. */
export const refuse = (
  status: number,
  message: string,
  headers?: Readonly<Record<string, string>>,
  { id = null, code = RPC.server }: { id?: RpcId | null; code?: number } = {},
): Response => noteRefusal(reply(errorText(id, new RpcError(code, message)), status, headers), message);

export const EVENT_HEADERS = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
};

/** A message as an event of a stream. */
export const eventOf = (message: string): string => `event: message\ndata: ${oneLine(message)}\n\n`;

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

export function toRpcError(error: unknown, log: Log, request_id: string | undefined): RpcError {
  if (error instanceof RpcError) return error;
  log.error('request_failed', { request_id, error: error instanceof Error ? (error.stack ?? error.message) : String(error) });
  return new RpcError(RPC.internal, 'The server failed. See its log.', { http_status: 500 });
}

/** The id of a request whose other members cannot be read. */
export function idOf(body: unknown): RpcId | null {
  const id = typeof body === 'object' && body !== null && 'id' in body ? body.id : null;
  return isRpcId(id) || typeof id === 'number' ? id : null;
}

/** Sends all events at once. The response is not a stream, so its connection may idle out like any other. */
export function eventResponse(events: string, headers = new Headers()): Response {
  headers.set('content-type', 'text/event-stream');
  headers.delete('content-length');
  if (events.length < LARGE_TEXT) headers.set('content-length', String(Buffer.byteLength(events)));
  return followed(events, events.length, { headers });
}
