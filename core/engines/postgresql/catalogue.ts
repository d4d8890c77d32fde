import type { ColumnUses, Table, TableColumn, TableIndex } from '#core/contract/definitions/schema.ts';
import type { BoundType, Json, Row } from '#core/lib/sql/result.ts';
import type { TableFilter, TableName } from '#core/engines/shared/source.ts';
import { regexContaining } from '#core/lib/text/search.ts';
import { NO_USES, parameterTypes, choicesOf } from '../shared/choices.ts';
import { textOf } from '../shared/rows.ts';

/** An internal catalogue query, with bound values only. */
export interface Question {
  readonly text: string;
  readonly values: readonly Json[];
  readonly types: readonly BoundType[];
}

const RELATION_KINDS = `case c.relkind when 'r' then 'table' when 'p' then 'partitioned table' when 'v' then 'view'
    when 'm' then 'materialized view' when 'f' then 'foreign table' end`;
const LISTED = `c.relkind in ('r', 'p', 'v', 'm', 'f') and n.nspname !~ '^pg_' and n.nspname <> 'information_schema'
    and has_schema_privilege(n.oid, 'usage')`;

/**
 * Each answer begins with the exact total, so that a page past the end still contains it: its single row then has a null name.
 */
export function tablesQuestion(filter: TableFilter): Question {
  const text = `
with keys as (
  select side.oid, count(distinct k.oid) as number from pg_catalog.pg_constraint k
  cross join lateral (values (k.conrelid), (k.confrelid)) as side (oid) where k.contype = 'f' group by side.oid
), found as (
  select n.nspname::text as schema, c.relname::text as name, ${RELATION_KINDS} as type,
    pg_table_is_visible(c.oid) and n.nspname = current_schema() as in_path,
    obj_description(c.oid, 'pg_class') as comment, c.reltuples::int8 as estimated_rows, keys.number as relations
  from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace left join keys on keys.oid = c.oid
  where ${LISTED} and ($1::text is null or n.nspname = $1) and ($2::text is null or c.relname ~ $2)
), page as (select * from found order by schema, name limit $3::int8 offset $4::int8)
select (select count(*) from found) as total, page.* from (select 1) as one left join page on true order by schema, name`;
  return { text, values: filterValues(filter), types: ['string', 'string', 'integer', 'integer'] };
}

/** A type has the operators of each type that it converts to without a function. Without such a catalogue no type is refused. */
const operatorsOf = (method: 'btree' | 'hash'): string => `(
      t.typtype in ('e', 'r', 'm') or not exists (select from pg_catalog.pg_opclass) or exists (
        select from pg_catalog.pg_opclass o join pg_catalog.pg_am m on m.oid = o.opcmethod
        where m.amname = '${method}' and o.opcdefault and (o.opcintype = t.oid or o.opcintype in (
          select k.casttarget from pg_catalog.pg_cast k
          where k.castsource = t.oid and k.castmethod = 'b' and k.castcontext = 'i'
        ))
      )
    )`;

/** Without a schema it finds the table on the search path of the account, else the first one by name of schema. */
export function columnsQuestion(table: TableName, filter: TableFilter): Question {
  const text = `
with recursive wanted as (
  select c.oid from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
  where ${LISTED} and c.relname = $1::text and ($2::text is null or n.nspname = $2)
  order by pg_table_is_visible(c.oid) desc, n.nspname limit 1
), domains as (
  select t.oid, t.typbasetype as base from pg_catalog.pg_type t where t.typtype = 'd'
  union all select d.oid, t.typbasetype from domains d join pg_catalog.pg_type t on t.oid = d.base where t.typtype = 'd'
), found as (
  select a.attnum, a.attname::text as name, format_type(a.atttypid, a.atttypmod) as type, not a.attnotnull as nullable,
    pg_get_expr(d.adbin, d.adrelid) as "default", col_description(a.attrelid, a.attnum) as comment,
    exists (
      select from pg_catalog.pg_constraint k where k.conrelid = a.attrelid and k.contype = 'p' and a.attnum = any(k.conkey)
    ) as primary_key, (
      select json_agg(e.enumlabel::text order by e.enumsortorder) from pg_catalog.pg_enum e where e.enumtypid = t.oid
    ) as labels, (
      select json_agg(pg_get_constraintdef(k.oid) order by k.conname) from pg_catalog.pg_constraint k
      where k.conrelid = a.attrelid and k.contype = 'c' and k.conkey = array[a.attnum]
    ) as checks, f.schema as other_schema, f.name as other, f.target,
    case when b.nspname = 'pg_catalog' then t.typname::text end as builtin, t.typtype::text as type_kind, t.typcategory::text as category,
    ${operatorsOf('btree')} as sortable, ${operatorsOf('hash')} as comparable
  from wanted join pg_catalog.pg_attribute a on a.attrelid = wanted.oid and a.attnum > 0 and not a.attisdropped
  join pg_catalog.pg_type t on t.oid = coalesce((
    select d.base from domains d join pg_catalog.pg_type base on base.oid = d.base where d.oid = a.atttypid and base.typtype <> 'd'
  ), a.atttypid)
  join pg_catalog.pg_namespace b on b.oid = t.typnamespace
  left join pg_catalog.pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
  left join lateral (
    select n.nspname::text as schema, o.relname::text as name, t.attname::text as target
    from pg_catalog.pg_constraint k
    join pg_catalog.pg_class o on o.oid = k.confrelid join pg_catalog.pg_namespace n on n.oid = o.relnamespace
    join pg_catalog.pg_attribute t on t.attrelid = k.confrelid and t.attnum = k.confkey[array_position(k.conkey, a.attnum)]
    where k.contype = 'f' and k.conrelid = a.attrelid and a.attnum = any(k.conkey)
    order by cardinality(k.conkey), k.conname limit 1
  ) f on true
  where $3::text is null or a.attname ~ $3
), page as (select * from found order by attnum limit $4::int8 offset $5::int8)
select (select count(*) from found) as total, page.* from wanted left join page on true order by attnum`;
  const [, pattern, limit, skip] = filterValues(filter);
  return {
    text,
    values: [table.name, table.schema ?? null, pattern!, limit!, skip!],
    types: ['string', 'string', 'string', 'integer', 'integer'],
  };
}

/** A column of an index that has no name is an expression. Columns that are only included come after the keys and are left out. */
export function indexesQuestion(table: TableName): Question {
  const text = `
with wanted as (
  select c.oid from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
  where ${LISTED} and c.relname = $1::text and ($2::text is null or n.nspname = $2)
  order by pg_table_is_visible(c.oid) desc, n.nspname limit 1
), found as (
  select i.relname::text as name, x.indisunique as is_unique, x.indisprimary as is_key, m.amname::text as method,
    pg_get_expr(x.indpred, x.indrelid, true) as condition, p.place, coalesce((
      select a.attname::text from pg_catalog.pg_attribute a where a.attrelid = x.indrelid and a.attnum = x.indkey[p.place - 1]
    ), pg_get_indexdef(x.indexrelid, p.place, true)) as part
  from wanted join pg_catalog.pg_index x on x.indrelid = wanted.oid
  join pg_catalog.pg_class i on i.oid = x.indexrelid left join pg_catalog.pg_am m on m.oid = i.relam
  cross join lateral generate_series(1, x.indnkeyatts) as p (place)
)
select found.* from wanted left join found on true order by found.is_key desc, found.name, found.place`;
  return { text, values: [table.name, table.schema ?? null], types: ['string', 'string'] };
}

export const toIndex = (row: Row, parts: readonly (Json | undefined)[]): TableIndex => ({
  name: textOf(row['name']),
  columns: parts.map(textOf),
  unique: row['is_unique'] === true,
  primary_key: row['is_key'] === true,
  type: textOrNull(row['method']),
  condition: textOrNull(row['condition']),
});

function filterValues({ schema, search, limit, skip }: TableFilter): Json[] {
  return [schema ?? null, search === undefined ? null : regexContaining(search), limit, skip];
}

export function toTable(row: Row): Table {
  return {
    schema: textOf(row['schema']),
    name: textOf(row['name']),
    in_path: row['in_path'] === true,
    type: textOf(row['type']),
    comment: textOrNull(row['comment']),
    // -1 means that the table was never analysed.
    ...(Number(row['estimated_rows']) > 0 ? { estimated_rows: Number(row['estimated_rows']) } : {}),
    ...(Number(row['relations']) > 0 ? { relations: Number(row['relations']) } : {}),
  };
}

export function toTableColumn(row: Row): TableColumn {
  const { other, other_schema, target } = row;
  const name = textOf(row['name']);
  const choices = Array.isArray(row['labels']) ? row['labels'].map(String) : choicesOf(texts(row['checks']), name);
  return {
    name,
    type: textOf(row['type']),
    nullable: row['nullable'] === true,
    default: textOrNull(row['default']),
    primary_key: row['primary_key'] === true,
    ...(typeof other === 'string' ? { references: { schema: textOf(other_schema), table: other, column: textOf(target) } } : {}),
    comment: textOrNull(row['comment']),
    ...usesOf(row),
    ...(choices === null ? {} : { enum: [...choices] }),
  };
}

const PARAMETERS = parameterTypes({
  integer: 'int2|int4|int8|oid',
  number: 'numeric|float4|float8',
  boolean: 'bool',
  date: 'date',
  datetime: 'timestamp|timestamptz',
  uuid: 'uuid',
  json: 'jsonb',
  bytes: 'bytea',
});

/** Uses the base type of a domain. A type without a matching parameter type is written as text, which the database parses. */
function usesOf(row: Row): ColumnUses {
  const builtin = textOf(row['builtin']);
  const sortable = row['sortable'] === true;
  // Arrays, composite types and pseudo-types.
  const is_other = ['A', 'C', 'P'].includes(textOf(row['category'])) || row['type_kind'] === 'c';
  if (is_other || !(sortable || row['comparable'] === true)) return { ...NO_USES, sortable };
  return { parameter: PARAMETERS.get(builtin) ?? 'string', sortable, searchable: row['category'] === 'S' };
}

const texts = (value: Json | undefined): string[] => (Array.isArray(value) ? value.map(String) : []);

function textOrNull(value: Json | undefined): string | null {
  return typeof value === 'string' ? value : null;
}

/** The name of each column in its table, in the requested order. */
export const originsQuestion = (columns: readonly { readonly table: number; readonly attribute: number }[]): Question => ({
  text: `
select a.attname::text as name from unnest($1::oid[], $2::int2[]) with ordinality as c (relation, attribute, place)
left join pg_catalog.pg_attribute a on a.attrelid = c.relation and a.attnum = c.attribute order by place`,
  values: [columns.map(({ table }) => table), columns.map(({ attribute }) => attribute)],
  types: [{ array: 'integer' }, { array: 'integer' }],
});

export const VERSION_SQL = `
select version() as version, (select rolsuper from pg_catalog.pg_roles where rolname = current_user) as superuser`;

/** Roles with rights outside the database. Superusers have the rights of all of them. */
export const ROLES_SQL = `
select rolname::text as name from pg_catalog.pg_roles
where rolname in ('pg_read_server_files', 'pg_write_server_files', 'pg_execute_server_program')
  and pg_has_role(current_user, oid, 'member') order by 1`;

const ROLE_WARNINGS: Readonly<Record<string, string>> = {
  pg_read_server_files: 'The account can read files of the database server (pg_read_server_files).',
  pg_write_server_files: 'The account can write files of the database server (pg_write_server_files).',
  pg_execute_server_program: 'The account can run programs on the database server (pg_execute_server_program).',
};

export function rightsWarnings(is_superuser: boolean, roles: readonly Row[]): string[] {
  if (is_superuser) {
    return [
      'The account is a superuser: it can read files and run programs on the database server. Use an account with fewer rights.',
    ];
  }
  return roles.flatMap(({ name }) => ROLE_WARNINGS[textOf(name)] ?? []);
}

/**
 * A text that changes with everything in the catalogue that a statement is prepared against: relations, columns, functions,
 * types, operators, casts, rules and views, schemas, enum labels and the search path. A changed row is a new version with another
 * `xmin`; a dropped row changes the count (PostgreSQL documentation, "System Columns").
 */
export const FINGERPRINT_SQL = `select md5(concat_ws(',', current_setting('search_path'), current_user, ${[
  ['pg_class', 'oid::bigint'],
  ['pg_attribute', 'attrelid::bigint * 4096 + attnum'],
  ['pg_proc', 'oid::bigint'],
  ['pg_type', 'oid::bigint'],
  ['pg_operator', 'oid::bigint'],
  ['pg_cast', 'oid::bigint'],
  ['pg_rewrite', 'oid::bigint'],
  ['pg_namespace', 'oid::bigint'],
  ['pg_enum', 'oid::bigint'],
]
  .map(
    ([table, key]) =>
      `(select concat(count(*), ':', sum(hashint8extended(${key}, xmin::text::bigint))) from pg_catalog.${table})`,
  )
  .join(', ')})) as fingerprint`;
