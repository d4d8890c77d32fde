import type { ColumnUses, Table, TableColumn, TableIndex } from '#core/contract/definitions/schema.ts';
import { parameterTypes, choicesOf, choicesOfType } from '../shared/choices.ts';
import { textOf } from '../shared/rows.ts';
import type { Json, Row } from '#core/lib/sql/result.ts';

/** Values: schema or null for the connection's schema, pattern or null (twice). */
const FOUND_TABLES = `
  FROM information_schema.tables
  WHERE table_schema = coalesce(?, database()) AND (? IS NULL OR table_name LIKE ? ESCAPE '!')`;
export const COUNT_TABLES = `SELECT count(*) AS total ${FOUND_TABLES}`;
/**
 * Keys are counted in one subquery, because the server opens every table of the schema for them. Values: as above, limit, offset,
 * schema or null.
 */
export const TABLES = `
  SELECT t.*, k.relations FROM (
    SELECT table_schema AS \`schema\`, table_name AS name, table_type AS type, table_comment AS comment, table_rows AS estimated_rows,
      table_schema = database() AS in_path
    ${FOUND_TABLES} ORDER BY table_name LIMIT ? OFFSET ?
  ) AS t LEFT JOIN (
    SELECT if(side.other, referenced_table_name, table_name) AS name, count(*) AS relations
    FROM information_schema.referential_constraints CROSS JOIN (SELECT 0 AS other UNION ALL SELECT 1) AS side
    WHERE constraint_schema = coalesce(?, database()) AND (side.other = 0 OR referenced_table_name <> table_name)
    GROUP BY 1
  ) AS k ON k.name = t.name
  ORDER BY t.name`;

/** Values: schema or null, table, pattern or null (twice). */
const FOUND_COLUMNS = `
  FROM information_schema.columns AS c
  WHERE c.table_schema = coalesce(?, database()) AND c.table_name = ? AND (? IS NULL OR c.column_name LIKE ? ESCAPE '!')`;
/** \`present\` distinguishes a table without a matching column from a table that does not exist. */
export const COUNT_COLUMNS = `
  SELECT count(*) AS total, (
    SELECT count(*) FROM information_schema.tables WHERE table_schema = coalesce(?, database()) AND table_name = ?
  ) AS present ${FOUND_COLUMNS}`;
export const COLUMNS = `
  SELECT c.column_name AS name, c.column_type AS type, c.data_type AS base, c.is_nullable AS nullable, c.column_default AS standard,
    c.column_key AS place, c.column_comment AS comment, k.other_schema, k.other_table, k.other_column
  FROM (SELECT c.* ${FOUND_COLUMNS} ORDER BY c.ordinal_position LIMIT ? OFFSET ?) AS c
  LEFT JOIN (
    SELECT column_name, min(referenced_table_schema) AS other_schema, min(referenced_table_name) AS other_table,
      min(referenced_column_name) AS other_column
    FROM information_schema.key_column_usage
    WHERE table_schema = coalesce(?, database()) AND table_name = ? AND referenced_table_name IS NOT NULL
    GROUP BY column_name
  ) AS k ON k.column_name = c.column_name
  ORDER BY c.ordinal_position`;

/**
 * Reads an index column a row. Only MySQL from 8.0.13 on has the column `expression`. Values: schema or null, table, twice.
 * \`present\` distinguishes a table without indexes from a table that does not exist.
 */
export const INDEXES = `
  SELECT t.table_name AS present, s.* FROM information_schema.tables AS t
  LEFT JOIN information_schema.statistics AS s ON s.table_schema = coalesce(?, database()) AND s.table_name = ?
  WHERE t.table_schema = coalesce(?, database()) AND t.table_name = ?
  ORDER BY s.index_name = 'PRIMARY' DESC, s.index_name, s.seq_in_index`;

/** Reads the checks of a table. Values: schema or null, table. MariaDB names checks per table, MySQL per schema. */
export const checksQuestion = (is_mariadb: boolean): string =>
  is_mariadb
    ? `SELECT check_clause AS text FROM information_schema.check_constraints
       WHERE constraint_schema = coalesce(?, database()) AND table_name = ?`
    : `SELECT c.check_clause AS text FROM information_schema.check_constraints AS c
       JOIN information_schema.table_constraints AS t
         ON t.constraint_schema = c.constraint_schema AND t.constraint_name = c.constraint_name AND t.constraint_type = 'CHECK'
       WHERE c.constraint_schema = coalesce(?, database()) AND t.table_name = ?`;

const TEXTS: ReadonlySet<string> = new Set(['char', 'varchar', 'tinytext', 'text', 'mediumtext', 'longtext']);
const PARAMETERS = parameterTypes({
  integer: 'tinyint|smallint|mediumint|int|bigint|year',
  number: 'decimal|float|double',
  date: 'date',
  datetime: 'datetime|timestamp',
  uuid: 'uuid',
  bytes: 'binary|varbinary|tinyblob|blob|mediumblob|longblob',
  string: [...TEXTS, 'enum', 'set', 'time', 'inet4', 'inet6'].join('|'),
});

/** @param base the type without its length. `tinyint(1)` counts as boolean, except for a key, which has more values. */
function usesOf(base: string, type: string, is_key: boolean): ColumnUses {
  const parameter =
    type.startsWith('bit(1)') || (!is_key && type.startsWith('tinyint(1)')) ? 'boolean' : (PARAMETERS.get(base) ?? null);
  return { parameter, sortable: parameter !== null || base === 'bit', searchable: TEXTS.has(base) };
}

const TABLE_TYPES: Readonly<Record<string, string>> = { 'BASE TABLE': 'table', VIEW: 'view', 'SYSTEM VIEW': 'view' };

export function toTable(row: Row): Table {
  const type = textOf(row['type']);
  // MySQL reports the comment VIEW for every view.
  const comment = type === 'BASE TABLE' ? textOf(row['comment']) : '';
  return {
    schema: textOf(row['schema']),
    name: textOf(row['name']),
    in_path: Number(row['in_path']) === 1,
    type: TABLE_TYPES[type] ?? type.toLowerCase(),
    comment: comment === '' ? null : comment,
    ...(Number(row['estimated_rows']) > 0 ? { estimated_rows: Number(row['estimated_rows']) } : {}),
    ...(Number(row['relations']) > 0 ? { relations: Number(row['relations']) } : {}),
  };
}

export function toTableColumn(row: Row, checks: readonly string[]): TableColumn {
  const standard = row['standard'];
  const choices = choicesOfType(textOf(row['type'])) ?? choicesOf(checks, textOf(row['name']));
  const other = row['other_table'];
  return {
    name: textOf(row['name']),
    type: textOf(row['type']),
    nullable: row['nullable'] === 'YES',
    // MariaDB returns the word NULL where MySQL returns null.
    default: typeof standard === 'string' && standard !== 'NULL' ? standard : null,
    primary_key: row['place'] === 'PRI',
    ...(typeof other === 'string'
      ? { references: { schema: textOf(row['other_schema']), table: other, column: textOf(row['other_column']) } }
      : {}),
    comment: textOf(row['comment']) || null,
    ...usesOf(textOf(row['base']).toLowerCase(), textOf(row['type']).toLowerCase(), row['place'] === 'PRI'),
    ...(choices === null ? {} : { enum: [...choices] }),
  };
}

/** A row of `INDEXES`; servers write the names of its columns in different case. */
export function toIndexRow(row: Row): Row {
  const lower = Object.fromEntries(Object.entries(row).map(([name, value]) => [name.toLowerCase(), value]));
  const { column_name, expression = null, index_name = null } = lower;
  return { ...lower, name: index_name, part: column_name ?? expression };
}

export const toIndex = (row: Row, parts: readonly (Json | undefined)[]): TableIndex => ({
  name: textOf(row['name']),
  columns: parts.map(textOf),
  unique: Number(row['non_unique']) === 0,
  primary_key: row['name'] === 'PRIMARY',
  type: textOf(row['index_type']).toLowerCase() || null,
  condition: null,
});
