import type { ColumnUses, Table, TableColumn, TableIndex } from '#core/contract/definitions/schema.ts';
import { readIndex } from '#core/lib/sql/index-text.ts';
import { globContaining } from '#core/lib/text/search.ts';
import { parameterTypes, checksOf, choicesOf } from '../shared/choices.ts';
import { indexesOf, noTable, pageOf, textOf } from '../shared/rows.ts';
import type { Json, Row } from '#core/lib/sql/result.ts';
import type { Catalogue, TableFilter } from '#core/engines/shared/source.ts';
import type { SqliteValue } from './values.ts';

/**
 * Internal statements about the schema. Each returns the exact total first, so that a page past the end still contains it: its
 * single row then has a null name.
 */
export const SCHEMA_SQL = `SELECT json_group_array(json_array(type, name, sql)) AS schema
  FROM (SELECT type, name, sql FROM sqlite_schema ORDER BY type, name)`;
const TABLES_SQL = `
WITH found AS (
  SELECT name, type FROM pragma_table_list
  WHERE schema = 'main' AND schema = ?1 AND type IN ('table', 'view', 'virtual') AND name NOT LIKE 'sqlite!_%' ESCAPE '!'
    AND (?2 IS NULL OR name GLOB ?2)
), page AS (SELECT name, type FROM found ORDER BY name LIMIT ?3 OFFSET ?4), keys AS (
  SELECT t.name AS source, k."table" AS target, count(DISTINCT k.id) AS number
  FROM pragma_table_list AS t, pragma_foreign_key_list(t.name) AS k WHERE t.schema = 'main' GROUP BY t.name, k."table"
)
SELECT (SELECT count(*) FROM found) AS total, page.name, page.type, (
  SELECT coalesce(sum(number), 0) FROM keys
  WHERE source = page.name COLLATE NOCASE OR target = page.name COLLATE NOCASE
) AS relations
FROM (SELECT 1) LEFT JOIN page ORDER BY page.name`;

const COLUMNS_SQL = `
WITH wanted AS (
  SELECT name FROM pragma_table_list WHERE schema = 'main' AND schema = ?2 AND name = ?1 COLLATE NOCASE LIMIT 1
), keys AS (
  SELECT k."from" AS name, k."table" AS other, coalesce(k."to", (
    SELECT p.name FROM pragma_table_info(k."table") AS p WHERE p.pk = k.seq + 1
  )) AS target, row_number() OVER (PARTITION BY k."from" ORDER BY k.id) AS place
  FROM wanted, pragma_foreign_key_list(wanted.name) AS k
), found AS (
  SELECT c.cid, c.name, c.type, c."notnull" OR c.pk > 0 AS required, c.dflt_value, c.pk > 0 AS pk, keys.other, keys.target
  FROM wanted, pragma_table_xinfo(wanted.name) AS c
  LEFT JOIN keys ON keys.name = c.name COLLATE NOCASE AND keys.place = 1
  WHERE c.hidden <> 1 AND (?3 IS NULL OR c.name GLOB ?3)
), page AS (SELECT * FROM found ORDER BY cid LIMIT ?4 OFFSET ?5)
SELECT (SELECT count(*) FROM found) AS total, page.* FROM wanted LEFT JOIN page ORDER BY page.cid`;

const INDEXES_SQL = `
WITH wanted AS (
  SELECT name FROM pragma_table_list WHERE schema = 'main' AND schema = ?2 AND name = ?1 COLLATE NOCASE LIMIT 1
), found AS (
  SELECT i.name, i."unique" AS is_unique, i.origin = 'pk' AS is_key, i.partial FROM wanted, pragma_index_list(wanted.name) AS i
), page AS (
  SELECT found.*, x.seqno, x.name AS part, (SELECT sql FROM sqlite_schema WHERE type = 'index' AND name = found.name) AS sql
  FROM found, pragma_index_xinfo(found.name) AS x WHERE x.key = 1
)
SELECT page.* FROM wanted LEFT JOIN page ORDER BY page.is_key DESC, page.name, page.seqno`;

/** SQLite only stores checks in this text. */
const CREATE_SQL = `SELECT sql FROM sqlite_schema WHERE type = 'table' AND name = ?1 COLLATE NOCASE`;

/** Reads tables and columns of a database with SQLite's grammar. @param look runs an internal statement. */
export const createCatalogue = (look: (text: string, values: readonly SqliteValue[]) => Promise<Row[]>): Catalogue => ({
  tables: async (filter) => pageOf(await look(TABLES_SQL, valuesOf(filter)), toTable),
  async columns({ schema, name }, filter) {
    const rows = await look(COLUMNS_SQL, [name, schema ?? 'main', ...valuesOf(filter).slice(1)]);
    if (rows.length === 0) throw noTable();
    const [create] = await look(CREATE_SQL, [name]);
    const checks = checksOf(textOf(create?.['sql']));
    return pageOf(rows, (row) => toTableColumn(row, checks));
  },
  async indexes({ schema, name }) {
    const rows = await look(INDEXES_SQL, [name, schema ?? 'main']);
    if (rows.length === 0) throw noTable();
    return indexesOf(rows, toIndex);
  },
});

/** The catalogue has no expressions and conditions; they are in the text of the index. */
function toIndex(row: Row, names: readonly (Json | undefined)[]): TableIndex {
  const text = readIndex(textOf(row['sql']));
  return {
    name: textOf(row['name']),
    columns: names.map((name, n) => textOf(name ?? text.columns[n])),
    unique: row['is_unique'] === 1,
    primary_key: row['is_key'] === 1,
    type: null,
    condition: text.condition,
  };
}

function valuesOf(filter: TableFilter): SqliteValue[] {
  const pattern = filter.search === undefined ? null : globContaining(filter.search);
  return [filter.schema ?? 'main', pattern, BigInt(filter.limit), BigInt(filter.skip)];
}

function toTable(row: Row): Table {
  return {
    schema: 'main',
    name: textOf(row['name']),
    in_path: true,
    type: row['type'] === 'virtual' ? 'virtual table' : textOf(row['type']),
    comment: null,
    ...(Number(row['relations']) > 0 ? { relations: Number(row['relations']) } : {}),
  };
}

const PARAMETERS = parameterTypes({
  integer: 'INTEGER|INT|TINYINT|SMALLINT|MEDIUMINT|BIGINT|UNSIGNED BIG INT|INT2|INT4|INT8',
  number: 'REAL|DOUBLE|DOUBLE PRECISION|FLOAT|NUMERIC|DECIMAL|NUMBER',
  boolean: 'BOOLEAN|BOOL',
  date: 'DATE',
  datetime: 'DATETIME|TIMESTAMP',
  uuid: 'UUID',
  json: 'JSON',
  bytes: 'BLOB|TINYBLOB|MEDIUMBLOB|LONGBLOB|BINARY|VARBINARY|BYTEA',
});

/**
 * A declared type can be any words and only determines an affinity (SQLite documentation, "Datatypes In SQLite", section 3.1). An
 * unknown type is compared with text, which the affinity of the column converts to a number where needed.
 */
function usesOf(declared: string): ColumnUses {
  const type = declared.toUpperCase().replace(/\s*\(.*$/s, '');
  const searchable = /CHAR|CLOB|TEXT/.test(type) && !type.includes('INT');
  return { parameter: PARAMETERS.get(type) ?? 'string', sortable: true, searchable };
}

function toTableColumn(row: Row, checks: readonly string[]): TableColumn {
  const other = row['other'];
  const choices = choicesOf(checks, textOf(row['name']));
  return {
    name: textOf(row['name']),
    type: textOf(row['type']) || 'any',
    nullable: row['required'] !== 1,
    default: typeof row['dflt_value'] === 'string' ? row['dflt_value'] : null,
    primary_key: row['pk'] === 1,
    ...(typeof other === 'string' ? { references: { schema: 'main', table: other, column: textOf(row['target']) } } : {}),
    comment: null,
    ...usesOf(textOf(row['type'])),
    ...(choices === null ? {} : { enum: [...choices] }),
  };
}
