import type { ColumnUses, Table, TableColumn, TableIndex } from '#core/contract/definitions/schema.ts';
import { readIndex } from '#core/lib/sql/index-text.ts';
import { parameterTypes, checksOf, choicesOf, choicesOfType } from '../shared/choices.ts';
import { containsPattern, noTable, pageOf, textOf } from '../shared/rows.ts';
import type { BoundType, Json, Row } from '#core/lib/sql/result.ts';
import type { Catalogue, TableFilter } from '#core/engines/shared/source.ts';

/** Internal statements about the schema. Each returns the exact total first, so that a page past the end still contains it. */
const USER_OBJECTS = `database_name = current_database() AND NOT internal`;

const TABLES_SQL = `
WITH all_tables AS (
  SELECT schema_name, table_name AS name, 'table' AS kind, comment, estimated_size AS size FROM duckdb_tables() WHERE ${USER_OBJECTS}
  UNION ALL SELECT schema_name, view_name, 'view', comment, NULL FROM duckdb_views() WHERE ${USER_OBJECTS}
), found AS (
  SELECT * FROM all_tables WHERE ($1::VARCHAR IS NULL OR schema_name = $1::VARCHAR) AND ($2::VARCHAR IS NULL OR name ILIKE $2::VARCHAR ESCAPE '!')
), links AS (
  SELECT schema_name, table_name, referenced_table FROM duckdb_constraints()
  WHERE database_name = current_database() AND constraint_type = 'FOREIGN KEY'
), page AS (SELECT * FROM found ORDER BY schema_name, name LIMIT $3::BIGINT OFFSET $4::BIGINT)
SELECT (SELECT count(*) FROM found) AS total, page.schema_name, page.name, page.kind, page.comment, page.schema_name = current_schema() AS in_path, (
  SELECT count(*) FROM links WHERE links.schema_name = page.schema_name AND (links.table_name = page.name OR links.referenced_table = page.name)
) AS relations
FROM (SELECT 1) LEFT JOIN page ON true ORDER BY page.schema_name, page.name`;

const COLUMNS_SQL = `
WITH wanted AS (
  SELECT schema_name, table_name FROM (
    SELECT DISTINCT schema_name, table_name, schema_name = current_schema() AS first FROM duckdb_columns()
    WHERE database_name = current_database() AND lower(table_name) = lower($1::VARCHAR) AND ($2::VARCHAR IS NULL OR schema_name = $2::VARCHAR) AND NOT internal
  ) ORDER BY first DESC, schema_name, table_name LIMIT 1
), limits AS (
  SELECT constraint_type, constraint_column_names AS names, referenced_table, referenced_column_names AS targets,
    schema_name, constraint_text
  FROM duckdb_constraints() NATURAL JOIN wanted WHERE database_name = current_database()
), found AS (
  SELECT c.column_index, c.column_name AS name, c.data_type AS type, c.is_nullable AS nullable, c.column_default, c.comment,
    coalesce(list_contains((SELECT names FROM limits WHERE constraint_type = 'PRIMARY KEY' LIMIT 1), c.column_name), false) AS pk,
    (SELECT first([schema_name, referenced_table, targets[list_position(names, c.column_name)]]) FROM limits
     WHERE constraint_type = 'FOREIGN KEY' AND list_contains(names, c.column_name)) AS target
  FROM duckdb_columns() AS c NATURAL JOIN wanted
  WHERE c.database_name = current_database() AND ($3::VARCHAR IS NULL OR c.column_name ILIKE $3::VARCHAR ESCAPE '!')
), page AS (SELECT * FROM found ORDER BY column_index LIMIT $4::BIGINT OFFSET $5::BIGINT)
SELECT (SELECT count(*) FROM found) AS total, (SELECT list(constraint_text) FROM limits WHERE constraint_type = 'CHECK') AS checks, page.*
FROM wanted LEFT JOIN page ON true ORDER BY page.column_index`;

/** Keys and unique constraints have indexes that `duckdb_indexes` does not list. */
const INDEXES_SQL = `
WITH wanted AS (
  SELECT schema_name, table_name FROM (
    SELECT DISTINCT schema_name, table_name, schema_name = current_schema() AS first FROM duckdb_columns()
    WHERE database_name = current_database() AND lower(table_name) = lower($1::VARCHAR) AND ($2::VARCHAR IS NULL OR schema_name = $2::VARCHAR) AND NOT internal
  ) ORDER BY first DESC, schema_name, table_name LIMIT 1
), found AS (
  SELECT constraint_name AS name, true AS is_unique, constraint_type = 'PRIMARY KEY' AS is_key, constraint_column_names AS names, NULL AS sql
  FROM duckdb_constraints() NATURAL JOIN wanted
  WHERE database_name = current_database() AND constraint_type IN ('PRIMARY KEY', 'UNIQUE')
  UNION ALL SELECT index_name, is_unique, is_primary, NULL, sql FROM duckdb_indexes() NATURAL JOIN wanted
  WHERE database_name = current_database()
)
SELECT found.* FROM wanted LEFT JOIN found ON true ORDER BY found.is_key DESC, found.name`;

/** @param look runs an internal statement. */
export const createCatalogue = (
  look: (text: string, values: readonly Json[], types: readonly BoundType[]) => Promise<Row[]>,
): Catalogue => ({
  async tables(filter) {
    const { skip, limit } = filter;
    return pageOf(
      await look(TABLES_SQL, [filter.schema ?? null, patternOf(filter), limit, skip], ['string', 'string', 'integer', 'integer']),
      toTable,
    );
  },
  async columns({ schema, name }, filter) {
    const values = [name, schema ?? null, patternOf(filter), filter.limit, filter.skip];
    const rows = await look(COLUMNS_SQL, values, ['string', 'string', 'string', 'integer', 'integer']);
    if (rows.length === 0) throw noTable();
    const checks = Array.isArray(rows[0]?.['checks']) ? checksOf(rows[0]['checks'].map(textOf).join(', ')) : [];
    return pageOf(rows, (row) => toTableColumn(row, checks));
  },
  async indexes({ schema, name }) {
    const rows = await look(INDEXES_SQL, [name, schema ?? null], ['string', 'string']);
    if (rows.length === 0) throw noTable();
    return rows.flatMap((row) => (row['name'] === null ? [] : [toIndex(row)]));
  },
});

const toIndex = (row: Row): TableIndex => ({
  name: textOf(row['name']),
  columns: Array.isArray(row['names']) ? row['names'].map(textOf) : readIndex(textOf(row['sql'])).columns,
  unique: row['is_unique'] === true,
  primary_key: row['is_key'] === true,
  type: null,
  condition: null,
});

const patternOf = ({ search }: TableFilter): string | null => (search === undefined ? null : containsPattern(search));

const toTable = (row: Row): Table => ({
  schema: textOf(row['schema_name']),
  name: textOf(row['name']),
  in_path: row['in_path'] === true,
  type: textOf(row['kind']),
  comment: typeof row['comment'] === 'string' ? row['comment'] : null,
  ...(Number(row['relations']) > 0 ? { relations: Number(row['relations']) } : {}),
});

const PARAMETERS = parameterTypes({
  integer: 'TINYINT|SMALLINT|INTEGER|BIGINT|HUGEINT|UTINYINT|USMALLINT|UINTEGER|UBIGINT|UHUGEINT',
  number: 'FLOAT|DOUBLE|DECIMAL',
  boolean: 'BOOLEAN',
  date: 'DATE',
  datetime: 'TIMESTAMP|TIMESTAMP_S|TIMESTAMP_MS|TIMESTAMP_NS|TIMESTAMP WITH TIME ZONE',
  uuid: 'UUID',
  json: 'JSON',
  bytes: 'BLOB',
  string: 'VARCHAR|ENUM|TIME|INTERVAL',
});

/** Lists are written `INTEGER[]`, types with parameters `DECIMAL(10,2)`. */
function usesOf(type: string): ColumnUses {
  const base = type.endsWith(']') ? '' : type.replace(/\(.*$/s, '');
  const parameter = PARAMETERS.get(base) ?? null;
  return { parameter, sortable: parameter !== null, searchable: base === 'VARCHAR' };
}

function toTableColumn(row: Row, checks: readonly string[]): TableColumn {
  const target = row['target'];
  const type = textOf(row['type']);
  const choices = choicesOfType(type) ?? choicesOf(checks, textOf(row['name']));
  return {
    name: textOf(row['name']),
    type,
    nullable: row['nullable'] === true,
    default: typeof row['column_default'] === 'string' ? row['column_default'] : null,
    primary_key: row['pk'] === true,
    ...(Array.isArray(target)
      ? { references: { schema: textOf(target[0]), table: textOf(target[1]), column: textOf(target[2]) } }
      : {}),
    comment: typeof row['comment'] === 'string' ? row['comment'] : null,
    ...usesOf(type),
    ...(choices === null ? {} : { enum: [...choices] }),
  };
}
