import type { Expect, TestDraft, TestOwner } from '#core/contract/definitions/tests.ts';
import type { RawInput } from '#core/contract/index.ts';

/** Rows up to which a kept result is compared as a whole. */
const MOST_ROWS = 20;

/** What a result that was seen says of the next ones. */
export function expectOf(result: {
  readonly columns: readonly string[];
  readonly rows: readonly unknown[];
  readonly truncated: boolean;
}): Expect {
  if (result.columns.length === 0) return {};
  const whole = !result.truncated && result.rows.length <= MOST_ROWS;
  if (whole) return { equals: result.rows };
  return { columns: [...result.columns], rows: { min: 1 } };
}

/** A test that is about to be written: of what, and what is known of it. */
export interface NewTest extends Partial<Pick<TestDraft, 'arguments' | 'expect'>> {
  readonly caller?: RawInput<'tests.create'>['caller'];
  readonly owner: TestOwner;
  readonly name: string;
  /** The call was seen in the request log, which does not have all of its arguments. */
  readonly arguments_unknown?: boolean;
}

/** A name that says what was called; its author may write a better one. */
export function nameFor(definition: string, args: Readonly<Record<string, unknown>>): string {
  const values = Object.entries(args).map(
    ([name, value]) => `${name} ${typeof value === 'string' ? value : JSON.stringify(value)}`,
  );
  return [definition, ...(values.length === 0 ? [] : ['with', values.join(', ')])].join(' ').slice(0, 100);
}
