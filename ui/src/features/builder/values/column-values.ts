import type { Parameter, ScalarType } from '#core/contract/definitions/parameters.ts';
import type { Suggestion } from '#core/contract/definitions/preview.ts';
import type { Call } from '#ui/src/api.ts';
import { parseEntry, writeEntry } from '#ui/src/features/run/arguments.ts';
import { type Catalog, qualifiedName, quoteName } from '../sql/completion.ts';
import type { Dialect } from '../sql/scan.ts';

/** More different values are no list to choose from. */
export const MOST_VALUES = 50;
/** Rows that are read for their values: a large table is not read in full. */
const ROWS_READ = 10_000;

/** The column that a parameter is compared with, and the values in its rows. */
export interface ColumnSource {
  /** Such as `orders.status`. */
  readonly name: string;
  /** Up to `MOST_VALUES + 1` different values. */
  load(): Promise<readonly unknown[]>;
}

export interface ColumnReader {
  readonly call: Call;
  readonly catalog: Catalog;
  readonly dialect: Dialect;
}

/** Reads the values of the column that a suggestion names, as values of its parameter; undefined: it names none. */
export function columnSource(
  { call, catalog, dialect }: ColumnReader,
  { type, items }: Pick<Parameter, 'type' | 'items'>,
  column: Suggestion['column'],
): ColumnSource | undefined {
  const scalar: ScalarType = type === 'array' ? (items ?? 'string') : type;
  if (column === undefined || scalar === 'bytes' || scalar === 'json') return undefined;
  return {
    name: `${column.table}.${column.name}`,
    async load() {
      const isSame = (one: string | null, other: string) => one?.toLowerCase() === other.toLowerCase();
      const tables = (await catalog.tables()).filter(({ name }) => isSame(name, column.table));
      const found = tables.find(({ schema, in_path }) => (column.schema === null ? in_path : isSame(schema, column.schema)));
      const { rows } = await call('preview.execute', {
        connection_id: catalog.connection_id,
        sql_query: valuesQuery(
          found ?? tables[0] ?? { schema: column.schema, name: column.table, in_path: false },
          column.name,
          dialect,
        ),
        limit: MOST_VALUES + 1,
      });
      return rows.flatMap(({ found_value }) => {
        const parsed = parseEntry(writeEntry(found_value) ?? '', { type: scalar });
        return 'value' in parsed ? [parsed.value] : [];
      });
    },
  };
}

export function valuesQuery(table: Parameters<typeof qualifiedName>[0], column: string, dialect: Dialect): string {
  const name = quoteName(column, dialect);
  const rows = `select ${name} as found_value from ${qualifiedName(table, dialect)} where ${name} is not null limit ${ROWS_READ}`;
  return `select distinct found_value from (${rows}) as some_rows order by found_value limit ${MOST_VALUES + 1}`;
}

/** Values that show a model the form of a value. */
export const asExamples = (values: readonly unknown[], { type }: Pick<Parameter, 'type'>): readonly unknown[] => {
  const few = values.slice(0, 2);
  return type === 'array' && few.length > 0 ? [few] : few;
};
