import type { OperationName } from '#core/contract/index.ts';
import { freshnessOf } from './freshness.ts';
import type { Pulse } from './pulse.ts';
import { browserTimers, type Timers } from './query.ts';

/** An answer that the page shows. */
export interface ShownAnswer {
  readonly name: OperationName;
  /** Start of its newest request; undefined while that is under way. */
  readonly since: () => number | undefined;
  readonly reload: () => void;
}

/** Reloads the shown answers that are outdated. @returns a function that ends it for this answer. */
export type Refresher = (shown: ShownAnswer) => () => void;

/** How often notifications are compared with the shown answers; this sends nothing. */
const LOOK_MS = 1_000;
/**
 * Without any change, one answer is read again in this time: the one that is oldest in proportion to its age limit. So an idle page sends
 * three requests a minute, whatever it shows.
 */
const ROUND_MS = 20_000;
const SPACING_MS = 1_000;
/** Answers that do not depend on the clock are read again at this age, in case a notification was lost. */
const AGE_MS = 300_000;

export function createRefresher(options: {
  readonly isOld: Pulse['isOld'];
  /** Whether a person is looking at the page. */
  readonly here: () => boolean;
  readonly now?: () => number;
  readonly timers?: Timers;
}): Refresher {
  const { isOld, here, now = () => performance.now(), timers = browserTimers } = options;
  const all = new Set<ShownAnswer>();
  let rounded = Number.NEGATIVE_INFINITY;

  const look = () => {
    const at = now();
    let oldest: { readonly shown: ShownAnswer; readonly ratio: number } | undefined;
    for (const shown of all) {
      const since = shown.since();
      const { spacing_ms = SPACING_MS, age_ms = AGE_MS, fixed = false } = freshnessOf(shown.name) ?? {};
      if (since === undefined || fixed || at - since < spacing_ms) continue;
      const ratio = (at - since) / age_ms;
      if (isOld(shown.name, since)) shown.reload();
      else if (ratio >= Math.max(1, oldest?.ratio ?? 1)) oldest = { shown, ratio };
    }
    if (oldest === undefined || at - rounded < ROUND_MS) return;
    rounded = at;
    oldest.shown.reload();
  };
  const tick = () => {
    if (here()) look();
    timers.set(tick, LOOK_MS);
  };
  timers.set(tick, LOOK_MS);

  return (shown) => {
    all.add(shown);
    return () => void all.delete(shown);
  };
}
