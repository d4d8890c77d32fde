import type { Output } from '#core/contract/index.ts';

export type QueueMetrics = Output<'queue.metrics'>['connections'][string];
export type QueueState = 'idle' | 'calm' | 'busy' | 'full';

/** `full`: calls are waiting, or all slots are taken. */
export function queueState(queue: QueueMetrics | undefined): QueueState {
  if (queue === undefined) return 'idle';
  if (queue.waiting > 0 || (queue.limit > 0 && queue.active >= queue.limit)) return 'full';
  return queue.active > 0 ? 'busy' : 'calm';
}

export interface Sample {
  readonly active: number;
  readonly waiting: number;
}

/** Samples per queue: two minutes at one sample every two seconds. */
const MOST_SAMPLES = 60;

/** Appends the current samples; removed queues are dropped. */
export const keepSamples = (
  before: ReadonlyMap<string, readonly Sample[]>,
  now: Readonly<Record<string, QueueMetrics>>,
): ReadonlyMap<string, readonly Sample[]> =>
  new Map(
    Object.entries(now).map(([id, { active, waiting }]) => [
      id,
      [...(before.get(id) ?? []), { active, waiting }].slice(-MOST_SAMPLES),
    ]),
  );
