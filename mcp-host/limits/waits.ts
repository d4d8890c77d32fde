import type { QueueGauge } from '#core/contract/monitoring.ts';
import { addDuration, mergeInto } from '#core/lib/histogram.ts';

type Waited = QueueGauge['waits'];

/** How long calls waited for a place, of the last 5 to 10 minutes. */
export interface Waits {
  /** @param ms 0 when there was a place at once. */
  add(ms: number): void;
  recent(): Waited;
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
    recent() {
      turn();
      const histogram = { ...earlier.histogram };
      mergeInto(histogram, current.histogram);
      return { count: earlier.count + current.count, total_ms: earlier.total_ms + current.total_ms, histogram };
    },
  };
}

const nothing = (): Waited => ({ count: 0, total_ms: 0, histogram: {} });
