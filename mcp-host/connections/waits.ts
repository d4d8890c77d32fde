import type { QueueGauge } from '#core/contract/observe/usage-batch.ts';
import { addDuration, mergeInto } from '#core/lib/histogram.ts';

type Waited = QueueGauge['waits'];

/** How long calls waited for a slot, in the last 5 to 10 minutes. */
export interface Waits {
  /** @param ms 0: the call got a slot at once. */
  add(ms: number): void;
  /** @param under_way how long the calls in the queue have waited so far, so that a stuck queue shows up too. */
  recent(under_way?: readonly number[]): Waited;
}

const SPAN_MS = 5 * 60_000;

export function createWaits(now: () => number): Waits {
  let earlier = nothing();
  let current = nothing();
  let ends = now() + SPAN_MS;
  const turn = () => {
    const at = now();
    if (at < ends) return;
    earlier = at < ends + SPAN_MS ? current : nothing();
    current = nothing();
    ends = at + SPAN_MS;
  };
  return {
    add(ms) {
      turn();
      current.count += 1;
      current.total_ms += ms;
      addDuration(current.histogram, ms);
    },
    recent(under_way = []) {
      turn();
      const histogram = { ...earlier.histogram };
      mergeInto(histogram, current.histogram);
      for (const ms of under_way) addDuration(histogram, ms);
      return {
        count: earlier.count + current.count + under_way.length,
        total_ms: under_way.reduce((sum, ms) => sum + ms, earlier.total_ms + current.total_ms),
        histogram,
      };
    },
  };
}

const nothing = (): Waited => ({ count: 0, total_ms: 0, histogram: {} });
