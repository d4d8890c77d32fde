import type { DescribedColumn } from '#core/lib/postgres/reader.ts';
import type { LatencyStats } from '../shared/latency-stats.ts';
import { arrayOf, TYPES, type TypeInfo } from './parameters/types.ts';
import type { ParseText } from './values.ts';
import { textOf, uniqueNames } from '../shared/rows.ts';
import type { BoundStatement, Column, QueryResult, Row } from '#core/lib/sql/result.ts';
import type { RunOptions } from '#core/engines/shared/source.ts';

/** Columns as the server describes them. */
export type SourceColumns = readonly DescribedColumn[];

/** Facts that a connection learns while it is used. Its sessions share them. */
export interface Memory {
  /** Types that are not built in, by oid. */
  readonly types: Map<number, TypeInfo>;
  /** Derived once per prepared statement, which always has the same list of columns. */
  readonly plans: WeakMap<SourceColumns, Plan>;
  /** Fixed texts that once returned far more rows than the limit. They are fetched through a portal from then on. */
  readonly large: LargeTexts;
  /** Measured latencies of fixed texts. */
  readonly latencies: LatencyStats;
}

export interface LargeTexts {
  has(text: string): boolean;
  add(text: string): void;
}

const LARGE_TEXTS = 10_000;

/** Limited, because a statement that is built from values has a text for each value. */
export function createLargeTexts(most = LARGE_TEXTS): LargeTexts {
  const texts = new Set<string>();
  return {
    has: (text) => texts.has(text),
    add(text) {
      if (texts.size < most) texts.add(text);
    },
  };
}

interface Plan {
  readonly names: readonly string[];
  readonly columns: readonly Column[];
  /** Columns that are still text, because their type is not built in. */
  readonly late: readonly { readonly name: string; readonly parse: ParseText }[];
}

/** Rows as they arrived: values of unknown types are still text. */
export interface Fetched {
  readonly source: SourceColumns;
  readonly rows: Row[];
  readonly truncated: boolean;
  readonly affected_rows: number | null;
  /** Rows that a writing statement reports as changed. Null or absent: it reports none. */
  readonly direct?: number | null;
}

export interface FetchOptions extends Pick<RunOptions, 'mode' | 'max_rows' | 'max_bytes'> {
  /** Fetches in chunks and waits between them, at the cost of a round trip. */
  readonly portal: boolean;
}

export function planOf(source: SourceColumns, memory: Memory): Plan {
  const known = memory.plans.get(source);
  if (known) return known;
  const names = uniqueNames(source.map(({ name }) => name));
  const columns = source.map(({ type }, i) => {
    const { name, kind } = typeOf(type, memory) ?? { name: `type ${type}`, kind: 'string' as const };
    return { name: names[i]!, type: name, kind };
  });
  const late = source.flatMap(({ type }, i) => {
    const parse = TYPES.has(type) ? undefined : memory.types.get(type)?.parse;
    return parse === undefined ? [] : [{ name: names[i]!, parse }];
  });
  const plan = { names, columns, late };
  if (unknownTypes(source, memory).length === 0) memory.plans.set(source, plan);
  return plan;
}

export function typeOf(oid: number, memory: Pick<Memory, 'types'>): TypeInfo | undefined {
  return TYPES.get(oid) ?? memory.types.get(oid);
}

export function unknownTypes(source: SourceColumns, memory: Memory): number[] {
  if (memory.plans.has(source)) return [];
  return source.map(({ type }) => type).filter((oid) => !typeOf(oid, memory));
}

export function describedColumns(source: SourceColumns, memory: Memory): readonly Column[] {
  return planOf(source, memory).columns;
}

/** The result, once all types are known. Values of user-defined array types arrived as text. */
export function toResult({ source, rows, truncated, affected_rows }: Fetched, memory: Memory): QueryResult {
  const { columns, late } = planOf(source, memory);
  for (const { name, parse } of late) {
    for (const row of rows) {
      const value = row[name];
      if (typeof value === 'string') row[name] = parse(value);
    }
  }
  return { columns, rows, truncated, affected_rows };
}

/** The array of a domain has the same text form as that of its base type. */
const TYPES_SQL = `
select t.oid::int8 as oid, format_type(t.oid, null) as name, coalesce(nullif(e.typbasetype, 0), e.oid)::int8 as item,
  format_type(e.oid, null) as item_name, e.typdelim::text as delimiter
from pg_catalog.pg_type t left join pg_catalog.pg_type e on e.oid = t.typelem and e.typarray = t.oid
where t.oid = any($1::oid[])`;

/** Queries types by their oids; `learnTypes` reads the answer. */
export const typesQuestion = (oids: readonly number[]): BoundStatement => ({
  text: TYPES_SQL,
  values: [oids],
  types: [{ array: 'integer' }],
});

export function learnTypes(rows: readonly Row[], memory: Memory): void {
  for (const { oid, name, item, item_name, delimiter } of rows) {
    const type: TypeInfo =
      item === null
        ? { name: textOf(name), kind: 'string', parse: undefined }
        : arrayOf(textOf(item_name), TYPES.get(Number(item))?.parse, textOf(delimiter));
    memory.types.set(Number(oid), type);
  }
}
