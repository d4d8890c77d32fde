import { MOST_VARIABLES, type ServerConfig } from '#core/contract/settings/config.ts';
import type { Variable, VariableType } from '#core/contract/settings/setting-values.ts';
import { num } from '#ui/src/kernel/numbers.ts';

export interface VariableRow {
  readonly name: string;
  readonly type: VariableType;
  /** As it is typed. */
  readonly text: string;
}

const NAME = /^[a-zA-Z_]\w{0,63}$/;
const LONGEST = 10_000;

export const toRows = (variables: ServerConfig['global_variables']): VariableRow[] =>
  Object.entries(variables).map(([name, { type, value }]) => ({ name, type, text: String(value) }));

/** The value that a text means for a type; undefined: none. */
export function valueOf(text: string, type: VariableType): Variable['value'] | undefined {
  const trimmed = text.trim();
  if (type === 'string') return text.length <= LONGEST ? text : undefined;
  if (type === 'boolean') return { true: true, false: false }[trimmed];
  if (trimmed === '') return undefined;
  const number = Number(trimmed);
  if (type === 'integer') return /^[+-]?\d+$/.test(trimmed) && Number.isSafeInteger(number) ? number : undefined;
  return Number.isFinite(number) && /^[+-]?[\d.]+(?:e[+-]?\d+)?$/i.test(trimmed) ? number : undefined;
}

const EXPECTED: Readonly<Record<VariableType, string>> = {
  string: `Use at most ${num(LONGEST)} characters.`,
  integer: 'Enter a whole number up to 2^53.',
  float: 'Enter a number such as 0.19.',
  boolean: 'Choose true or false.',
};

/** A sentence for each field that is wrong, by its path `rows.<index>.<name|text>`. */
export function rowFaults(rows: readonly VariableRow[]): Record<string, string> {
  const faults: Record<string, string> = {};
  const seen = new Set<string>();
  for (const [index, { name, type, text }] of rows.entries()) {
    if (!NAME.test(name))
      faults[`rows.${index}.name`] = 'Use letters, digits and underscores, at most 64, and start with a letter or underscore.';
    else if (seen.has(name)) faults[`rows.${index}.name`] = 'Another variable has this name.';
    seen.add(name);
    if (valueOf(text, type) === undefined) faults[`rows.${index}.text`] = EXPECTED[type];
  }
  if (rows.length > MOST_VARIABLES) faults['rows'] = `At most ${MOST_VARIABLES} variables; remove some.`;
  return faults;
}

/** What is sent; every row has passed `rowFaults`. */
export const toVariables = (rows: readonly VariableRow[]): Record<string, Variable> =>
  Object.fromEntries(
    rows.flatMap(({ name, type, text }) => {
      const value = valueOf(text, type);
      return value === undefined ? [] : [[name, { value, type }]];
    }),
  );
