import type { RedisLimits } from '#core/cluster/redis-limits.ts';
import type { RpcId } from '#mcp-host/protocol/messages.ts';
import type { Session } from './sessions.ts';
import { createPlaces } from './mailbox.ts';

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
export function createCancelsElsewhere(redis: RedisLimits | null, keys: readonly string[]): CancelsElsewhere {
  const places = createPlaces(redis, { look_ms: LOOK_MS, lasts_ms: LASTS_MS, keys });
  const placeOf = ({ id }: Running, request: RpcId) => `cancel:${id} ${JSON.stringify(request)}`;
  return {
    expect: (session, request, cancel) => places.expect(placeOf(session, request), cancel),
    hand: (session, request) => places.hand(placeOf(session, request), 'cancelled'),
  };
}
