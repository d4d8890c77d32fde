import type { RedisLimits } from '#core/cluster/redis-limits.ts';
import { createSealing } from '#core/lib/sealing.ts';

/**
 * Where hosts leave each other a text in Redis: any host continues a session. It is sealed with its place, so that who can write to
 * Redis can neither make one nor move it to another place.
 */
export interface Mailboxes {
  /** Opens a place and looks for what another host leaves there. @returns what ends that. */
  expect(place: string, take: (text: string) => void): () => void;
  /** Leaves a text, if the place is open. */
  hand(place: string, text: string): void;
}

export interface PlacesOptions {
  /** It is looked so often. */
  readonly look_ms: number;
  /** A host that fails leaves a place open for so long. */
  readonly lasts_ms: number;
  /** `SVC_ENCRYPTION_KEY`. */
  readonly keys: readonly string[];
}

interface Left {
  readonly place: string;
  readonly text: string;
}

/** Of a text with its place: forms are short. */
const LONGEST = 96 * 1024;

/** @param redis null: hosts that share nothing hand nothing on. */
export function createPlaces(redis: RedisLimits | null, { look_ms, lasts_ms, keys }: PlacesOptions): Mailboxes {
  if (redis === null) return { expect: () => () => undefined, hand: () => undefined };
  // Redis reports its loss itself; the host that expects something takes it from its own callers all the same.
  const lost = () => undefined;
  const sealing = createSealing<Left>(keys, 'mcp-places/1', LONGEST);
  return {
    expect(place, take) {
      redis.openMailbox(place, lasts_ms).catch(lost);
      const look = async () => {
        const left = sealing.open(await redis.takeMessage(place));
        if (left?.place === place) take(left.text);
      };
      const looking = setInterval(() => {
        if (redis.up()) look().catch(lost);
      }, look_ms);
      return () => {
        clearInterval(looking);
        redis.closeMailbox(place).catch(lost);
      };
    },
    hand(place, text) {
      const sealed = sealing.seal({ place, text });
      if (sealed.length <= LONGEST) redis.putMessage(place, sealed).catch(lost);
    },
  };
}
