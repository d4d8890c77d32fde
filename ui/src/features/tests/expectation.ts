import type { Expect, TestDraft, TestOwner } from '#core/contract/definitions/tests.ts';
import type { RawInput } from '#core/contract/index.ts';

/** A result that has more rows is not offered to be compared in full. */
const MOST_ROWS = 20;

interface Rows {
  readonly columns: readonly string[];
  readonly rows: readonly unknown[];
  readonly truncated: boolean;
}

/** What a test expects of a result by default: its columns, and a row if it has any. The values change with the data. */
export const expectOf = ({ columns, rows }: Rows): Expect =>
  columns.length === 0 ? {} : { columns: [...columns], ...(rows.length === 0 ? {} : { rows: { min: 1 } }) };

/** The values of a result that is short enough to compare all of it. */
export const wholeOf = ({ rows, truncated }: Rows): Pick<NewTest, 'whole'> =>
  truncated || rows.length === 0 || rows.length > MOST_ROWS ? {} : { whole: rows };

/** A test before it is saved, prefilled from a call. */
export interface NewTest extends Partial<Pick<TestDraft, 'arguments' | 'expect'>> {
  readonly caller?: RawInput<'tests.create'>['caller'];
  readonly owner: TestOwner;
  readonly name: string;
  /** The values of its result, which the author can expect as a whole. */
  readonly whole?: unknown;
  /** The call comes from the request log, which lacks some of its arguments. */
  readonly arguments_unknown?: boolean;
}

/** A default name from the definition and its arguments, which the author can change. */
export function nameFor(definition: string, args: Readonly<Record<string, unknown>>): string {
  const values = Object.entries(args).map(
    ([name, value]) => `${name} ${typeof value === 'string' ? value : JSON.stringify(value)}`,
  );
  return [definition, ...(values.length === 0 ? [] : ['with', values.join(', ')])].join(' ').slice(0, 100);
}
