import type { JSX } from 'solid-js';
import type { Column } from '#ui/src/components/table/data-table.tsx';
import type { FormSchema } from '#ui/src/kernel/form/form.ts';
import { scalarWords } from './differences/value-words.ts';
import { fieldOf } from './kind.ts';

/** A column that shows a field of records as the contract describes it: its label, its unit and the labels of its values. */
export function fieldColumn<K extends string>(
  schema: FormSchema,
  name: K,
  more: Pick<Column<unknown>, 'narrow' | 'width'> = {},
): Column<Readonly<Record<K, unknown>>> {
  const { kind, marks } = fieldOf(schema, name);
  const words = (value: unknown): string =>
    Array.isArray(value) ? value.map((item) => scalarWords(item, marks)).join(', ') : scalarWords(value, marks);
  const text = (row: Readonly<Record<K, unknown>>): string => words(row[name]);
  const is_code = marks.control === 'mono' || marks.control === 'url';
  const cell = (row: Readonly<Record<K, unknown>>): JSX.Element => (
    <span class={is_code ? 'mono small truncate' : 'cell-text'}>{text(row)}</span>
  );
  return { id: name, head: marks.label, cell, ...(kind.type === 'text' ? { sort: text } : {}), ...more };
}
