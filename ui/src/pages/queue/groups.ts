import type { QueueMetrics, Sample } from '#ui/src/features/queue/metrics-queue.ts';

/** What a connection did in the last two minutes: a moment without calls moves nothing. */
export const QUEUE_GROUPS = ['waiting', 'used', 'free', 'none'] as const;
export type QueueGroup = (typeof QUEUE_GROUPS)[number];

export const GROUP_WORDS = {
  waiting: 'Calls waited in the last two minutes',
  used: 'In use',
  free: 'Free',
  none: 'Not deployed',
} as const satisfies Record<QueueGroup, string>;

interface QueueRow {
  readonly id: string;
  readonly name: string;
  readonly queue: QueueMetrics | undefined;
}

function groupOf({ queue }: QueueRow, samples: readonly Sample[] = []): QueueGroup {
  if (queue === undefined) return 'none';
  const seen = [...samples, queue];
  if (seen.some(({ waiting }) => waiting > 0)) return 'waiting';
  return seen.some(({ active }) => active > 0) ? 'used' : 'free';
}

export type GroupedIds = Readonly<Record<QueueGroup, readonly string[]>>;

/** Ids by group, in each by name. */
export function groupQueues(rows: readonly QueueRow[], samples: ReadonlyMap<string, readonly Sample[]>): GroupedIds {
  const sorted = rows.toSorted((a, b) => a.name.localeCompare(b.name) || (a.id < b.id ? -1 : 1));
  const of = (group: QueueGroup) => sorted.filter((row) => groupOf(row, samples.get(row.id)) === group).map(({ id }) => id);
  return { waiting: of('waiting'), used: of('used'), free: of('free'), none: of('none') };
}

/** While a person points at the list it keeps its order: what is new comes last, what is gone goes. */
export function keepOrder(shown: GroupedIds | undefined, next: GroupedIds): GroupedIds {
  if (shown === undefined) return next;
  const all = new Set(QUEUE_GROUPS.flatMap((group) => next[group]));
  const known = new Set(QUEUE_GROUPS.flatMap((group) => shown[group]));
  const of = (group: QueueGroup) => [...shown[group].filter((id) => all.has(id)), ...next[group].filter((id) => !known.has(id))];
  return { waiting: of('waiting'), used: of('used'), free: of('free'), none: of('none') };
}
