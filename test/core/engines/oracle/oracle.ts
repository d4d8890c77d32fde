import type { BoundType, Json } from '#core/lib/sql/result.ts';
import type { Source } from '#core/engines/shared/source.ts';
import { AppError } from '#core/errors.ts';
import { createPseudonym } from '#core/query/masks.ts';
import { runQuery } from '#core/query/query.ts';
import { NO_CALLER } from '#core/query/values.ts';
import { planOn } from '../shared/tool-call.ts';
import { type Grammar, makeCase, type OracleCase, type OracleColumn, toReference, toSql, type Use, usesOf } from './grammar.ts';
import { createRandom } from './random.ts';

/** What a database itself answers. */
export type Answer =
  | { readonly rows: readonly (readonly Json[])[] }
  /** `of_types`: it does not read the statement, whatever the values are. */
  | { readonly fault: string; readonly of_types: boolean };

/** A database of the oracle: its grammar, its literals and two ways to it. */
export interface OracleDialect extends Grammar {
  readonly db_type: Parameters<typeof planOn>[0]['db_type'];
  /**
   * Texts for a value in the place of a parameter, the best first: as the literal of its declared type, and as the column beside it
   * would read it. The first with which the database reads the statement says what is right.
   */
  readonly literals: (type: BoundType, value: Json, column: OracleColumn | null) => readonly string[];
  /** `in` or `not in` a list of such a text. */
  readonly list: (literal: string, negated: boolean) => string;
  /** A value is read as the column beside it in some places, and as its own type in others, such as a union: both are right. */
  readonly reads_either?: true;
  /** A function may take a bare NULL otherwise than one of a type: a value that is left out may be read as either. */
  readonly bare_null?: string;
  /** What a database says of a bound value and not of a literal: a call fails, and no answer is wrong. */
  readonly faults?: readonly RegExp[];
  /** Beginnings of refusals when a tool is saved, as `docs/parameters.md` lists them. */
  readonly refusals: readonly RegExp[];
}

export interface OracleDatabase {
  readonly source: Source;
  /** Runs a text over the plain driver, and rolls back what it wrote. */
  readonly ask: (text: string) => Promise<Answer>;
  readonly close: () => Promise<void>;
}

export interface Report {
  readonly agreed: number;
  /** Statements that both sides refuse. */
  readonly failed: number;
  /** Refused when saved, by the pattern of the refusal. */
  readonly refused: ReadonlyMap<string, number>;
  readonly differences: readonly string[];
}

/** Texts that are tried for one statement. */
const MOST_READINGS = 400;
/** Of which one may be that of the product. */
const MOST_EITHER = 20;
/** Statements at once. */
const AT_ONCE = 4;

/** Asks as many statements as `count` both ways. */
export async function compare(
  dialect: OracleDialect,
  database: OracleDatabase,
  { seed, count }: { readonly seed: number; readonly count: number },
): Promise<Report> {
  const refused = new Map<string, number>();
  const differences: string[] = [];
  let [agreed, failed, next] = [0, 0, 0];
  const work = async (): Promise<void> => {
    while (next < count) {
      const number = next++;
      const one = makeCase(dialect, createRandom(seed + number));
      const found = await differenceOf(dialect, database, one);
      if (found === 'agreed') agreed++;
      else if (found === 'failed') failed++;
      else if ('refusal' in found) refused.set(found.refusal.source, (refused.get(found.refusal.source) ?? 0) + 1);
      else differences.push(`TEST_SEED=${seed + number} ORACLE_CASES=1\n${found.difference}`);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return { agreed, failed, refused, differences };
}

type Found = 'agreed' | 'failed' | { readonly refusal: RegExp } | { readonly difference: string };

async function differenceOf(dialect: OracleDialect, database: OracleDatabase, one: OracleCase): Promise<Found> {
  const product = await askProduct(dialect, database.source, one);
  const refusal = 'refused' in product ? dialect.refusals.find((pattern) => pattern.test(product.refused)) : undefined;
  if (refusal !== undefined) return { refusal };
  if ('failed' in product && dialect.faults?.some((pattern) => pattern.test(product.failed)) === true) return 'failed';
  const { text, answer, is_complete } = await askDatabase(dialect, database, one);
  if ('fault' in answer) {
    // What no value makes right is refused when it is saved.
    const is_late = 'failed' in product && answer.of_types;
    if (!is_complete || !('rows' in product || is_late)) return 'failed';
  } else if ('refused' in product && !(await isRead(dialect, database, { ...one, whole: true }))) {
    // A block that these values leave out is at fault.
    return 'failed';
  } else if ('rows' in product && isSame(product.rows, answer.rows)) return 'agreed';
  else if (
    'rows' in product &&
    (dialect.reads_either ?? dialect.bare_null) &&
    (await isAnyReading(dialect, database, one, product.rows))
  )
    return 'agreed';
  const { types, values } = one;
  const lines = [
    toSql(one),
    JSON.stringify({ types, values }),
    `product   ${shown(product)}`,
    `reference ${shown(answer)}`,
    text,
  ];
  return { difference: lines.join('\n') };
}

const shown = (answer: object): string => JSON.stringify(answer).slice(0, 600);
const isSame = (one: readonly (readonly Json[])[], other: readonly (readonly Json[])[]): boolean =>
  Bun.deepEquals(one, other) || Bun.deepEquals(sorted(one), sorted(other));
/** Rows that nothing orders come in any order. */
const sorted = (rows: readonly (readonly Json[])[]): string[] => rows.map((row) => JSON.stringify(row)).toSorted();

type Product = Extract<Answer, { rows: unknown }> | { readonly refused: string } | { readonly failed: string };

/** As a tool that is saved, frozen and called. */
async function askProduct({ db_type }: OracleDialect, source: Source, one: OracleCase): Promise<Product> {
  const parameters = Object.entries(one.types).map(([name, type]) => {
    const common = { name, description: '', required: false };
    return typeof type === 'string' ? { ...common, type } : { ...common, type: 'array' as const, items: type.array };
  });
  let is_saved = false;
  try {
    const mode = one.writes ? 'write' : 'read';
    const { plan } = await planOn({ source, db_type }, toSql(one), parameters, { mode, max_rows: 10_000 });
    is_saved = true;
    const facts = { arguments: one.values, vars: {}, caller: NO_CALLER, call: { id: 'c', time: 0 } };
    const values = await plan.resolve(facts);
    const run = { source: () => source, facts, pseudonym: createPseudonym([]), ...(one.writes && { rollback: true }) };
    const { result } = await runQuery(plan, values, run);
    return { rows: result.rows.map((row) => result.columns.map(({ name }) => row[name] ?? null)) };
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return is_saved ? { failed: error.detail } : { refused: error.detail };
  }
}

interface Reference {
  readonly text: string;
  readonly answer: Answer;
  /** Every reading was tried. */
  readonly is_complete: boolean;
}

/** What the database answers with the best literals with which it reads the statement. */
async function askDatabase(dialect: OracleDialect, { ask }: OracleDatabase, one: OracleCase): Promise<Reference> {
  const choices = choicesOf(dialect, one);
  const write = (chosen: readonly Literal[], of: keyof Literal) =>
    toReference(one, (use, index) => literalOf(dialect, use, chosen[index]?.[of] ?? ''));
  let left = MOST_READINGS;
  let text = write(
    choices.flatMap(([first]) => first ?? []),
    'text',
  );
  let answer = await ask(text);
  if ('rows' in answer) return { text, answer, is_complete: true };
  for (const chosen of inOrder(choices)) {
    if (left-- === 0) return { text, answer, is_complete: false };
    // A text that is no value of a type is a fault before it is known whether the types fit.
    const types = await ask(write(chosen, 'empty'));
    if ('fault' in types && types.of_types) {
      answer = types;
      continue;
    }
    text = write(chosen, 'text');
    answer = await ask(text);
    return { text, answer, is_complete: true };
  }
  return { text, answer, is_complete: true };
}

async function isRead(dialect: OracleDialect, database: OracleDatabase, one: OracleCase): Promise<boolean> {
  const { answer } = await askDatabase(dialect, database, one);
  return 'rows' in answer || !answer.of_types;
}

/** Whether one of the next readings answers the same. */
async function isAnyReading(
  dialect: OracleDialect,
  { ask }: OracleDatabase,
  one: OracleCase,
  rows: readonly (readonly Json[])[],
): Promise<boolean> {
  const { bare_null } = dialect;
  const bare = bare_null === undefined ? [] : [{ text: bare_null, empty: bare_null }];
  const choices = choicesOf(dialect, one).map((literals) => {
    const is_null = literals.every(({ text, empty }) => text === empty);
    return is_null ? [...literals, ...bare] : literals;
  });
  let left = MOST_EITHER;
  for (const chosen of inOrder(choices)) {
    if (left-- === 0) return false;
    const answer = await ask(toReference(one, (use, index) => literalOf(dialect, use, chosen[index]?.text ?? '')));
    if ('rows' in answer && isSame(answer.rows, rows)) return true;
  }
  return false;
}

const choicesOf = (dialect: OracleDialect, one: OracleCase): Literal[][] =>
  usesOf(one).map(({ name, column }) => {
    const literals = (value: Json) => dialect.literals(one.types[name] ?? 'string', value, column);
    const empty = literals(null);
    return literals(one.values[name] ?? null).map((text, n) => ({ text, empty: empty[n] ?? text }));
  });

/** A literal, and one of its type without a value. */
interface Literal {
  readonly text: string;
  readonly empty: string;
}

/** Choices of literals, the best first. */
function* inOrder(choices: readonly (readonly Literal[])[]): Generator<readonly Literal[]> {
  const most = choices.reduce((sum, { length }) => sum + length - 1, 0);
  for (let worse = 0; worse <= most; worse++) yield* choose(choices, worse);
}

const literalOf = (dialect: OracleDialect, { list }: Use, literal: string): string =>
  list === null ? literal : dialect.list(literal, list === 'not_in');

/** Choices that are together so many steps behind the best ones. */
function* choose(choices: readonly (readonly Literal[])[], worse: number): Generator<readonly Literal[]> {
  const [first, ...rest] = choices;
  if (first === undefined) {
    if (worse === 0) yield [];
    return;
  }
  for (let step = 0; step < first.length && step <= worse; step++)
    for (const others of choose(rest, worse - step)) yield [first[step]!, ...others];
}
