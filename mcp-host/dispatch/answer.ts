import type { ResponseBody, Page } from '#mcp-host/protocol/lists.ts';
import { type RunningCalls, CallerGone } from '#mcp-host/requests/running-calls.ts';
import type { CallServices } from '#mcp-host/call/services.ts';
import type { Observe, RequestRecord } from '#mcp-host/requests/request-record.ts';
import type { ProgressStream } from '#mcp-host/requests/progress-stream.ts';
import { type RpcId, RESULT_TAIL, resultHead, RPC, RpcError, errorText } from '#mcp-host/protocol/messages.ts';
import { type Handler, modernHead } from './methods.ts';
import { InputRequired } from '#mcp-host/call/confirmation/pending-call.ts';
import { createCallContext } from '#mcp-host/call/context.ts';
import { ignoredMeta } from '#mcp-host/call/tool-call.ts';
import { toRpcError, reply, accepted, idOf } from '#mcp-host/protocol/replies.ts';
import type { Exchange, GrantableScopes } from '#mcp-host/requests/request-record.ts';
import type { Log } from '#core/process/log.ts';
import { noteRefusal } from '#mcp-host/protocol/refusal-notes.ts';

const GZIP = { 'content-encoding': 'gzip', vary: 'Accept-Encoding' };

/** A JSON-RPC response, as text or ready to send; null: the request gets no response. */
export type Answer = string | ResponseBody | null;

export interface AnswerOptions extends CallServices {
  readonly observe: Observe;
  readonly running: RunningCalls;
}

/** Answers one request. In the stateless revision it throws errors, because their status becomes the status of the reply. */
export type AnswerRequest = (
  record: RequestRecord,
  id: RpcId,
  handler: Handler,
  progress?: ProgressStream | null,
) => Promise<Answer>;

/** Gives every request its context and deadline, and passes its record on when it ends. */
export function createAnswer(options: AnswerOptions): AnswerRequest {
  const { observe, running, log, now } = options;
  return async (record, id, handler, progress = null) => {
    const { message, protocol, session } = record;
    const deadline = running.open(record);
    if (progress?.left.aborted === true) deadline.abort();
    progress?.left.addEventListener('abort', () => deadline.abort());
    session?.running.set(deadline, id);
    try {
      const context = createCallContext(record, deadline, progress);
      const members = handler(message.params, context, options);
      const answered = members instanceof Promise ? await members : members;
      if (answered instanceof InputRequired) {
        return `${resultHead(id)}${context.registry.pieces.input_required},${answered.members}${RESULT_TAIL}`;
      }
      const meta = ignoredMeta(options.app_views.meta(record, context.registry), record);
      const legacy_head = meta === '' ? '' : `"_meta":{${meta}},`;
      return wrap(
        `${resultHead(id)}${protocol.modern ? modernHead(message.method, context.registry, now(), meta) : legacy_head}`,
        answered,
      );
    } catch (error) {
      record.error = error;
      if (protocol.modern || hasStatus(error)) throw error;
      return faultText(record, id, error, log);
    } finally {
      observe(record);
      running.close(deadline);
      session?.running.delete(deadline);
    }
  };
}

/** Missing scopes and unknown sessions are refused with an HTTP status in every revision. */
const hasStatus = (error: unknown): boolean =>
  error instanceof RpcError && (error.scopes.length > 0 || error.code === RPC.session_not_found);

const wrap = (head: string, members: string | Page): string | ResponseBody =>
  typeof members === 'string' ? `${head}${members}${RESULT_TAIL}` : members.wrap(head, RESULT_TAIL);

export const sizeOf = (answer: Exclude<Answer, null>): number => (typeof answer === 'string' ? answer.length : answer.size);

export const textOf = (answer: Answer): string | null | Promise<string> =>
  answer === null || typeof answer === 'string' ? answer : answer.plain().text();

/** The response text for the error that a call ended with; null: the caller has left. */
export const faultText = ({ exchange }: RequestRecord, id: RpcId, error: unknown, log: CallServices['log']): string | null =>
  error instanceof CallerGone ? null : errorText(id, toRpcError(error, log, exchange.request_id));

export function replyWith(answer: ResponseBody, { accepts_gzip }: Exchange): Response {
  const packed = accepts_gzip?.() === true ? answer.packed() : null;
  return packed === null ? reply(answer.plain()) : reply(packed, 200, GZIP);
}

/** The reply to a request that threw. @param body of the request, for its id. */
export function replyToFault(error: unknown, body: unknown, log: Log, request_id?: string, beyond?: GrantableScopes): Response {
  if (error instanceof CallerGone) return accepted();
  const rpc = toRpcError(error, log, request_id);
  const asks = beyond !== undefined && rpc.scopes.length > 0;
  const headers = asks ? { 'www-authenticate': beyond.challenge(rpc.scopes) } : undefined;
  return noteRefusal(reply(errorText(idOf(body), rpc), rpc.http_status, headers), rpc.message, error);
}
