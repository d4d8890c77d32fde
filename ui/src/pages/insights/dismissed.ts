import { createSignal } from 'solid-js';
import type { Insight } from '#ui/src/features/insights/words.ts';
import { parseJson } from '#ui/src/kernel/json.ts';
import type { Storage } from '#ui/src/kernel/storage.ts';

const KEY = 'insights.dismissed';
/** Of those that were dismissed last. */
const MOST = 200;

type Counts = Readonly<Record<string, number>>;

/** Findings that this browser does not show. One that has happened twice as often since then is shown again. */
export function createDismissed(storage: Storage) {
  const [counts, setCounts] = createSignal<Counts>(readCounts(storage.read(KEY)));
  const store = (next: Counts): void => {
    const newest = Object.fromEntries(Object.entries(next).slice(-MOST));
    setCounts(newest);
    storage.write(KEY, Object.keys(newest).length === 0 ? undefined : JSON.stringify(newest));
  };
  const isDismissed = ({ id, evidence }: Pick<Insight, 'id' | 'evidence'>): boolean => {
    const before = counts()[id];
    return before !== undefined && evidence.count <= 2 * before;
  };
  return {
    isDismissed,
    dismiss: ({ id, evidence }: Pick<Insight, 'id' | 'evidence'>) => store({ ...without(counts(), id), [id]: evidence.count }),
    restore: (id: string) => store(without(counts(), id)),
    restoreAll: () => store({}),
  };
}

const without = (counts: Counts, id: string): Counts =>
  Object.fromEntries(Object.entries(counts).filter(([other]) => other !== id));

function readCounts(text: string | undefined): Counts {
  const read = parseJson(text ?? '');
  if (typeof read !== 'object' || read === null) return {};
  return Object.fromEntries(Object.entries(read).filter((entry): entry is [string, number] => typeof entry[1] === 'number'));
}
