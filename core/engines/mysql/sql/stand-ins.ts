import type { ScalarType } from '#core/contract/definitions/parameters.ts';
import { type Scanner, tokenize } from '#core/lib/sql/tokenize.ts';
import type { BoundType, Column } from '#core/lib/sql/result.ts';

/** A date, which both date and text columns accept. */
const TEXT = "'2000-01-01'";
/** More than 32 bits, because integers are bound with 64. */
const WHOLE = '4294967296';
/** A number is bound as a decimal, or as a double when no decimal can hold it. */
const NUMBERS = ['1.5', '1e0'] as const;
const STAND_INS: Readonly<Record<ScalarType, string>> = {
  string: TEXT,
  integer: WHOLE,
  number: NUMBERS[0],
  boolean: WHOLE,
  date: "DATE'2000-01-01'",
  datetime: "TIMESTAMP'2000-01-01 00:00:00'",
  uuid: "'00000000-0000-0000-0000-000000000000'",
  json: "'{}'",
  bytes: "x'00'",
};

/**
 * Replaces each placeholder with a literal of its declared type. The type of a computed column depends on the bound value, which
 * the server does not know while it prepares. Empty without placeholders.
 */
export function typedTexts(text: string, types: readonly BoundType[], scan: Scanner): readonly string[] {
  if (types.length === 0) return [];
  return types.includes('number')
    ? NUMBERS.map((number) => typedText(text, types, scan, number))
    : [typedText(text, types, scan, '')];
}

function typedText(text: string, types: readonly BoundType[], scan: Scanner, number: string): string {
  let typed = '';
  let index = 0;
  /** True after LIMIT and OFFSET, which only accept a number. */
  let limits = false;
  for (const { kind, start, end } of tokenize(text, { scan })) {
    const piece = text.slice(start, end);
    if (kind === 'placeholder') {
      const type = types[index++] ?? 'string';
      typed += limits ? '1' : type === 'number' ? number : STAND_INS[typeof type === 'object' ? 'json' : type];
      continue;
    }
    typed += piece;
    if (kind === 'space' || kind === 'comment') continue;
    limits = kind === 'word' ? /^(?:limit|offset)$/i.test(piece) : limits && (kind === 'number' || piece === ',');
  }
  return typed;
}

/** Columns with the types that they have for values of the declared types. Their kind is `json` when it depends on the value. */
export function typedColumns(columns: readonly Column[], typed: readonly (readonly Column[])[]): readonly Column[] {
  const fitting = typed.filter(({ length }) => length === columns.length);
  return columns.map((column, n) => {
    const [first, ...rest] = fitting.map((each) => each[n]!);
    if (first === undefined) return column;
    const { type, kind } = first;
    return { name: column.name, type, kind: rest.every((other) => other.kind === kind) ? kind : 'json' };
  });
}
