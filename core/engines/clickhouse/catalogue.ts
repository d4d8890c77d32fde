import type { ColumnUses, Table, TableColumn, TableIndex } from '#core/contract/definitions/schema.ts';
import { listParts } from '#core/lib/sql/index-text.ts';
import { parameterTypes } from '../shared/choices.ts';
import { noTable, textOf } from '../shared/rows.ts';
import type { Row } from '#core/lib/sql/result.ts';
import type { Catalogue, TableFilter } from '#core/engines/shared/source.ts';
import type { Ability } from './ability.ts';
import { bare, isNullable, parseType, wordsOf } from './types.ts';

/** Old servers have no query parameters. Hexadecimal digits cannot end the literal. */
const valueText = (text: string): string => `unhex('${Buffer.from(text, 'utf8').toString('hex')}')`;

const schemaText = (schema: string | undefined): string => (schema === undefined ? 'currentDatabase()' : valueText(schema));
/** Excludes system databases, which are the same on every server. */
const USER_DATABASES = "database NOT IN ('system', 'INFORMATION_SCHEMA', 'information_schema')";

const containing = (column: string, { search }: TableFilter): string =>
  search === undefined ? '' : ` AND positionCaseInsensitiveUTF8(${column}, ${valueText(search)}) > 0`;

const pageText = ({ skip, limit }: TableFilter): string => `LIMIT ${Math.trunc(skip)}, ${Math.trunc(limit)}`;

/** A hash of all tables and columns that statements can use. */
export const MARK_SQL = `SELECT toString(count()) AS n, toString(groupBitXor(cityHash64(database, table, name, type, default_expression))) AS mark
  FROM system.columns WHERE ${USER_DATABASES}`;

/** @param look runs an internal statement. */
export function createCatalogue(look: (text: string) => Promise<Row[]>, ability: () => Promise<Ability>): Catalogue {
  const totalOf = async (from: string): Promise<number> =>
    Number((await look(`SELECT count() AS total ${from}`))[0]?.['total'] ?? 0);
  return {
    async tables(filter) {
      const from = `FROM system.tables WHERE ${USER_DATABASES} AND database = ${schemaText(filter.schema)}${containing('name', filter)}`;
      const comment = (await ability()).comments ? 'comment' : "'' AS comment";
      const [total, rows] = await Promise.all([
        totalOf(from),
        look(
          `SELECT database, name, engine, ${comment}, toUInt8(database = currentDatabase()) AS in_path ${from} ORDER BY name ${pageText(filter)}`,
        ),
      ]);
      return { items: rows.map(toTable), total };
    },
    async columns({ schema, name }, filter) {
      const table = `${USER_DATABASES} AND database = ${schemaText(schema)} AND table = ${valueText(name)}`;
      const from = `FROM (SELECT *, rowNumberInAllBlocks() AS place FROM system.columns WHERE ${table}) WHERE 1 = 1${containing('name', filter)}`;
      const [present, total, rows] = await Promise.all([
        totalOf(`FROM system.columns WHERE ${table}`),
        totalOf(from),
        look(
          `SELECT name, type, default_kind, default_expression, comment, is_in_primary_key ${from} ORDER BY place ${pageText(filter)}`,
        ),
      ]);
      if (present === 0) throw noTable();
      return { items: rows.map(toTableColumn), total };
    },
    async indexes({ schema, name }) {
      const table = `${USER_DATABASES} AND database = ${schemaText(schema)}`;
      const [row] = await look(`SELECT sorting_key, primary_key FROM system.tables WHERE ${table} AND name = ${valueText(name)}`);
      if (row === undefined) throw noTable();
      const skipping = (await ability()).skipping_indexes
        ? await look(
            `SELECT name, type, expr FROM system.data_skipping_indices WHERE ${table} AND table = ${valueText(name)} ORDER BY name`,
          )
        : [];
      return [...keysOf(row), ...skipping.map(toIndex)];
    },
  };
}

/** The primary key is a prefix of the sorting key, and usually all of it. Neither is unique. */
function keysOf(row: Row): TableIndex[] {
  const sorting = listParts(textOf(row['sorting_key']));
  const primary = listParts(textOf(row['primary_key']));
  const key = { unique: false, condition: null };
  return [
    ...(primary.length > 0 && primary.length < sorting.length
      ? [{ ...key, name: 'PRIMARY KEY', columns: primary, primary_key: true, type: 'primary key' }]
      : []),
    ...(sorting.length > 0
      ? [{ ...key, name: 'ORDER BY', columns: sorting, primary_key: primary.length === sorting.length, type: 'sorting key' }]
      : []),
  ];
}

const toIndex = (row: Row): TableIndex => ({
  name: textOf(row['name']),
  columns: listParts(textOf(row['expr'])),
  unique: false,
  primary_key: false,
  type: textOf(row['type']) || null,
  condition: null,
});

const KINDS: Readonly<Record<string, string>> = { View: 'view', MaterializedView: 'materialized view', Dictionary: 'dictionary' };

const toTable = (row: Row): Table => ({
  schema: textOf(row['database']),
  name: textOf(row['name']),
  in_path: Number(row['in_path']) === 1,
  type: KINDS[textOf(row['engine'])] ?? 'table',
  comment: textOf(row['comment']) || null,
});

const SIZES = [8, 16, 32, 64, 128, 256];
const PARAMETERS = parameterTypes({
  integer: SIZES.flatMap((bits) => [`Int${bits}`, `UInt${bits}`]).join('|'),
  number: 'Float32|Float64|Decimal',
  boolean: 'Bool',
  date: 'Date|Date32',
  datetime: 'DateTime|DateTime64',
  uuid: 'UUID',
  string: 'String|FixedString|Enum8|Enum16|IPv4|IPv6',
});

function usesOf(name: string): ColumnUses {
  const parameter = PARAMETERS.get(name) ?? null;
  return { parameter, sortable: parameter !== null, searchable: name === 'String' || name === 'FixedString' };
}

function toTableColumn(row: Row): TableColumn {
  const type = parseType(textOf(row['type']));
  const inner = bare(type);
  const choices = inner.name.startsWith('Enum') ? wordsOf(inner) : [];
  return {
    name: textOf(row['name']),
    type: textOf(row['type']),
    nullable: isNullable(type),
    default: row['default_kind'] === '' ? null : textOf(row['default_expression']) || null,
    primary_key: Number(row['is_in_primary_key']) === 1,
    comment: textOf(row['comment']) || null,
    ...usesOf(inner.name),
    ...(choices.length > 0 && choices.length <= 100 ? { enum: choices } : {}),
  };
}
