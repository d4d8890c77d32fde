export interface Sort {
  readonly column: string;
  readonly down: boolean;
}

export type Narrow = 'hide' | 'medium' | 'wide';

export type SortValue = string | number | boolean | null | undefined;

/** Rows in the order of one column; missing values stand last in both directions, equal ones keep their order. */
export function sortRows<T>(rows: readonly T[], value: (row: T) => SortValue, down: boolean): T[] {
  const collator = new Intl.Collator('en', { numeric: true, sensitivity: 'base' });
  const direction = down ? -1 : 1;
  return [...rows].sort((one, other) => {
    const [a, b] = [value(one), value(other)];
    if (isMissing(a) || isMissing(b)) return Number(isMissing(a)) - Number(isMissing(b));
    if (typeof a === 'string' && typeof b === 'string') return direction * collator.compare(a, b);
    return direction * (Number(a) - Number(b));
  });
}

const isMissing = (value: SortValue): boolean => value === null || value === undefined || value === '';

/** The order after a press on a column's head: up, down, as it came. */
export function nextSort(sort: Sort | undefined, column: string): Sort | undefined {
  if (sort?.column !== column) return { column, down: false };
  return sort.down ? undefined : { column, down: true };
}

/** Where a key leads from a row; undefined when the key is not one that moves. */
export function nextRow(key: string, from: number, count: number, page = 10): number | undefined {
  const to = { ArrowDown: from + 1, ArrowUp: from - 1, Home: 0, End: count - 1, PageDown: from + page, PageUp: from - page }[key];
  return to === undefined ? undefined : Math.max(0, Math.min(count - 1, to));
}
