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

/** Inferred types that hold every value of a declared one, so that the comparison is that of the column. A string is read as any type. */
const HELD: Readonly<Record<string, ReadonlySet<DuckDBTypeId>>> = {
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
  return HELD[type]?.has(inferred) ?? true;
};

/** Types that a value may be told to be, the best first: some functions take no integer of 64 bits. */
const choicesOf = (type: BoundType): readonly string[] => (type === 'integer' ? ['BIGINT', 'INTEGER'] : [nameOf(type)]);

export interface Inferred {
  readonly prepared: DuckDBPreparedStatement;
  /** The text that was prepared. */
  readonly text: string;
  readonly reads: readonly ParameterType[];
}

type Prepare = (text: string) => Promise<DuckDBPreparedStatement>;

/**
 * Finds which uses of parameters DuckDB infers a fitting type for, and what the others have to be told. Uses of one name are told apart;
 * where that is refused, as in an expression of GROUP BY, they are one. Rejects with what DuckDB says of the plain text.
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

/** DuckDB does not know them as long as it does not know a type. */
export function hasColumns(prepared: DuckDBPreparedStatement): boolean {
  try {
    for (let n = 0; n < prepared.columnCount; n++) prepared.columnType(n);
    return prepared.columnCount > 0;
  } catch {
    return false;
  }
}

/** @param firsts the placeholder that stands for each; absent: itself. */
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
  /** With the first choice that is read. What the place takes in none of its types would fail in every call. */
  const tell = async ({ type, n }: (typeof uses)[number]): Promise<DuckDBPreparedStatement | Error> => {
    let told = new Error('There is no type to tell.');
    for (const choice of choicesOf(type)) {
      casts[n] = choice;
      const prepared = await attempt();
      if (!(prepared instanceof Error)) return prepared;
      told = prepared;
    }
    return told;
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
    // What is not needed is not told.
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
      prepared = await tell(use);
      if (prepared instanceof Error) return prepared;
    }
  }
  if (prepared instanceof Error) return prepared;
  const inferred = prepared;
  return { prepared, text: castText(text, casts), reads: casts.map((as, n) => readOf(as, n, inferred)) };
}

/** Uses that DuckDB infers different types for stay apart. */
const readOf = (as: string | null, n: number, prepared: DuckDBPreparedStatement): ParameterType =>
  as === null ? { apart: typeIdOf(prepared, n) } : { as };

/** Placeholders that others stand for are not in the text. */
function typeIdOf(prepared: DuckDBPreparedStatement, n: number): DuckDBTypeId {
  try {
    return prepared.parameterTypeId(n + 1);
  } catch {
    return INVALID;
  }
}

const asError = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)));
