import { AppError } from '#core/errors.ts';
import type { ParameterType } from '#core/lib/sql/statement.ts';
import { tokenize } from '#core/lib/sql/tokenize.ts';
import type { BoundType } from '#core/lib/sql/result.ts';
import type { DescribedText } from '#core/engines/shared/source.ts';
import { asInt4, candidatesOf, isFillable, isLossless, oidOf } from './declared.ts';
import { isCode, isServerError } from '../errors.ts';
import { scanPostgres } from '../sql/scanner.ts';
import { ARRAYS, ELEMENTS, TYPES } from './types.ts';

/** The database's description of a text. */
export interface Answer<Columns> {
  readonly columns: Columns;
  /** Types of its placeholders, in order. */
  readonly oids: readonly number[];
}
/** Prepares a text with the oids of its placeholders (0: inferred). Rejects with the server's error. */
export type Prepare<Columns> = (text: string, oids: readonly number[]) => Promise<Answer<Columns>>;

export interface Inferred<Columns> extends Answer<Columns> {
  readonly reads: readonly ParameterType[];
}

type Declared = readonly (string | null)[];
interface Settled<Columns> {
  readonly declared: Declared;
  readonly answer: Answer<Columns>;
}
interface Failed {
  readonly declared: Declared;
  readonly error: ServerError;
}
interface ServerError extends Error {
  readonly code: string;
  readonly position?: string;
}

/** SQLSTATEs for a placeholder type that could not be inferred, or was inferred wrongly. */
const NOT_INFERRED = ['42P18', '42P08', '42725', '42883', '42804'];
/** The SQLSTATEs among them whose message names the placeholder. */
const NAMED = ['42P18', '42P08'];
/** SQLSTATEs for expressions that the database compares with each other, such as those of GROUP BY and DISTINCT ON. */
const COMPARED = ['42803', '42P10'];
/** Maximum of placeholders that are tried around an error, and of descriptions of one statement. */
const MAX_SUSPECTS = 8;
const MAX_ATTEMPTS = 100;

/**
 * Finds how the database reads each use of a statement's parameters: with the inferred type if that holds every value of the
 * declared type, else with the declared type. Rejects with `invalid` for a use that accepts no value of its type, and with the
 * server's error.
 */
export async function inferTypes<Columns>(
  prepare: Prepare<Columns>,
  { text, types, declared: start, names }: DescribedText,
): Promise<Inferred<Columns>> {
  const given: Declared = types.map((_, i) => start?.[i] ?? null);
  const groups = names?.map((name) => names.indexOf(name));
  const reading = { text, types, given, ...(names !== undefined && { names }) };
  const found = await settled(prepare, reading).catch((error: unknown) => {
    if (groups === undefined || !isCode(error, ...COMPARED)) throw error;
    return null;
  });
  if (found !== null) return shared(prepare, reading, found);
  // Uses that are compared with each other must be the same placeholder.
  const { text: one, firsts, indices } = grouped(text, groups ?? []);
  const pick = <T>(list: readonly T[]): T[] => firsts.map((use) => list[use]!);
  const { declared, answer } = await settled(prepare, {
    text: one,
    types: pick(types),
    given: pick(given),
    names: pick(names ?? []),
  });
  const reads = indices.map((index) => readAs(declared[index] ?? null, 0));
  return { ...answer, reads, oids: indices.map((index) => answer.oids[index] ?? 0) };
}

interface Reading {
  readonly text: string;
  readonly types: readonly BoundType[];
  readonly given: Declared;
  readonly names?: readonly string[];
}

const readAs = (as: string | null, apart: number): ParameterType => ({
  ...(as !== null && { as }),
  ...(apart > 0 && { apart }),
});

/** Merges uses of one name and type into one placeholder, if the meaning of the statement stays the same. */
async function shared<Columns>(
  prepare: Prepare<Columns>,
  { text, names }: Reading,
  { declared, answer }: Settled<Columns>,
): Promise<Inferred<Columns>> {
  const { oids } = answer;
  if (names === undefined || new Set(names).size === names.length)
    return { ...answer, reads: declared.map((as) => readAs(as, 0)) };
  const keys = names.map((name, use) => `${oids[use]} ${name}`);
  const groups = keys.map((key) => keys.indexOf(key));
  const group_types = groups.map((first) => declared.find((as, use) => as !== null && groups[use] === first) ?? null);
  const { text: one, firsts } = grouped(text, groups);
  const together = await attempt(
    prepare,
    one,
    firsts.map((use) => group_types[use] ?? null),
  );
  const is_same = !('error' in together) && firsts.every((use, index) => together.answer.oids[index] === oids[use]);
  if (is_same) return { ...together.answer, oids, reads: numbered(names, group_types, groups) };
  return {
    ...answer,
    reads: numbered(
      names,
      declared,
      names.map((_, use) => use),
    ),
  };
}

/** Numbers the groups that have the same name and declared type. */
function numbered(names: readonly string[], declared: Declared, groups: readonly number[]): ParameterType[] {
  return names.map((name, use) => {
    const group = groups[use];
    const alike = groups.filter((_, other) => names[other] === name && declared[other] === declared[use]);
    return readAs(declared[use] ?? null, [...new Set(alike)].indexOf(group ?? use));
  });
}

/** Rewrites the text so that the uses of one group are one placeholder, numbered in order of appearance. */
function grouped(text: string, groups: readonly number[]) {
  const firsts = [...new Set(groups)];
  const indices = groups.map((group) => firsts.indexOf(group));
  const pieces = tokenize(text, { scan: scanPostgres }).map(({ kind, start, end }) => {
    const piece = text.slice(start, end);
    return kind === 'placeholder' ? `$${(indices[Number(piece.slice(1)) - 1] ?? 0) + 1}` : piece;
  });
  return { text: pieces.join(''), firsts, indices };
}

async function attempt<Columns>(prepare: Prepare<Columns>, text: string, declared: Declared): Promise<Settled<Columns> | Failed> {
  try {
    return { declared, answer: await prepare(text, declared.map(oidOf)) };
  } catch (error) {
    if (!(error instanceof Error) || !isServerError(error) || !/^(?:42|22|0A)/.test(error.code)) throw error;
    return { declared, error };
  }
}

async function settled<Columns>(prepare: Prepare<Columns>, reading: Reading): Promise<Settled<Columns>> {
  const described = await describable(prepare, reading);
  const result = await declaredWhereLost(prepare, reading, described);
  refuseUnfillable(reading, result);
  return result;
}

/** Declares the types that the database cannot infer. */
async function describable<Columns>(prepare: Prepare<Columns>, reading: Reading): Promise<Settled<Columns>> {
  const { text, types, given } = reading;
  const first = await attempt(prepare, text, given);
  if (!('error' in first)) return first;
  if (types.length === 0 || !isCode(first.error, ...NOT_INFERRED)) throw first.error;
  const found_declared = await search(prepare, reading, first, { left: MAX_ATTEMPTS });
  if (found_declared !== null) return found_declared;
  for (const which of [0, 1]) {
    const all = given.map(
      (as, i) => as ?? candidatesOf(types[i] ?? 'string').at(which) ?? candidatesOf(types[i] ?? 'string')[0]!,
    );
    const together = await attempt(prepare, text, all);
    if (!('error' in together)) return together;
  }
  throw explained(reading, first.error);
}

/**
 * Declares placeholders near an error, one by one, until the statement can be described. Candidates that move the error further
 * on are tried first.
 */
async function search<Columns>(
  prepare: Prepare<Columns>,
  reading: Reading,
  { declared, error }: Failed,
  budget: { left: number },
): Promise<Settled<Columns> | null> {
  const { text, types } = reading;
  const moved: Failed[] = [];
  for (const use of suspects(reading, declared, error)) {
    for (const candidate of candidatesOf(types[use] ?? 'string')) {
      if (budget.left-- <= 0) return null;
      const next = await attempt(prepare, text, declared.with(use, candidate));
      if (!('error' in next)) return next;
      if (isElsewhere(next.error, error)) moved.push(next);
    }
  }
  const on = moved.toSorted((one, other) => Number(isBefore(one.error, error)) - Number(isBefore(other.error, error)));
  for (const next of on) {
    const found = await search(prepare, reading, next, budget);
    if (found !== null) return found;
  }
  return null;
}

const isElsewhere = (error: ServerError, before: ServerError): boolean =>
  isCode(error, ...NOT_INFERRED) &&
  (error.position !== before.position || (isCode(error, ...NAMED) && error.message !== before.message));
const isBefore = (error: ServerError, before: ServerError): boolean =>
  !isCode(error, ...NAMED) && Number(error.position ?? 0) < Number(before.position ?? 0);

/** The zero-based number of the placeholder that an error names; -1: none. */
const namedIn = (error: ServerError): number =>
  isCode(error, ...NAMED) ? Number(/\$(\d+)/.exec(error.message)?.[1] ?? 0) - 1 : -1;

/** Undeclared uses that an error may be about, the nearest first. */
function suspects({ text, types }: Reading, declared: Declared, error: ServerError): number[] {
  const named = namedIn(error);
  const open = types.flatMap((_, use) => (declared[use] === null && (named < 0 || named === use) ? [use] : []));
  const at = Number(error.position ?? 0);
  const places = offsetsOf(text, types.length);
  const far = (use: number): number => Math.abs((places[use] ?? 0) - at);
  return open.toSorted((one, other) => far(one) - far(other)).slice(0, MAX_SUSPECTS);
}

/** The offset of each placeholder, by its zero-based number. */
function offsetsOf(text: string, count: number): number[] {
  const offsets = Array.from({ length: count }, () => -1);
  for (const { kind, start, end } of tokenize(text, { scan: scanPostgres }))
    if (kind === 'placeholder') offsets[Number(text.slice(start + 1, end)) - 1] = start;
  return offsets;
}

/** Declares placeholders whose inferred type does not hold every value, as far as the statement can still be described. */
async function declaredWhereLost<Columns>(
  prepare: Prepare<Columns>,
  { text, types }: Reading,
  described: Settled<Columns>,
): Promise<Settled<Columns>> {
  let { declared, answer } = described;
  const isLost = (use: number): boolean =>
    declared[use] === null && !isLossless(types[use] ?? 'string', answer.oids[use] ?? 0, ELEMENTS);
  for (;;) {
    const lost = types.flatMap((_, use) => (isLost(use) ? [use] : []));
    const next = lost.length === 0 ? null : await declaredMore(prepare, text, types, declared, lost);
    if (next === null) return { declared, answer };
    ({ declared, answer } = next);
  }
}

/** Declares all of some uses together, or the first of them with which the statement can be described. */
async function declaredMore<Columns>(
  prepare: Prepare<Columns>,
  text: string,
  types: readonly BoundType[],
  declared: Declared,
  uses: readonly number[],
): Promise<Settled<Columns> | null> {
  const trials = function* (): Generator<Declared> {
    const best = (use: number): string => candidatesOf(types[use] ?? 'string')[0]!;
    const all = declared.map((as, use) => (uses.includes(use) ? best(use) : as));
    yield all;
    for (const use of uses.length > 1 ? uses : []) yield declared.with(use, best(use));
    for (const use of uses) {
      const [, other] = candidatesOf(types[use] ?? 'string');
      if (other !== undefined) yield declared.with(use, other);
    }
    const wide = declared.flatMap((as, use) => (asInt4(as) === as ? [] : [use]));
    for (const use of uses)
      for (const other of wide) yield declared.with(use, best(use)).with(other, asInt4(declared[other] ?? null));
    if (all.some((as) => asInt4(as) !== as)) {
      for (const use of uses) yield declared.with(use, best(use)).map(asInt4);
      yield all.map(asInt4);
    }
  };
  for (const trial of trials()) {
    const next = await attempt(prepare, text, trial);
    if (!('error' in next)) return next;
  }
  return null;
}

const wordOf = (type: BoundType): string => (typeof type === 'string' ? type : `array of ${type.array}`);

function refuseUnfillable<Columns>({ text, types, names }: Reading, { declared, answer }: Settled<Columns>): void {
  for (const [use, type] of types.entries()) {
    const oid = answer.oids[use] ?? 0;
    if (declared[use] !== null || isFillable(type, oid, ELEMENTS)) continue;
    const inferred = TYPES.get(oid)?.name ?? 'another type';
    const parameter = names?.[use] === undefined ? `$${use + 1}` : `:${names[use]}`;
    const instead =
      typeof type === 'object' && ARRAYS.has(oid)
        ? `write = any(${parameter}) or IN (${parameter}) to compare with each element`
        : `declare a type that fits, or write a cast that says what is meant, such as cast(${parameter} as text)::${inferred}`;
    throw new AppError(
      'invalid',
      `The parameter ${parameter} is declared as ${wordOf(type)}, but the database takes it as ${inferred} here: ${instead}.`,
      { position: offsetsOf(text, types.length)[use] ?? 0 },
    );
  }
}

/** Names the parameter whose type is unknown. Other errors of the server are returned unchanged. */
function explained({ types, names }: Reading, error: ServerError): Error {
  const use = namedIn(error);
  const name = names?.[use];
  if (name === undefined) return error;
  const type = candidatesOf(types[use] ?? 'string')[0];
  return new AppError(
    'invalid',
    `The database cannot tell which type :${name} has here, and refuses it as ${type}. Write a cast, such as cast(:${name} as ${type}).`,
    { cause: error },
  );
}
