import type { RedisLimits } from '#core/cluster/redis-limits.ts';
import type { RpcId } from '#mcp-host/protocol/messages.ts';
import type { Session } from '#mcp-host/protocol/sessions.ts';

type Running = Pick<Session, 'id'>;

/** Cancellations that reach another host than the one that runs the call: any host continues a session. */
export interface CancelsElsewhere {
  /** Looks for the cancellation of a call that runs here. @returns what ends that. */
  expect(session: Running, request: RpcId, cancel: () => void): () => void;
  /** Hands a cancellation on, if another host runs the call. */
  hand(session: Running, request: RpcId): void;
}

const LOOK_MS = 500;
/** A host that fails leaves no more behind than this. */
const LASTS_MS = 10 * 60_000;

/** @param redis null: hosts that share nothing hand nothing on. */
export function createCancelsElsewhere(redis: RedisLimits | null): CancelsElsewhere {
  if (redis === null) return { expect: () => () => undefined, hand: () => undefined };
  const placeOf = ({ id }: Running, request: RpcId) => `cancel:${id} ${JSON.stringify(request)}`;
  // Redis reports its loss itself; the host that runs the call takes cancellations all the same.
  const lost = () => undefined;
  return {
    expect(session, request, cancel) {
      const place = placeOf(session, request);
      redis.openPlace(place, LASTS_MS).catch(lost);
      const look = async () => {
        if ((await redis.readPlace(place)) !== '') cancel();
      };
      const looking = setInterval(() => {
        if (redis.up()) look().catch(lost);
      }, LOOK_MS);
      return () => {
        clearInterval(looking);
        redis.closePlace(place).catch(lost);
      };
    },
    hand(session, request) {
      redis.fillPlace(placeOf(session, request), 'cancelled').catch(lost);
    },
  };
}
