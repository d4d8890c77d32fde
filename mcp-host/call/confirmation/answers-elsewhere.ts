import type { RedisLimits } from '#core/cluster/redis-limits.ts';
import { depthFault } from '#core/query/argument-values.ts';
import { isMembers, type Members } from '#mcp-host/protocol/messages.ts';
import type { Session } from '#mcp-host/requests/sessions.ts';
import { createPlaces } from '#mcp-host/requests/mailbox.ts';

type Asking = Pick<Session, 'id'>;

/** Answers of clients that reach another host than the one that asked: any host continues a session. */
export interface AnswersElsewhere {
  /** Looks for the answer to a question. @returns what ends that. */
  expect(session: Asking, question: string, take: (response: Members) => void): () => void;
  /** Hands an answer on, if its question is open at another host. */
  hand(session: Asking, question: string, response: Members): void;
}

const LOOK_MS = 250;

/** @param redis null: hosts that share nothing hand nothing on. @param lasts_ms longer than a question is open. */
export function createAnswersElsewhere(redis: RedisLimits | null, keys: readonly string[], lasts_ms: number): AnswersElsewhere {
  const places = createPlaces(redis, { look_ms: LOOK_MS, lasts_ms, keys });
  const placeOf = ({ id }: Asking, question: string) => `answer:${id} ${question}`;
  return {
    expect: (session, question, take) => places.expect(placeOf(session, question), (text) => take(JSON.parse(text) as Members)),
    hand(session, question, response) {
      if (depthFault(response) !== null) return;
      const said = isMembers(response['result']) ? { result: response['result'] } : {};
      places.hand(placeOf(session, question), JSON.stringify(said));
    },
  };
}
