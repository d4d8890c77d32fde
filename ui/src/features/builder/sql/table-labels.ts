import type { TableColumn } from '#core/contract/definitions/schema.ts';
import type { Source } from './table-columns.ts';
import type { TableAddress } from './table-address.ts';
import { labelCheck } from './table-sql.ts';
import { singular } from './singular.ts';
import { wordsOf } from './table-words.ts';

/** The text that names the row which a foreign key refers to. */
export interface TableLabel {
  /** The foreign key. */
  readonly column: string;
  readonly table: TableAddress;
  /** The column of the other table that it refers to: its primary key, so that a join adds no rows. */
  readonly key: string;
  readonly text: string;
}

const MOST_LABELS = 4;

/** @param columnsOf of a table that is referred to. @param runs whether the account may run a statement that reads the other table. */
export async function findLabels(
  source: Source,
  columnsOf: (table: TableAddress) => Promise<readonly TableColumn[]>,
  runs: (sql: string) => Promise<boolean>,
): Promise<TableLabel[]> {
  const foreign = source.columns.filter(({ references }) => references !== undefined).slice(0, MOST_LABELS);
  const labels = await Promise.all(
    foreign.map(async (column): Promise<TableLabel[]> => {
      const { schema, table: name, column: target } = column.references ?? { schema: null, table: '', column: '' };
      const table = { schema, name };
      const others = await columnsOf(table).catch(() => []);
      const key = uniqueKey(others, target);
      const text = labelOf(name, others);
      // Values of different types can be equal to several others.
      if (key === undefined || text === undefined || key.parameter !== column.parameter || key.parameter === null) return [];
      const label = { column: column.name, table, key: key.name, text: text.name };
      return (await runs(labelCheck(source, label))) ? [label] : [];
    }),
  );
  return labels.flat();
}

/** The column when it alone is the primary key. One of several columns of a key is not unique. */
function uniqueKey(columns: readonly TableColumn[], target: string): TableColumn | undefined {
  const keys = columns.filter(({ primary_key }) => primary_key);
  const found =
    columns.find(({ name }) => name === target) ?? columns.find(({ name }) => name.toLowerCase() === target.toLowerCase());
  return keys.length === 1 && found?.primary_key === true ? found : undefined;
}

/** Its name, title or label, in this order. */
function labelOf(table: string, columns: readonly TableColumn[]): TableColumn | undefined {
  const one = singular(wordsOf(table));
  const names = ['name', 'title', 'label', 'full name', 'display name', `${one} name`, `${one} title`, `${one} label`];
  const texts = columns.filter(({ searchable, references }) => searchable && references === undefined);
  return names.map((name) => texts.find((column) => wordsOf(column.name) === name)).find((column) => column !== undefined);
}
