import { withTimeout } from '#core/lib/with-timeout.ts';
import { isMembers, type Members } from '#mcp-host/protocol/messages.ts';
import type { Session } from '#mcp-host/protocol/sessions.ts';
import type { CallContext } from '../context.ts';

/** What a client answered; null: nobody did in time, or the client cannot. */
export type Reply = Members | null;

/** Asks the client of a session on the stream of its own call (2025-11-25, Elicitation). */
export async function askSession(
  { ask, deadline }: CallContext,
  { asked }: Session,
  params: Members,
  timeout_ms: number,
): Promise<Reply> {
  if (ask === null) return null;
  const id = `sluice-${crypto.randomUUID()}`;
  const { promise, resolve } = Promise.withResolvers<Reply>();
  const leave = () => resolve(null);
  asked.set(id, (response) => resolve(isMembers(response['result']) ? response['result'] : null));
  deadline.addEventListener('abort', leave);
  ask.left.addEventListener('abort', leave, { once: true });
  try {
    ask.send(JSON.stringify({ jsonrpc: '2.0', id, method: 'elicitation/create', params }));
    return await withTimeout(promise, timeout_ms, () => null);
  } finally {
    asked.delete(id);
    deadline.removeEventListener('abort', leave);
    ask.left.removeEventListener('abort', leave);
  }
}
