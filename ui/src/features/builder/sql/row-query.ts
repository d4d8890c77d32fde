import type { Parameter } from '#core/contract/definitions/parameters.ts';
import type { TableColumn } from '#core/contract/definitions/schema.ts';
import { type Arguments, toArguments } from '#ui/src/features/run/arguments.ts';
import type { Dialect } from './scan.ts';
import { isComparable, keysOf, type Named, named, parameterOf, type Source } from './table-columns.ts';
import { columnList, contains, countOf, type From, fromTables, ordering } from './table-sql.ts';

export const PAGE_ROWS = 50;

/** How a column is compared, in words. */
export const OPERATORS = {
  is: 'is',
  is_not: 'is not',
  contains: 'contains',
  at_least: 'at least',
  at_most: 'at most',
  empty: 'is empty',
  not_empty: 'is not empty',
} as const;
export type Operator = keyof typeof OPERATORS;

export interface RowFilter {
  readonly column: string;
  readonly operator: Operator;
  /** As a person types it. */
  readonly value: string;
}

export interface RowChoice {
  readonly filters: readonly RowFilter[];
  readonly order?: { readonly column: string; readonly down: boolean } | undefined;
  /** From 1. */
  readonly page: number;
}

export interface RowQuery extends Pick<Arguments, 'values'> {
  readonly sql_query: string;
  readonly definitions: Parameter[];
  /** Why a filter cannot be applied. */
  readonly fault: string | undefined;
}

const UNORDERED: ReadonlySet<TableColumn['parameter']> = new Set(['boolean', 'uuid', 'bytes']);

export const isOperator = (text: string): text is Operator => Object.hasOwn(OPERATORS, text);
export const takesValue = (operator: Operator): boolean => operator !== 'empty' && operator !== 'not_empty';

export function operatorsOf(column: TableColumn): Operator[] {
  const is_comparable = isComparable(column);
  const is_free = column.enum === undefined;
  return [
    ...(is_comparable ? (['is', 'is_not'] as const) : []),
    ...(column.searchable && is_free ? (['contains'] as const) : []),
    ...(is_comparable && column.sortable && is_free && !UNORDERED.has(column.parameter)
      ? (['at_least', 'at_most'] as const)
      : []),
    ...(column.nullable || column.searchable ? (['empty', 'not_empty'] as const) : []),
  ];
}

/** What a filter's value is declared as. SQLite stores times in whatever form they were written, and compares these texts. */
export function valueParameter({ column, parameter }: Named, operator: Operator, dialect: Dialect): Parameter {
  const is_text = operator === 'contains' || (dialect === 'sqlite' && column.parameter === 'datetime');
  const { enum: _, ...plain } = column;
  const shown = { ...plain, comment: null, parameter: 'string' as const };
  return { ...parameterOf({ column: is_text ? shown : { ...column, comment: null }, parameter }, ''), required: true };
}

/** One page of rows, and one row more if there is another page. */
export function rowQuery(source: Source, choice: RowChoice): RowQuery {
  const from = fromTables(source, []);
  const { lines, ...bound } = whereOf(source, from, choice.filters);
  const skip = (choice.page - 1) * PAGE_ROWS;
  const limit = PAGE_ROWS + 1;
  const page = source.dialect === 'clickhouse' ? `limit ${skip}, ${limit}` : `limit ${limit} offset ${skip}`;
  const sql = [`select ${columnList(source, from)}`, ...from.lines, ...lines, ...orderOf(source, from, choice.order), page];
  return { sql_query: sql.join('\n'), ...bound };
}

export function countQuery(source: Source, filters: readonly RowFilter[]): RowQuery {
  const from = fromTables(source, []);
  const { lines, ...bound } = whereOf(source, from, filters);
  return { sql_query: [`select ${countOf(source)}`, ...from.lines, ...lines].join('\n'), ...bound };
}

function whereOf(source: Source, from: From, filters: readonly RowFilter[]) {
  const found = filters.map(({ column }) => columnNamed(source, column));
  const missing = filters.find((_, n) => found[n] === undefined);
  const names = named(
    source,
    found.filter((column) => column !== undefined),
  );
  const parts = missing === undefined ? filters.flatMap((filter, n) => (names[n] ? [{ filter, name: names[n] }] : [])) : [];
  const compared = parts.filter(({ filter }) => takesValue(filter.operator));
  const definitions = compared.map(({ filter, name }) => valueParameter(name, filter.operator, source.dialect));
  const entered = Object.fromEntries(compared.map(({ filter, name }) => [name.parameter, enteredOf(filter, source.dialect)]));
  const { values, errors } = toArguments(definitions, entered);
  const wrong = compared.find(({ name }) => errors[name.parameter] !== undefined);
  return {
    lines: parts.map(
      ({ filter, name }, n) => `${n === 0 ? 'where' : '  and'} ${conditionOf(from, filter.operator, name, source.dialect)}`,
    ),
    definitions,
    values,
    fault:
      missing === undefined
        ? wrong && `${wrong.filter.column}: ${errors[wrong.name.parameter]}`
        : `The table has no column ${missing.column}.`,
  };
}

/** References of SQLite may name a column in another case. */
const columnNamed = ({ columns }: Source, name: string): TableColumn | undefined =>
  columns.find((column) => column.name === name) ?? columns.find((column) => column.name.toLowerCase() === name.toLowerCase());

/** A pattern has no other signs to escape. ClickHouse searches for the text itself. */
const enteredOf = ({ operator, value }: RowFilter, dialect: Dialect): string =>
  operator === 'contains' && dialect !== 'clickhouse' ? value.replaceAll(/[!%_]/g, '!$&') : value;

function conditionOf(from: From, operator: Operator, { column, parameter }: Named, dialect: Dialect): string {
  const name = from.of(column);
  // An empty text counts as empty, like null.
  const { searchable: is_text, nullable } = column;
  const conditions: Readonly<Record<Operator, string>> = {
    is: `${name} = :${parameter}`,
    is_not: nullable ? `(${name} <> :${parameter} or ${name} is null)` : `${name} <> :${parameter}`,
    contains: `${contains(name, dialect, parameter)}${dialect === 'clickhouse' ? '' : " escape '!'"}`,
    at_least: `${name} >= :${parameter}`,
    at_most: `${name} <= :${parameter}`,
    empty: is_text ? `(${name} is null or ${name} = '')` : `${name} is null`,
    not_empty: is_text ? `${name} <> ''` : `${name} is not null`,
  };
  return conditions[operator];
}

/** The order has to be the same on each page, so keys follow. SQLite and DuckDB read rows in a fixed order. */
function orderOf(source: Source, from: From, order: RowChoice['order']): string[] {
  const { columns, dialect } = source;
  const keys = keysOf(columns).filter(({ sortable }) => sortable);
  const first = columns.find(({ name, sortable }) => sortable && name === order?.column);
  if (first === undefined && keys.length === 0) {
    return dialect === 'duckdb' || dialect === 'sqlite' ? [] : ordering(source, from);
  }
  const parts = [
    ...(first === undefined ? [] : [`${from.of(first)}${order?.down ? ' desc' : ''}`]),
    ...keys.filter((key) => key !== first).map(from.of),
  ];
  return [`order by ${parts.join(', ')}`];
}
