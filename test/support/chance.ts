import * as fc from 'fast-check';

/** The seed of everything random: always the same, so that the same code gets the same answer. `TEST_SEED` sets another. */
export const seed = Number(process.env['TEST_SEED'] ?? 1);

fc.configureGlobal({ seed });

/** Chance that can be had again: the same seed gives the same run. */
export interface Random {
  readonly seed: number;
  /** From 0 up to, not including, `below`. */
  whole(this: void, below: number): number;
  pick<T>(items: readonly T[]): T;
}

export function createRandom(): Random {
  let state = seed;
  // mulberry32: small, and good enough to choose moments.
  const next = () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
  const whole = (below: number) => Math.floor(next() * below);
  return {
    seed,
    whole,
    pick(items) {
      const found = items[whole(items.length)];
      if (found === undefined) throw new Error('there is nothing to pick from');
      return found;
    },
  };
}

export { fc };
