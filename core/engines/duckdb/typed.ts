import { tokenize } from '#core/lib/sql/tokenize.ts';
import { fits64Bits, integerOf } from '../shared/rows.ts';
import type { ParameterType } from '#core/lib/sql/statement.ts';
import type { BoundStatement, BoundType, Json } from '#core/lib/sql/result.ts';
import { scanDuckdb } from './scanner.ts';

type ScalarType = Exclude<BoundType, object>;

const NAMES: Readonly<Record<ScalarType, string>> = {
  string: 'VARCHAR',
  integer: 'BIGINT',
  number: 'DOUBLE',
  boolean: 'BOOLEAN',
  date: 'DATE',
  datetime: 'TIMESTAMPTZ',
  uuid: 'UUID',
  json: 'JSON',
  bytes: 'BLOB',
};

/** Whether any of the values needs more than 64 bits. */
export const isHuge = (type: ScalarType, values: readonly Json[]): boolean =>
  type === 'integer' && values.some((value) => value !== null && !fits64Bits(integerOf(value)));

/** Replaces each `$n` in the text. */
function withPlaceholders(text: string, write: (at: number, piece: string) => string): string {
  let written = '';
  for (const { kind, start, end } of tokenize(text, { scan: scanDuckdb })) {
    const piece = text.slice(start, end);
    written += kind === 'placeholder' ? write(Number(piece.slice(1)) - 1, piece) : piece;
  }
  return written;
}

/** Adds a cast to a DuckDB type to each `$n`. Null: no cast. */
export const castText = (text: string, casts: readonly (string | null)[]): string =>
  casts.every((as) => as === null)
    ? text
    : withPlaceholders(text, (at, piece) => (casts[at] == null ? piece : `(${piece}::${casts[at]})`));

const SAMPLES: Readonly<Record<ScalarType, string>> = {
  string: "'2000-01-01'",
  integer: '1',
  number: '1',
  boolean: 'true',
  date: "'2000-01-01'",
  datetime: "'2000-01-01T00:00:00Z'",
  uuid: "'00000000-0000-0000-0000-000000000000'",
  json: "'{}'",
  bytes: "''",
};

/** Replaces each `$n` with a value: some functions only have a type for constants. */
export const sampleText = (text: string, types: readonly BoundType[], reads: readonly ParameterType[]): string =>
  withPlaceholders(text, (at) => {
    const type = types[at] ?? 'string';
    return `(${typeof type === 'object' ? `[${SAMPLES[type.array]}]` : SAMPLES[type]}::${reads[at]?.as ?? nameOf(type)})`;
  });

/** Replaces placeholders of the same value with the first of them. */
export const sharedText = (text: string, firsts: readonly number[]): string =>
  withPlaceholders(text, (at) => `$${(firsts[at] ?? at) + 1}`);

/** Adds a cast to the declared type to each `$n`. Null: no cast. */
export const typedText = (text: string, types: readonly (BoundType | null)[]): string =>
  castText(
    text,
    types.map((type) => (type === null ? null : nameOf(type))),
  );

/** The text that is run: each declared value has a cast to its type, or to one that holds it. */
export const declaredText = ({ text, types, values, declared = [] }: BoundStatement): string =>
  castText(
    text,
    declared.map((as, at) => {
      const [type = 'string', value = null] = [types[at], values[at]];
      return as !== null && holdsHuge(type, value) ? nameOf(type, value) : as;
    }),
  );

const holdsHuge = (type: BoundType, value: Json): boolean =>
  typeof type === 'object' ? isHuge(type.array, Array.isArray(value) ? value : [value]) : isHuge(type, [value]);

/** DuckDB's name of a declared type, or of one that holds the value. */
export function nameOf(type: BoundType, value: Json = null): string {
  if (typeof type === 'object')
    return `${isHuge(type.array, Array.isArray(value) ? value : [value]) ? 'HUGEINT' : NAMES[type.array]}[]`;
  return isHuge(type, [value]) ? 'HUGEINT' : NAMES[type];
}
