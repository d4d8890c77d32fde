import type { Output } from '#core/contract/index.ts';

export type QueueMetrics = Output<'queue.metrics'>['connections'][string];
export type QueueState = 'idle' | 'calm' | 'busy' | 'full';

/** `full`: calls wait, or every place is taken. */
export function queueState(queue: QueueMetrics | undefined): QueueState {
  if (queue === undefined) return 'idle';
  if (queue.waiting > 0 || (queue.limit > 0 && queue.active >= queue.limit)) return 'full';
  return queue.active > 0 ? 'busy' : 'calm';
}

export interface Sample {
  readonly active: number;
  readonly waiting: number;
}

/** What is remembered of each queue: two minutes at one sample every two seconds. */
const KEPT = 60;

/** Adds what is now to what was seen before; queues that are gone are forgotten. */
export const keepSamples = (
  kept: ReadonlyMap<string, readonly Sample[]>,
  now: Readonly<Record<string, QueueMetrics>>,
): ReadonlyMap<string, readonly Sample[]> =>
  new Map(
    Object.entries(now).map(([id, { active, waiting }]) => [id, [...(kept.get(id) ?? []), { active, waiting }].slice(-KEPT)]),
  );
