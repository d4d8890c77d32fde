import { withTimeout } from '#core/lib/with-timeout.ts';
import { isMembers, type Members } from '#mcp-host/protocol/messages.ts';
import type { Session } from '#mcp-host/requests/sessions.ts';
import type { CallContext } from '../context.ts';
import type { ProgressStream } from '#mcp-host/requests/progress-stream.ts';
import { whileWaiting } from '#mcp-host/requests/request-record.ts';
import { ANSWER_MS, type Confirmations } from './pending-call.ts';

/** Why there is no answer: none arrived in time, or the client refused to show the question. */
export type Unanswered = 'timeout' | 'error';
/** The client's answer. */
export type Reply = Members | Unanswered;

/** Sends a question to the client of a session, on the stream of the call (2025-11-25, Elicitation). */
export async function askSession(
  { deadline, record }: CallContext,
  ask: ProgressStream,
  session: Session,
  params: Members,
  { elsewhere }: Pick<Confirmations, 'elsewhere'>,
): Promise<Reply> {
  const { asked: questions } = session;
  const id = `sluice-${crypto.randomUUID()}`;
  const { promise, resolve } = Promise.withResolvers<Reply>();
  const leave = () => resolve('timeout');
  const take = (response: Members) => resolve(isMembers(response['result']) ? response['result'] : 'error');
  questions.set(id, take);
  const forget = elsewhere.expect(session, id, take);
  // The caller may have left already.
  if (deadline.aborted || ask.left.aborted) leave();
  deadline.addEventListener('abort', leave);
  ask.left.addEventListener('abort', leave, { once: true });
  try {
    ask.send(JSON.stringify({ jsonrpc: '2.0', id, method: 'elicitation/create', params }));
    return await whileWaiting(
      record,
      withTimeout(promise, ANSWER_MS, () => 'timeout' as const),
    );
  } finally {
    questions.delete(id);
    forget();
    deadline.removeEventListener('abort', leave);
    ask.left.removeEventListener('abort', leave);
  }
}
