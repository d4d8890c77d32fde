import { beginning } from '#core/lib/text/shorten.ts';
import type { Row, Json } from '#core/lib/sql/result.ts';
import { canonical } from '#snapshots/format/canonical.ts';

/** The answer to one call on one side. */
export interface Answer {
  readonly columns: readonly string[];
  readonly rows: readonly Row[];
  /** The text that clients read. */
  readonly text: string;
  readonly truncated: boolean;
  readonly ms: number;
}

export interface Pair {
  readonly live: Row | null;
  readonly other: Row | null;
}

export interface Difference {
  /** The difference in words, without any value. */
  readonly sentence: string;
  /** Different rows, side by side. */
  readonly pairs: readonly Pair[];
}

export interface Compared {
  /** Null: the answers are equal. */
  readonly difference: Difference | null;
  /** Whether the same rows came in another order that the statement does not define. */
  readonly reordered: boolean;
}

/** Most row pairs of one difference. */
const SHOWN = 10;
/** Most columns that a sentence names. */
const NAMED = 5;

/**
 * Compares the answer of another version with the live one. @param ordered whether the live statement defines the order of its
 * rows, so that the order is compared. @param ignored columns that differ between two runs of the live version.
 */
export function compare(live: Answer, other: Answer, ordered: boolean, ignored: ReadonlySet<string> = NONE): Compared {
  const same = (sentence: string | null, pairs: readonly Pair[] = [], reordered = false): Compared => ({
    difference: sentence === null ? null : { sentence, pairs },
    reordered,
  });
  const columns = columnsOf(live, other);
  const [a, b] = [keysOf(live, ignored), keysOf(other, ignored)];
  const is_equal = a.length === b.length && a.every((key, n) => key === b[n]);
  if (columns === null && is_equal) {
    const is_written = live.text === other.text || ignored.size > 0;
    return same(is_written ? null : 'The rows are the same, but the answer is written in another way.');
  }
  const [lost, added] = apart(a, b);
  if (columns === null && lost.length === 0 && added.length === 0) {
    if (!ordered) return same(null, [], true);
    return same('The same rows come in another order.', pairsInOrder(live, other, a, b));
  }
  const pairs = ordered && a.length === b.length ? pairsInOrder(live, other, a, b) : pairsOf(live, other, lost, added);
  const sentences = [columns, a.length === b.length ? null : `The result has ${rowsText(b.length)} instead of ${a.length}.`];
  if (columns === null) sentences.push(changedText(live, other, lost, added, ignored));
  return same(sentences.filter((sentence) => sentence !== null).join(' '), pairs);
}

const NONE: ReadonlySet<string> = new Set();
const rowsText = (n: number): string => (n === 1 ? '1 row' : `${n} rows`);

function columnsOf(live: Answer, other: Answer): string | null {
  const gone = live.columns.filter((name) => !other.columns.includes(name));
  const fresh = other.columns.filter((name) => !live.columns.includes(name));
  const sentences = [
    ...gone.slice(0, NAMED).map((name) => `The column ${name} is gone.`),
    ...fresh.slice(0, NAMED).map((name) => `The column ${name} is new.`),
  ];
  return sentences.length === 0 ? null : sentences.join(' ');
}

const keysOf = ({ rows }: Answer, ignored: ReadonlySet<string>): string[] =>
  rows.map((row) => canonical(ignored.size === 0 ? row : without(row, ignored)));

const without = (row: Row, ignored: ReadonlySet<string>): Row =>
  Object.fromEntries(Object.entries(row).filter(([name]) => !ignored.has(name)));

/** Indexes of entries that only one of two lists has. A repeated entry counts as often as one list has it more than the other. */
function apart(a: readonly string[], b: readonly string[]): [number[], number[]] {
  const counts = new Map<string, number>();
  for (const key of b) counts.set(key, (counts.get(key) ?? 0) + 1);
  const take = (key: string): boolean => {
    const left = counts.get(key) ?? 0;
    if (left > 0) counts.set(key, left - 1);
    return left > 0;
  };
  const lost = a.flatMap((key, n) => (take(key) ? [] : [n]));
  const seen = new Map<string, number>();
  for (const key of a) seen.set(key, (seen.get(key) ?? 0) + 1);
  const added = b.flatMap((key, n) => {
    const left = seen.get(key) ?? 0;
    seen.set(key, left - 1);
    return left > 0 ? [] : [n];
  });
  return [lost, added];
}

function pairsInOrder(live: Answer, other: Answer, a: readonly string[], b: readonly string[]): Pair[] {
  const places = Array.from({ length: Math.max(a.length, b.length) }, (_, n) => n).filter((n) => a[n] !== b[n]);
  return places.slice(0, SHOWN).map((n) => ({ live: cut(live.rows[n]), other: cut(other.rows[n]) }));
}

/** If the order is not compared, a row is paired with the row that shares most of its values. */
function pairsOf(live: Answer, other: Answer, lost: readonly number[], added: readonly number[]): Pair[] {
  const left: Row[] = added.slice(0, SHOWN * SHOWN).map((n) => other.rows[n] ?? {});
  const pairs: Pair[] = [];
  for (const n of lost.slice(0, SHOWN)) {
    const row = live.rows[n] ?? {};
    let best = 0;
    for (const [at, one] of left.entries()) if (common(row, one) > common(row, left[best])) best = at;
    const [twin] = common(row, left[best]) > 0 ? left.splice(best, 1) : [];
    pairs.push({ live: cut(row), other: cut(twin) });
  }
  for (const row of left.slice(0, Math.max(0, SHOWN - pairs.length))) pairs.push({ live: null, other: cut(row) });
  return pairs;
}

const common = (row: Row, other: Row | undefined): number =>
  other === undefined ? 0 : Object.keys(row).filter((name) => canonical(row[name]) === canonical(other[name])).length;

/** Longer values of a row are cut to this length, in characters. */
const LONGEST = 200;

function cut(row: Row | undefined): Row | null {
  if (row === undefined) return null;
  return Object.fromEntries(
    Object.entries(row).map(([name, value]): [string, Json] => {
      const text = typeof value === 'string' ? value : JSON.stringify(value);
      if (text === undefined || text.length <= LONGEST) return [name, value];
      return [name, `${beginning(text, LONGEST)}…`];
    }),
  );
}

/** A sentence with the number of different rows, and their columns if they are known. */
function changedText(
  live: Answer,
  other: Answer,
  lost: readonly number[],
  added: readonly number[],
  ignored: ReadonlySet<string>,
): string | null {
  if (live.rows.length !== other.rows.length) {
    const only = `${rowsText(lost.length)} of the live version ${lost.length === 1 ? 'is' : 'are'} not among them`;
    return lost.length === 0 ? null : `${only}.`;
  }
  const names = live.columns.filter((name) => !ignored.has(name) && differs(live, other, name));
  const where = names.length === 0 || names.length > NAMED ? '' : `, in ${names.join(', ')}`;
  return `${Math.max(lost.length, added.length)} of ${rowsText(live.rows.length)} ${lost.length === 1 ? 'differs' : 'differ'}${where}.`;
}

/** Whether the values of a column differ, in any order. */
function differs(live: Answer, other: Answer, name: string): boolean {
  const values = ({ rows }: Answer) => rows.map((row) => canonical(row[name] ?? null)).toSorted();
  const [a, b] = [values(live), values(other)];
  return a.some((value, n) => value !== b[n]);
}

/** Columns that differ between two runs of one statement, such as a clock or a random number. */
export function unsteady(first: Answer, second: Answer): Set<string> {
  return new Set(first.columns.filter((name) => differs(first, second, name)));
}
