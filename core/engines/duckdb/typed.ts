import { tokenize } from '#core/lib/sql/tokenize.ts';
import type { BoundType } from '../shared/source.ts';
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

/** The text with the declared type behind each `$n`. */
export function typedText(text: string, types: readonly BoundType[]): string {
  let typed = '';
  for (const { kind, start, end } of tokenize(text, { scan: scanDuckdb })) {
    const piece = text.slice(start, end);
    const type = kind === 'placeholder' ? types[Number(piece.slice(1)) - 1] : undefined;
    typed += type === undefined ? piece : `(${piece}::${typeof type === 'string' ? NAMES[type] : `${NAMES[type.array]}[]`})`;
  }
  return typed;
}
