import { tokenize } from '#core/lib/sql/tokenize.ts';
import { fits64Bits, integerOf } from '../shared/rows.ts';
import type { BoundStatement, BoundType, Json } from '../shared/source.ts';
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
};

/** Whether some of the values need more than 64 bits. */
export const isHuge = (type: ScalarType, values: readonly Json[]): boolean =>
  type === 'integer' && values.some((value) => value !== null && !fits64Bits(integerOf(value)));

/** The text with the declared type behind each `$n`, or one that holds its value; null: it stays as it is. */
export function typedText(text: string, types: readonly (BoundType | null)[], values: readonly Json[] = []): string {
  let typed = '';
  for (const { kind, start, end } of tokenize(text, { scan: scanDuckdb })) {
    const piece = text.slice(start, end);
    const at = kind === 'placeholder' ? Number(piece.slice(1)) - 1 : -1;
    const type = types[at];
    typed += type === undefined || type === null ? piece : `(${piece}::${nameOf(type, values[at] ?? null)})`;
  }
  return typed;
}

/** The text that is run: with a type behind each value that is declared. */
export const declaredText = ({ text, types, values, declared = [] }: BoundStatement): string =>
  declared.some((as) => as !== null)
    ? typedText(
        text,
        types.map((type, at) => (declared[at] == null ? null : type)),
        values,
      )
    : text;

/** DuckDB's name of a declared type, or of one that holds the value. */
export function nameOf(type: BoundType, value: Json = null): string {
  if (typeof type === 'object')
    return `${isHuge(type.array, Array.isArray(value) ? value : [value]) ? 'HUGEINT' : NAMES[type.array]}[]`;
  return isHuge(type, [value]) ? 'HUGEINT' : NAMES[type];
}
