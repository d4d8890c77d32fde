import * as v from 'valibot';
import { Id, integerBetween, listOf, Skip, textBetween } from '../fields.ts';
import { ScalarType } from './parameters.ts';
import { operation } from '../operation.ts';

export const Table = v.object({
  schema: v.nullable(v.string()),
  name: v.string(),
  in_path: v.pipe(v.boolean(), v.description('Its name alone reads this table')),
  type: v.string(),
  comment: v.nullable(v.string()),
  estimated_rows: v.pipe(v.optional(v.number()), v.description('An estimate')),
  relations: v.pipe(v.optional(v.number()), v.description('Foreign keys from and to it')),
});
export type Table = v.InferOutput<typeof Table>;

/**
 * How statements can use a column, by its type in the catalogue: the parameter type to compare it with (null: none), `order by`
 * if sortable, `like` if searchable.
 */
const columnUses = {
  parameter: v.pipe(v.nullable(ScalarType), v.description('Parameter type to compare with')),
  sortable: v.boolean(),
  searchable: v.boolean(),
};

export const TableColumn = v.object({
  name: v.string(),
  type: v.string(),
  nullable: v.boolean(),
  default: v.nullable(v.string()),
  primary_key: v.boolean(),
  references: v.optional(v.object({ schema: v.nullable(v.string()), table: v.string(), column: v.string() })),
  comment: v.nullable(v.string()),
  ...columnUses,
  enum: v.pipe(v.optional(v.array(v.union([v.string(), v.number()]))), v.description('Allowed by its type or check')),
});
export type TableColumn = v.InferOutput<typeof TableColumn>;
export type ColumnUses = Pick<TableColumn, keyof typeof columnUses>;

export const TableIndex = v.object({
  name: v.string(),
  columns: v.pipe(v.array(v.string()), v.description('Names of columns and expressions, in the order of the index')),
  unique: v.boolean(),
  primary_key: v.boolean(),
  type: v.pipe(v.nullable(v.string()), v.description('Method, such as `btree`, in the words of the database')),
  condition: v.pipe(v.nullable(v.string()), v.description('Rows that a partial index contains')),
});
export type TableIndex = v.InferOutput<typeof TableIndex>;

const filters = {
  connection_id: Id,
  skip: Skip,
  limit: v.optional(integerBetween(1, 5_000), 5_000),
  schema: v.optional(textBetween(1, 255)),
  search: v.optional(textBetween(1, 255)),
};

export const schema = {
  'schema.tables': operation('GET /schema/{connection_id}/tables', 'read', {
    input: v.strictObject(filters),
    output: listOf(Table),
    summary: 'List tables and views of a connected database',
  }),
  'schema.columns': operation('GET /schema/{connection_id}/tables/{table}/columns', 'read', {
    input: v.strictObject({ ...filters, table: textBetween(1, 512) }),
    output: listOf(TableColumn),
    summary: 'List columns of one table; `schema` tells tables of the same name apart',
  }),
  'schema.indexes': operation('GET /schema/{connection_id}/tables/{table}/indexes', 'read', {
    input: v.strictObject({ connection_id: Id, table: textBetween(1, 512), schema: filters.schema }),
    output: listOf(TableIndex),
    summary: 'List indexes of one table, the primary key first; on ClickHouse its sorting key',
  }),
};
