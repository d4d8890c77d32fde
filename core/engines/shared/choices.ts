import type { ScalarType } from '#core/contract/definitions/parameters.ts';
import type { ColumnUses } from '#core/contract/definitions/schema.ts';

/** What a column may hold, when its type or its check lists it. */
export type Choices = readonly (string | number)[];

/** A longer list is no choice for a model. */
const MOST = 100;
// The texts come from any database: no two parts in a row match the same, so that reading them takes time linear in their length.
const LITERAL =
  /\s*(?:(?:_\w+\s*)?\\?'((?:[^'\\]|''|\\(?!'))*)\\?'|(-?\d+(?:\.\d+)?))(?:::\w+(?: \w+){0,3}(?:\(\d+\))?)?\s*([,)\]])/y;
const END = /^[\s)\]]*(?:::[\w\s[\])]+)?$/;

/** The literals from an offset on, to the bracket that closes them. */
function literals(text: string, from: number): { values: Choices; end: number } | null {
  const values: (string | number)[] = [];
  LITERAL.lastIndex = from;
  for (;;) {
    const match = LITERAL.exec(text);
    if (match === null || values.length === MOST) return null;
    const [, string, number, mark] = match;
    values.push(string === undefined ? Number(number) : string.replaceAll("''", "'"));
    if (mark !== ',') return { values, end: LITERAL.lastIndex };
  }
}

/** `enum('a','b')`, as MySQL writes the type of a column. */
export const choicesOfType = (type: string): Choices | null =>
  /^enum\(/i.test(type) ? (literals(type, 'enum('.length)?.values ?? null) : null;

/**
 * The values that a check allows a column, when that is all it says: `status in ('a', 'b')` in any way that databases write it.
 * @param check the condition, in brackets or not.
 */
export function choicesOfCheck(check: string, column: string): Choices | null {
  const name = column.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
  const head = new RegExp(
    `^[\\s(]*(?:check[\\s(]*)?["\`[]?${name}["\`\\]]?[\\s)]*(?:::[a-z]+(?: [a-z]+){0,3}(?:\\(\\d+\\))?[\\s)]*)?(?:in|=\\s*any)\\s*\\(+(?:array\\s*)?\\[?`,
    'i',
  ).exec(check);
  if (head === null) return null;
  const found = literals(check, head[0].length);
  return found !== null && END.test(check.slice(found.end)) ? found.values : null;
}

/** The first check of a table that lists the values of a column. */
export const choicesOf = (checks: readonly string[], column: string): Choices | null =>
  checks.map((check) => choicesOfCheck(check, column)).find((choices) => choices !== null) ?? null;

/** What is passed over as a whole in the text of a definition, up to its end where nothing closes it. */
const PASSED = /'[^']*(?:'|$)|"[^"]*(?:"|$)|`[^`]*(?:`|$)|--[^\n]*|\/\*(?:[\s\S]*?\*\/|[\s\S]*$)/;
const PIECES = new RegExp(`${PASSED.source}|\\bcheck\\s*\\(|[()]`, 'gi');

/** The conditions in the text of a CREATE TABLE. */
export function checksOf(create: string): string[] {
  const checks: string[] = [];
  /** For each bracket that is open: where the condition begins that it holds; null: another one. */
  const open: (number | null)[] = [];
  for (const { 0: piece, index } of create.matchAll(PIECES)) {
    if (piece === ')') {
      const from = open.pop() ?? null;
      if (from !== null) checks.push(create.slice(from, index));
    } else if (piece.endsWith('(') && !/^['"`/-]/.test(piece)) open.push(piece === '(' ? null : index + piece.length);
  }
  return checks;
}

/** What each type of a catalogue is compared with. */
export type ParameterTypes = ReadonlyMap<string, ScalarType>;

export const parameterTypes = (lists: Readonly<Partial<Record<ScalarType, string>>>): ParameterTypes =>
  new Map(
    Object.entries(lists).flatMap(([type, names]) =>
      names.split('|').map((name): [string, ScalarType] => [name, type as ScalarType]),
    ),
  );

/** A column that nothing but `select` is sure to read. */
export const NO_USES: ColumnUses = { parameter: null, sortable: false, searchable: false };
