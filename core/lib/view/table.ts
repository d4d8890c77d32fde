/** A JSON object. */
export type Members = Readonly<Record<string, unknown>>;

export const isMembers = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export interface Table {
  readonly columns: readonly string[];
  /** The database's type names of the columns, where they are known. */
  readonly types?: readonly string[];
  readonly rows: readonly Members[];
}

/** Rows in any form that a result has: `rows`, `row`, `values`, `value`, `result`, or a list itself. */
export function toTable(json: unknown): Table | undefined {
  if (Array.isArray(json)) return fromList(json);
  if (!isMembers(json)) return undefined;
  const { rows, row, values, result } = json;
  if (Array.isArray(rows)) return fromList(rows);
  if (Array.isArray(values)) return fromList(values);
  if (isMembers(row)) return fromList([row]);
  return Array.isArray(result) ? fromList(result) : undefined;
}

function fromList(list: readonly unknown[]): Table | undefined {
  if (list.length === 0) return { columns: [], rows: [] };
  if (list.every(isMembers)) return { columns: [...new Set(list.flatMap((row) => Object.keys(row)))], rows: list };
  return list.some(isMembers) ? undefined : { columns: ['value'], rows: list.map((value) => ({ value })) };
}

/** A number as text: databases send numbers this way when JavaScript cannot represent them exactly. */
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:e[+-]?\d+)?$/i;
const DATE = /^\d{4}-\d\d(?:-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d(?::?\d\d)?)?)?)?$/;

/** How the cells of a column are drawn. */
export type ColumnKind = 'number' | 'time' | 'text';

export const toNumber = (value: unknown): number | null => {
  if (typeof value === 'number') return value;
  return typeof value === 'string' && NUMBER.test(value) ? Number(value) : null;
};

/** Milliseconds since 1970; a time without a zone is taken as UTC. */
export function toTime(value: unknown): number | null {
  if (typeof value !== 'string' || !DATE.test(value)) return null;
  const [date = '', clock] = value.split(/[T ]/);
  if (clock === undefined) return known(Date.parse(date));
  const zoned = /[Z+-]/.test(clock) ? clock.replace(/([+-]\d\d)$/, '$1:00') : `${clock}Z`;
  return known(Date.parse(`${date}T${zoned}`));
}

const known = (ms: number): number | null => (Number.isNaN(ms) ? null : ms);

/** A column without any value is text. */
export function columnKind(table: Table, column: string): ColumnKind {
  const values = table.rows.map((row) => row[column]).filter((value) => value !== null && value !== undefined);
  if (values.length === 0) return 'text';
  if (values.every((value) => toNumber(value) !== null)) return 'number';
  return values.every((value) => toTime(value) !== null) ? 'time' : 'text';
}
