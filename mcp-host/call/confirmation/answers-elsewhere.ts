import type { RedisLimits } from '#core/cluster/redis-limits.ts';
import { createSealing } from '#core/lib/sealing.ts';
import { isMembers, type Members } from '#mcp-host/protocol/messages.ts';
import type { Session } from '#mcp-host/protocol/sessions.ts';

type Asking = Pick<Session, 'id'>;

/** Answers of clients that reach another host than the one that asked: any host continues a session. */
export interface AnswersElsewhere {
  /** Looks for the answer to a question. @returns what ends that. */
  expect(session: Asking, question: string, take: (response: Members) => void): () => void;
  /** Hands an answer on, if its question is open at another host. */
  hand(session: Asking, question: string, response: Members): void;
}

const LOOK_MS = 250;
/** Of an answer that is handed on: forms are short. */
const LONGEST = 64 * 1024;

/** @param redis null: hosts that share nothing hand nothing on. @param lasts_ms longer than a question is open. */
export function createAnswersElsewhere(redis: RedisLimits | null, keys: readonly string[], lasts_ms: number): AnswersElsewhere {
  if (redis === null) return { expect: () => () => undefined, hand: () => undefined };
  const sealing = createSealing<Members>(keys, 'mcp-answers/1', LONGEST);
  const placeOf = ({ id }: Asking, question: string) => `answer:${id} ${question}`;
  // Redis reports its loss itself; the host that asked takes answers all the same.
  const lost = () => undefined;
  return {
    expect(session, question, take) {
      const place = placeOf(session, question);
      redis.openPlace(place, lasts_ms).catch(lost);
      const look = async () => {
        const response = sealing.open(await redis.readPlace(place));
        if (response !== null) take(response);
      };
      const looking = setInterval(() => {
        if (redis.up()) look().catch(lost);
      }, LOOK_MS);
      return () => {
        clearInterval(looking);
        redis.closePlace(place).catch(lost);
      };
    },
    hand(session, question, response) {
      const sealed = sealing.seal(isMembers(response['result']) ? { result: response['result'] } : {});
      if (sealed.length <= LONGEST) redis.fillPlace(placeOf(session, question), sealed).catch(lost);
    },
  };
}
