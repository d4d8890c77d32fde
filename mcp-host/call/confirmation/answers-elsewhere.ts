import type { RedisLimits } from '#core/cluster/redis-limits.ts';
import { depthFault } from '#core/query/argument-values.ts';
import { isMembers, type Members } from '#mcp-host/protocol/messages.ts';
import type { Session } from '#mcp-host/requests/sessions.ts';
import { createMailboxes } from '#mcp-host/requests/mailbox.ts';

type Asking = Pick<Session, 'id'>;

/** Answers of clients that arrive at another host than the one that sent the question, because any host continues a session. */
export interface AnswersElsewhere {
  /** Waits for the answer to a question. @returns a function that stops waiting. */
  expect(session: Asking, question: string, take: (response: Members) => void): () => void;
  /** Forwards an answer to the host where its question is open, if any. */
  hand(session: Asking, question: string, response: Members): void;
}

const LOOK_MS = 250;

/** @param redis null: nothing is forwarded. @param lasts_ms longer than a question is open. */
export function createAnswersElsewhere(redis: RedisLimits | null, keys: readonly string[], lasts_ms: number): AnswersElsewhere {
  const mailboxes = createMailboxes(redis, { look_ms: LOOK_MS, lasts_ms, keys });
  const mailboxOf = ({ id }: Asking, question: string) => `answer:${id} ${question}`;
  return {
    expect: (session, question, take) =>
      mailboxes.expect(mailboxOf(session, question), (text) => take(JSON.parse(text) as Members)),
    hand(session, question, response) {
      if (depthFault(response) !== null) return;
      const result = isMembers(response['result']) ? { result: response['result'] } : {};
      mailboxes.hand(mailboxOf(session, question), JSON.stringify(result));
    },
  };
}
