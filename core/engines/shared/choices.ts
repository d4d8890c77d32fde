import type { ScalarType } from '#core/contract/definitions/parameters.ts';
import type { ColumnUses } from '#core/contract/definitions/schema.ts';

/** The values that a column may hold, when its type or its check lists them. */
export type Choices = readonly (string | number)[];

/** A longer list is not useful to a model. */
const MAX_CHOICES = 100;
// Texts come from any database. Adjacent parts never match the same characters, so matching takes time linear in the length.
const LITERAL =
  /\s*(?:(?:_\w+\s*)?\\?'((?:[^'\\]|''|\\(?!'))*)\\?'|(-?\d+(?:\.\d+)?))(?:::\w+(?: \w+){0,3}(?:\(\d+\))?)?\s*([,)\]])/y;
const END = /^[\s)\]]*(?:::[\w\s[\])]+)?$/;

/** Reads the literals from an offset to the closing bracket. */
function literals(text: string, from: number): { values: Choices; end: number } | null {
  const values: (string | number)[] = [];
  LITERAL.lastIndex = from;
  for (;;) {
    const match = LITERAL.exec(text);
    if (match === null || values.length === MAX_CHOICES) return null;
    const [, string, number, mark] = match;
    values.push(string === undefined ? Number(number) : string.replaceAll("''", "'"));
    if (mark !== ',') return { values, end: LITERAL.lastIndex };
  }
}

/** Values of `enum('a','b')`, as MySQL writes the type of a column. */
export const choicesOfType = (type: string): Choices | null =>
  /^enum\(/i.test(type) ? (literals(type, 'enum('.length)?.values ?? null) : null;

/**
 * Returns the values that a check allows for a column. Null unless the check only lists values (`status in ('a', 'b')`, in any
 * notation that a database uses).
 * @param check the condition, with or without parentheses.
 */
function choicesOfCheck(check: string, column: string): Choices | null {
  const name = column.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&');
  const head = new RegExp(
    `^[\\s(]*(?:check[\\s(]*)?["\`[]?${name}["\`\\]]?[\\s)]*(?:::[a-z]+(?: [a-z]+){0,3}(?:\\(\\d+\\))?[\\s)]*)?(?:in|=\\s*any)\\s*\\(+(?:array\\s*)?\\[?`,
    'i',
  ).exec(check);
  if (head === null) return null;
  const found = literals(check, head[0].length);
  return found !== null && END.test(check.slice(found.end)) ? found.values : null;
}

/** Values from the first check of a table that lists those of the column. */
export const choicesOf = (checks: readonly string[], column: string): Choices | null =>
  checks.map((check) => choicesOfCheck(check, column)).find((choices) => choices !== null) ?? null;

/** Texts, quoted names and comments in a definition. An unclosed one extends to the end of the definition. */
const SKIPPED = /'[^']*(?:'|$)|"[^"]*(?:"|$)|`[^`]*(?:`|$)|--[^\n]*|\/\*(?:[\s\S]*?\*\/|[\s\S]*$)/;
const PIECES = new RegExp(`${SKIPPED.source}|\\bcheck\\s*\\(|[()]`, 'gi');

/** The conditions in the text of a CREATE TABLE. */
export function checksOf(create: string): string[] {
  const checks: string[] = [];
  /** The start of the condition in each open bracket. Null for other brackets. */
  const open: (number | null)[] = [];
  for (const { 0: piece, index } of create.matchAll(PIECES)) {
    if (piece === ')') {
      const from = open.pop() ?? null;
      if (from !== null) checks.push(create.slice(from, index));
    } else if (piece.endsWith('(') && !/^['"`/-]/.test(piece)) open.push(piece === '(' ? null : index + piece.length);
  }
  return checks;
}

/** Maps the name of a column type to the parameter type that it is compared with. */
export type ParameterTypes = ReadonlyMap<string, ScalarType>;

export const parameterTypes = (lists: Readonly<Partial<Record<ScalarType, string>>>): ParameterTypes =>
  new Map(
    Object.entries(lists).flatMap(([type, names]) =>
      names.split('|').map((name): [string, ScalarType] => [name, type as ScalarType]),
    ),
  );

/** For a column that can only be selected: it is not compared, sorted or searched. */
export const NO_USES: ColumnUses = { parameter: null, sortable: false, searchable: false };
