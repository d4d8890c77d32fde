import type { TableColumn } from '#core/contract/definitions/schema.ts';
import { quoteName } from './completion.ts';
import { type Dialect, isPostgres } from './scan.ts';
import type { TableAddress } from './table-address.ts';
import { freeName, keysOf, type Named, type Source } from './table-columns.ts';
import type { TableLabel } from './table-labels.ts';
import { asciiName, wordsOf } from './table-words.ts';

const MOST_COLUMNS = 40;

/** The tables that a statement reads, and how it names their columns. */
export interface From {
  readonly lines: readonly string[];
  readonly of: (column: TableColumn) => string;
  /** A column with its label behind it, as parts of a select list. */
  readonly selected: (column: TableColumn) => readonly string[];
  /** The label of a foreign key, to group by. */
  readonly label: (column: TableColumn) => string | undefined;
}

/** Reads the table, and what `labels` refer to. Each join is along a primary key, so no row appears twice. */
export function fromTables(source: Source, labels: readonly TableLabel[] = source.labels ?? []): From {
  const { table, columns, dialect } = source;
  const quoted = (name: string) => quoteName(name, dialect);
  const is_joined = labels.length > 0;
  const aliases = new Set<string>();
  const aliasOf = (name: string): string => {
    const alias = freeName(/^[a-z]/.exec(asciiName(name))?.[0] ?? 't', aliases);
    aliases.add(alias);
    return alias;
  };
  const main = aliasOf(table.name);
  const outputs = new Set(columns.map(({ name }) => name.toLowerCase()));
  const joins = labels.map((label) => {
    const alias = aliasOf(label.table.name);
    const output = freeName(outputOf(label), outputs);
    outputs.add(output);
    return { label, alias, output };
  });
  const of = ({ name }: TableColumn) => (is_joined ? `${main}.${quoted(name)}` : quoted(name));
  const joinOf = (column: TableColumn) => joins.find(({ label }) => label.column === column.name);
  const textOf = ({ alias, label }: (typeof joins)[number]) => `${alias}.${quoted(label.text)}`;
  return {
    of,
    lines: [
      `from ${tableName(source)}${is_joined ? ` ${main}` : ''}`,
      ...joins.map(
        ({ alias, label }) =>
          `left join ${otherTable(source, label.table)} ${alias} on ${alias}.${quoted(label.key)} = ${main}.${quoted(label.column)}`,
      ),
    ],
    selected(column) {
      const join = joinOf(column);
      return join === undefined ? [of(column)] : [of(column), `${textOf(join)} as ${quoted(join.output)}`];
    },
    label(column) {
      const join = joinOf(column);
      return join && textOf(join);
    },
  };
}

/** `customer_name` for the name behind `customer_id`. */
const outputOf = ({ column, text }: TableLabel): string =>
  asciiName(`${wordsOf(column).replace(/ (?:id|uuid|key|code)$/, '')} ${text}`) || 'label';

export function columnList({ columns, labels = [] }: Source, from: From): string {
  if (columns.length > 0 && columns.length <= MOST_COLUMNS) return columns.flatMap((column) => from.selected(column)).join(', ');
  const foreign = columns.filter(({ name }) => labels.some(({ column }) => column === name));
  const star = foreign[0] === undefined ? '*' : from.of(foreign[0]).replace(/\..*$/s, '.*');
  return [star, ...foreign.flatMap((column) => from.selected(column).slice(1))].join(', ');
}

/** Parts of a select list. No name is that of a column, which ClickHouse would read instead. */
export function outputs({ columns, dialect }: Source, named_parts: readonly (readonly [string, string])[]): string[] {
  const taken = new Set(columns.map(({ name }) => name.toLowerCase()));
  return named_parts.map(([expression, name]) => {
    const output = freeName(name, taken);
    taken.add(output);
    return `${expression} as ${quoteName(output, dialect)}`;
  });
}

/** The number of rows, in a statement whose conditions can name any column. */
export const countOf = (source: Source): string =>
  source.dialect === 'clickhouse' ? outputs(source, [['count(*)', 'total']]).join('') : 'count(*) as total';

function tableName({ table: { schema, name, in_path }, dialect }: Source): string {
  const bare = quoteName(name, dialect);
  return in_path || schema === null ? bare : `${quoteName(schema, dialect)}.${bare}`;
}

/** A table beside one that needs no schema needs none either. */
const otherTable = (source: Source, { schema, name }: TableAddress): string =>
  tableName({
    ...source,
    table: { schema, name, comment: null, in_path: source.table.in_path && schema === source.table.schema },
  });

/** Reads no row of the table of a label, and fails where the account may not read it. */
export const labelCheck = (source: Source, { table, key, text }: TableLabel): string =>
  `select ${quoteName(key, source.dialect)}, ${quoteName(text, source.dialect)} from ${otherTable(source, table)} where 1 = 0`;

export const conditions = (from: From, filters: readonly Named[], others: readonly string[] = []): string[] =>
  filters.length + others.length === 0
    ? []
    : ['where 1 = 1', ...[...filters.map((filter) => equals(from, filter)), ...others].map((part) => `  [[ and ${part} ]]`)];

/** Pages need an order that does not change between them. */
export function ordering({ columns }: Source, from: From): string[] {
  const keys = keysOf(columns);
  const sortable = columns.filter((column) => column.sortable);
  const first = keys.length > 0 && keys.every((key) => key.sortable) ? keys : sortable.slice(0, 1);
  return first.length === 0 ? [] : [`order by ${first.map(from.of).join(', ')}`];
}

export const equals = (from: From, { column, parameter }: Named): string => `${from.of(column)} = :${parameter}`;

export const contains = (column: string, dialect: Dialect, parameter = 'text'): string => {
  if (dialect === 'mysql') return `${column} like concat('%', :${parameter}, '%')`;
  if (dialect === 'clickhouse') return `positionCaseInsensitiveUTF8(${column}, :${parameter}) > 0`;
  return `${column} ${isPostgres(dialect) ? 'ilike' : 'like'} '%' || :${parameter} || '%'`;
};

/** The month of a date as `2026-03`; null of no date. */
export const MONTHS: Readonly<Record<Dialect, (date: string) => string>> = {
  postgresql: (date) => `to_char(${date}, 'YYYY-MM')`,
  duckdb: (date) => `strftime(${date}, '%Y-%m')`,
  mysql: (date) => `date_format(${date}, '%Y-%m')`,
  sqlite: (date) => `strftime('%Y-%m', ${date})`,
  clickhouse: (date) => `formatDateTime(${date}, '%Y-%m')`,
};

/** What a day is compared with. SQLite has no type for it, and texts with a time compare as texts. */
export const dayOf = (date: string, dialect: Dialect): string => (dialect === 'sqlite' ? `date(${date})` : date);

/** A sum with all decimals of its column. */
export function sumOf(value: string, { type }: TableColumn, dialect: Dialect): string {
  // A sum of single-precision numbers is of single precision there.
  if (dialect === 'postgresql' && type === 'real') return `sum(cast(${value} as double precision))`;
  // Decimals are binary fractions in SQLite, whose sum has more digits than its parts.
  const scale = dialect === 'sqlite' ? /^(?:decimal|numeric|number)\s*\(\s*\d+\s*,\s*(\d+)\s*\)$/i.exec(type)?.[1] : undefined;
  return scale === undefined ? `sum(${value})` : `round(sum(${value}), ${scale})`;
}
