import { type DuckDBPreparedStatement, DuckDBTypeId } from '@duckdb/node-api';
import type { ParameterType } from '#core/lib/sql/statement.ts';
import type { BoundType } from '#core/lib/sql/result.ts';
import type { DuckdbText } from './requests.ts';
import { RefusedStatement } from './tree.ts';
import { castText, nameOf, sharedText } from './typed.ts';

const { BIGINT, HUGEINT, FLOAT, DOUBLE, BOOLEAN, DATE, UUID, LIST, ARRAY, INVALID } = DuckDBTypeId;
const MOMENTS = [
  DuckDBTypeId.TIMESTAMP,
  DuckDBTypeId.TIMESTAMP_S,
  DuckDBTypeId.TIMESTAMP_MS,
  DuckDBTypeId.TIMESTAMP_NS,
  DuckDBTypeId.TIMESTAMP_TZ,
] as const;

/**
 * Inferred types that hold every value of a declared type, so that the comparison uses the column's type. A string is read as any
 * type.
 */
const LOSSLESS: Readonly<Record<string, ReadonlySet<DuckDBTypeId>>> = {
  integer: new Set([BIGINT, HUGEINT]),
  number: new Set([FLOAT, DOUBLE]),
  boolean: new Set([BOOLEAN]),
  date: new Set([DATE, ...MOMENTS]),
  datetime: new Set([DATE, ...MOMENTS]),
  uuid: new Set([UUID]),
  json: new Set(),
  bytes: new Set([DuckDBTypeId.BLOB]),
};

const isHeld = (type: BoundType, inferred: DuckDBTypeId): boolean => {
  if (inferred === INVALID) return false;
  if (typeof type === 'object') return inferred === LIST || inferred === ARRAY;
  return LOSSLESS[type]?.has(inferred) ?? true;
};

/** Types to cast a placeholder to, in order of preference: some functions do not accept 64-bit integers. */
const choicesOf = (type: BoundType): readonly string[] => (type === 'integer' ? ['BIGINT', 'INTEGER'] : [nameOf(type)]);

export interface Inferred {
  readonly prepared: DuckDBPreparedStatement;
  /** The text that was prepared. */
  readonly text: string;
  readonly reads: readonly ParameterType[];
}

type Prepare = (text: string) => Promise<DuckDBPreparedStatement>;

/**
 * Finds the placeholders for which DuckDB infers a fitting type, and adds casts to the others. Each use of a parameter is a
 * separate placeholder; where that is refused, as in an expression of GROUP BY, they share one. Rejects with DuckDB's error for
 * the plain text.
 */
export async function inferTypes(prepare: Prepare, { text, types, names = [], declared = [] }: DuckdbText): Promise<Inferred> {
  const found = await infer(prepare, text, types, declared);
  if (!(found instanceof Error) && hasColumns(found.prepared)) return found;
  const firsts = types.map((_, n) => (names[n] === undefined ? n : names.indexOf(names[n])));
  const shared = firsts.every((first, n) => first === n)
    ? found
    : await infer(prepare, sharedText(text, firsts), types, declared, firsts);
  if (shared instanceof Error) throw shared;
  if (!(found instanceof Error) && !hasColumns(shared.prepared)) return found;
  return { ...shared, reads: firsts.map((first) => shared.reads[first] ?? {}) };
}

/** DuckDB does not report columns as long as a type is unknown. */
export function hasColumns(prepared: DuckDBPreparedStatement): boolean {
  try {
    for (let n = 0; n < prepared.columnCount; n++) prepared.columnType(n);
    return prepared.columnCount > 0;
  } catch {
    return false;
  }
}

/** @param firsts the placeholder that replaces each one. Absent: none is replaced. */
async function infer(
  prepare: Prepare,
  text: string,
  types: readonly BoundType[],
  declared: readonly (string | null)[],
  firsts: readonly number[] = types.map((_, n) => n),
): Promise<Inferred | Error> {
  const casts = types.map((_, n) => declared[n] ?? null);
  const attempt = (): Promise<DuckDBPreparedStatement | Error> => prepare(castText(text, casts)).catch(asError);
  const uses = types.flatMap((type, n) => (firsts[n] === n && casts[n] === null ? [{ type, n }] : []));
  /** Adds the first cast that can be prepared. If none can, every call would fail. */
  const addCast = async ({ type, n }: (typeof uses)[number]): Promise<DuckDBPreparedStatement | Error> => {
    let last_fault = new Error('There is no type to tell.');
    for (const choice of choicesOf(type)) {
      casts[n] = choice;
      const prepared = await attempt();
      if (!(prepared instanceof Error)) return prepared;
      last_fault = prepared;
    }
    return last_fault;
  };
  let prepared = await attempt();
  if (prepared instanceof Error) {
    const fault = prepared;
    if (fault instanceof RefusedStatement) return fault;
    for (const narrow of [false, true]) {
      for (const { type, n } of uses) casts[n] = choicesOf(type).at(narrow ? -1 : 0) ?? null;
      prepared = await attempt();
      if (!(prepared instanceof Error)) break;
    }
    if (prepared instanceof Error) return fault;
    // Removes casts that are not needed.
    for (const { type, n } of uses) {
      const before = casts[n] ?? null;
      casts[n] = null;
      const without = await attempt();
      if (without instanceof Error || !isHeld(type, typeIdOf(without, n))) casts[n] = before;
      else prepared = without;
    }
    prepared = await attempt();
  } else {
    const first = prepared;
    for (const use of uses) {
      if (isHeld(use.type, typeIdOf(first, use.n))) continue;
      prepared = await addCast(use);
      if (prepared instanceof Error) return prepared;
    }
  }
  if (prepared instanceof Error) return prepared;
  const inferred = prepared;
  return { prepared, text: castText(text, casts), reads: casts.map((as, n) => readOf(as, n, inferred)) };
}

/** Uses with different inferred types are not merged. */
const readOf = (as: string | null, n: number, prepared: DuckDBPreparedStatement): ParameterType =>
  as === null ? { apart: typeIdOf(prepared, n) } : { as };

/** Replaced placeholders do not occur in the text. */
function typeIdOf(prepared: DuckDBPreparedStatement, n: number): DuckDBTypeId {
  try {
    return prepared.parameterTypeId(n + 1);
  } catch {
    return INVALID;
  }
}

const asError = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)));
