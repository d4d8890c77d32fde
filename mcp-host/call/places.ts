import type { RedisLimits } from '#core/cluster/redis-limits.ts';

/** Where hosts leave each other a text in Redis: any host continues a session. */
export interface Places {
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
}

/** @param redis null: hosts that share nothing hand nothing on. */
export function createPlaces(redis: RedisLimits | null, { look_ms, lasts_ms }: PlacesOptions): Places {
  if (redis === null) return { expect: () => () => undefined, hand: () => undefined };
  // Redis reports its loss itself; the host that expects something takes it from its own callers all the same.
  const lost = () => undefined;
  return {
    expect(place, take) {
      redis.openPlace(place, lasts_ms).catch(lost);
      const look = async () => {
        const text = await redis.readPlace(place);
        if (text !== '') take(text);
      };
      const looking = setInterval(() => {
        if (redis.up()) look().catch(lost);
      }, look_ms);
      return () => {
        clearInterval(looking);
        redis.closePlace(place).catch(lost);
      };
    },
    hand(place, text) {
      redis.fillPlace(place, text).catch(lost);
    },
  };
}
