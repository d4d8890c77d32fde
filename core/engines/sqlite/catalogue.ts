import type { Table, TableColumn } from '#core/contract/schema.ts';
import { textOf } from '../shared/rows.ts';
import type { Row } from '../shared/source.ts';

/**
 * Our own statements about the schema. Each begins with the exact total, so that a page behind the end still tells it:
 * its one row then has a null name.
 */
export const SCHEMA_SQL = `SELECT json_group_array(json_array(type, name, sql)) AS schema
  FROM (SELECT type, name, sql FROM sqlite_schema ORDER BY type, name)`;
export const TABLES_SQL = `
WITH found AS (
  SELECT name, type FROM pragma_table_list
  WHERE schema = 'main' AND schema = ?1 AND type IN ('table', 'view', 'virtual') AND name NOT LIKE 'sqlite!_%' ESCAPE '!'
    AND (?2 IS NULL OR name GLOB ?2)
), page AS (SELECT name, type FROM found ORDER BY name LIMIT ?3 OFFSET ?4)
SELECT (SELECT count(*) FROM found) AS total, page.name, page.type FROM (SELECT 1) LEFT JOIN page ORDER BY page.name`;

export const COLUMNS_SQL = `
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

export function toTable(row: Row): Table {
  return {
    schema: 'main',
    name: textOf(row['name']),
    type: row['type'] === 'virtual' ? 'virtual table' : textOf(row['type']),
    comment: null,
  };
}

export function toTableColumn(row: Row): TableColumn {
  const other = row['other'];
  return {
    name: textOf(row['name']),
    type: textOf(row['type']) || 'any',
    nullable: row['required'] !== 1,
    default: typeof row['dflt_value'] === 'string' ? row['dflt_value'] : null,
    primary_key: row['pk'] === 1,
    ...(typeof other === 'string' ? { references: { schema: 'main', table: other, column: textOf(row['target']) } } : {}),
    comment: null,
  };
}
