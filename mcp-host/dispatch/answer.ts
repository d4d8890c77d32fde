import { InputRequired } from '#mcp-host/call/confirmation/pending-call.ts';
import { CallerGone, type RunningCalls } from '#mcp-host/requests/running-calls.ts';
import type { CallServices } from '#mcp-host/call/services.ts';
import { createCallContext } from '#mcp-host/call/context.ts';
import { ignoredMeta } from '#mcp-host/call/ignored-arguments.ts';
import type { ProgressStream } from '#mcp-host/requests/progress-stream.ts';
import type { Observe, RequestRecord } from '#mcp-host/requests/request-record.ts';
import type { Page, ResponseBody } from '#mcp-host/protocol/lists.ts';
import { errorText, RESULT_TAIL, resultHead, RPC, RpcError, type RpcId } from '#mcp-host/protocol/messages.ts';
import { type Handler, modernHead } from './methods.ts';
import { toRpcError } from '#mcp-host/protocol/replies.ts';

/** A JSON-RPC response, as text or ready to be sent; null when there is none to give. */
export type Answer = string | ResponseBody | null;

export interface AnswerOptions extends CallServices {
  readonly observe: Observe;
  readonly running: RunningCalls;
}

/** Answers one request. Throws for a caller of the stateless revision, whose reply has the status of its error. */
export type AnswerRequest = (
  record: RequestRecord,
  id: RpcId,
  handler: Handler,
  progress?: ProgressStream | null,
) => Promise<Answer>;

/** Gives every request its context and its deadline, and ends with its record. */
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
      const own = meta === '' ? '' : `"_meta":{${meta}},`;
      return wrap(
        `${resultHead(id)}${protocol.modern ? modernHead(message.method, context.registry, now(), meta) : own}`,
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

/** What needs further scopes, or another session, is refused with the status of an HTTP reply, whatever the revision. */
const hasStatus = (error: unknown): boolean =>
  error instanceof RpcError && (error.scopes.length > 0 || error.code === RPC.session_not_found);

const wrap = (head: string, members: string | Page): string | ResponseBody =>
  typeof members === 'string' ? `${head}${members}${RESULT_TAIL}` : members.wrap(head, RESULT_TAIL);

export const sizeOf = (answer: Exclude<Answer, null>): number => (typeof answer === 'string' ? answer.length : answer.size);

export const textOf = (answer: Answer): string | null | Promise<string> =>
  answer === null || typeof answer === 'string' ? answer : answer.plain().text();

/** A response text in place of the error that a call ended with. */
export const faultText = ({ exchange }: RequestRecord, id: RpcId, error: unknown, log: CallServices['log']): string | null =>
  error instanceof CallerGone ? null : errorText(id, toRpcError(error, log, exchange.request_id));
