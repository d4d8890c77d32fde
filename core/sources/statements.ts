import type { WithSources } from '#core/sources/source-pool.ts';
import type { Platform } from '#core/platform/platform.ts';
import { dialectNamed, engineOf } from '#core/engines/index.ts';
import { and, eq, inArray, sql } from 'drizzle-orm';
import { withTimeout } from '#core/lib/with-timeout.ts';
import type { Db } from '#core/store/store.ts';
import { leavesOf, sourceOffset, type Variant, variants, wholeVariant } from '#core/lib/sql/bind.ts';
import type { SqlDialect } from '#core/lib/sql/dialect.ts';
import { type Reads, readsIn, readsOf, withReads } from '#core/lib/sql/reads.ts';
import type { Statement } from '#core/lib/sql/statement.ts';
import { AppError, type ErrorCode, type FieldError, refuseFields } from '#core/errors.ts';
import { unknownMasks } from '#core/query/masks.ts';
import type { DescribedText, Description, Source } from '#core/engines/shared/source.ts';
import type { StopSignal } from '#core/engines/shared/stop.ts';
import { canonical, checksum } from '#snapshots/format/canonical.ts';
import {
  type Compiled,
  compileQuery,
  describeCompiled,
  type DescribedStatement,
  type QueryDefinition,
} from '#snapshots/freeze/compile.ts';
import { freezeConnection } from '#snapshots/freeze/entities.ts';
import type { ConnectionRow } from './source-pool.ts';

/** Faults of the way to a database, not of the statement: a warning when something is saved or deployed. */
const UNREACHABLE: readonly ErrorCode[] = ['database_unreachable', 'private_network_blocked', 'timeout', 'unavailable'];
export const DESCRIBE_TIMEOUT_MS = 5_000;

export const isUnreachable = (error: unknown): error is AppError => error instanceof AppError && UNREACHABLE.includes(error.code);

/** A record whose statement was described before. */
export interface Described {
  readonly id: string;
  readonly connection_id: string;
}

/**
 * Compiles a definition and asks its database to prepare every form of it. A database that is down is a warning; what it said
 * of the same statement before is kept. @param earlier the record that is changed or copied.
 */
export async function prepareDefinition(
  app: WithSources,
  connection: ConnectionRow,
  definition: QueryDefinition,
  earlier: Described | null,
): Promise<Compiled> {
  const dialect = await grammarOf(app, connection, earlier);
  const compiled = await compileQuery(definition, connection.db_type, dialect).catch(namingField('sql_query'));
  if (compiled.classification.passthrough || compiled.classification.forbidden) return compiled;
  const described = await describeForms(app, connection, compiled, definition.sql_query).catch(namingField('sql_query'));
  if (!(described instanceof AppError)) {
    const traced = await traceColumns(app, connection, compiled, definition, described);
    refuseFaults(unknownMasks(definition.masks ?? [], described.columns.length === 0 ? null : traced.columns));
    return describeCompiled(compiled, definition, traced);
  }
  const warned = { ...compiled, warnings: [...compiled.warnings, `${UNCHECKED}: ${described.detail}`] };
  const known = earlier?.connection_id === connection.id ? (await readCompiled(app, [earlier.id])).get(earlier.id) : undefined;
  if (known === undefined || known.columns === null || !isSameStatement(known, compiled)) return warned;
  return describeCompiled(warned, definition, { columns: known.columns, reads: readsIn(known.statement) });
}

/** The grammar of a database as its settings make it now; when it is down, the one in which it was read before. */
export async function grammarOf(
  app: WithSources,
  connection: ConnectionRow,
  earlier: Described | null = null,
): Promise<SqlDialect> {
  const { dialect, dialects } = engineOf(connection.db_type);
  if (dialects === undefined) return dialect;
  try {
    const source = await answerWithin(app.sources.of(connection), DESCRIBE_TIMEOUT_MS);
    return dialectNamed(await answerWithin(source.grammar?.() ?? Promise.resolve(dialect.name), DESCRIBE_TIMEOUT_MS));
  } catch (error) {
    if (!isUnreachable(error)) throw error;
    const known = earlier === null ? undefined : (await readCompiled(app, [earlier.id])).get(earlier.id);
    return dialects.find(({ name }) => name === known?.statement.dialect) ?? dialect;
  }
}

/** A masked column is masked under every name that the statement gives it, where the database can tell. */
async function traceColumns(
  app: WithSources,
  connection: ConnectionRow,
  { statement }: Compiled,
  { masks = [] }: QueryDefinition,
  described: DescribedStatement,
): Promise<DescribedStatement> {
  if (masks.length === 0) return described;
  const source = await app.sources.of(connection);
  const form = wholeVariant(statement, dialectNamed(statement.dialect));
  const origins = await answerWithin(source.origins?.(form) ?? Promise.resolve([]), DESCRIBE_TIMEOUT_MS);
  const columns = described.columns.map((column, n) => ({ ...column, origin: origins[n] ?? null }));
  return { ...described, columns };
}

function refuseFaults(errors: FieldError[]): void {
  refuseFields(errors);
}

const isSameStatement = (one: Compiled, other: Compiled): boolean =>
  canonical(withReads(one.statement)) === canonical(withReads(other.statement));

const UNCHECKED = 'The statement was not checked';

/** Without the warning that it was not checked: now it was. */
export function withoutUnchecked<C extends Compiled>(compiled: C): C {
  const warnings = compiled.warnings.filter((warning) => !warning.startsWith(UNCHECKED));
  return warnings.length === compiled.warnings.length ? compiled : { ...compiled, warnings };
}

/**
 * @returns what the database says of every form of the statement, or why it could not be asked.
 * Rejects with the database's own message when it refuses the statement.
 */
export function describeForms(
  app: WithSources,
  connection: ConnectionRow,
  { statement }: Pick<Compiled, 'statement'>,
  sql: string,
): Promise<DescribedStatement | AppError> {
  return readForms(statement, sql, (forms) => askDatabase(app, connection, forms));
}

/** The same of a source that is open. Rejects when the database could not be asked. */
export async function describeNow(
  source: Source,
  statement: Statement,
  sql: string,
  signal: StopSignal,
): Promise<DescribedStatement> {
  const described = await readForms(statement, sql, (forms) => describeTexts(source, forms, signal));
  if (described instanceof AppError) throw described;
  return described;
}

/** Rounds until all forms of a statement read its parameters alike. */
const MOST_ROUNDS = 3;

async function readForms(
  statement: Statement,
  sql: string,
  ask: (forms: readonly Variant[]) => Promise<(Description | AppError)[] | AppError>,
): Promise<DescribedStatement | AppError> {
  const dialect = dialectNamed(statement.dialect);
  let asked = withReads(statement);
  for (let round = 0; round < MOST_ROUNDS; round++) {
    const forms = variants(asked, dialect);
    const described = await ask(forms);
    if (described instanceof AppError) return described;
    const reads: Reads[] = [];
    for (const [n, form] of described.entries()) {
      if (form instanceof AppError) throw pointAt(form, sql, statement, forms[n]);
      reads.push(readsOf(asked, forms[n]!, form.reads ?? []));
    }
    const [whole] = described;
    if (whole === undefined || whole instanceof AppError) throw new AppError('internal', 'The statement has no form.');
    const all = (reads[0] ?? []).map((first, leaf) => first?.as ?? reads.find((own) => own[leaf]?.as !== undefined)?.[leaf]?.as);
    const isAlike = (own: Reads): boolean => own.every((read, leaf) => read === undefined || read.as === all[leaf]);
    if (reads.every(isAlike)) return { columns: whole.columns, reads: reads[0] ?? [] };
    asked = withReads(
      statement,
      all.map((as) => (as === undefined ? undefined : { as })),
    );
  }
  const names = [...new Set(leavesOf(statement.nodes).flatMap((node) => (typeof node === 'string' ? [] : [`:${node.name}`])))];
  throw new AppError(
    'invalid',
    `With and without its optional blocks the database takes ${names.join(', ')} as different types. Write a cast of each, such as cast(${names[0]} as text).`,
  );
}

/** A database's complaint about a form of a statement, with the place in the text that its author wrote. */
export function pointAt(error: AppError, sql: string, statement: Statement, form: Variant | undefined): AppError {
  if (error.position === undefined || form === undefined) return error;
  const position = sourceOffset(sql, statement, dialectNamed(statement.dialect), form, error.position);
  const before = sql.slice(0, position).split('\n');
  const place = `line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}`;
  return new AppError(error.code, `${error.detail.replace(/\.$/, '')} (${place}).`, {
    cause: error.cause,
    errors: error.errors,
    position,
  });
}

/**
 * What a database says now of many statements whole: their optional blocks kept, which name everything that their other forms
 * do. A refusal stands in the place of its statement; the reason comes instead of everything when it could not be asked.
 */
export async function describeWhole(
  app: WithSources,
  connection: ConnectionRow,
  compiled: readonly Pick<Compiled, 'statement'>[],
): Promise<(DescribedStatement | AppError)[] | AppError> {
  const forms = compiled.map(({ statement }) => wholeVariant(statement, dialectNamed(statement.dialect)));
  const described = await askDatabase(app, connection, forms);
  if (described instanceof AppError) return described;
  return described.map((one, n) =>
    one instanceof AppError ? one : { columns: one.columns, reads: readsOf(compiled[n]!.statement, forms[n]!, one.reads ?? []) },
  );
}

/** Names the database of a connection and its schema as it is now; null where the engine cannot tell, or the database is away. */
export async function schemaMark(app: WithSources, connection: ConnectionRow): Promise<string | null> {
  try {
    const source = await answerWithin(app.sources.of(connection), DESCRIBE_TIMEOUT_MS);
    const mark = await answerWithin(source.schemaMark?.() ?? Promise.resolve(null), DESCRIBE_TIMEOUT_MS);
    return mark === null ? null : `${freezeConnection(connection).pool_key} ${mark}`;
  } catch (error) {
    if (error instanceof AppError) return null;
    throw error;
  }
}

async function askDatabase(
  app: WithSources,
  connection: ConnectionRow,
  statements: readonly DescribedText[],
): Promise<(Description | AppError)[] | AppError> {
  if (statements.length === 0) return [];
  try {
    const asked = app.sources.of(connection).then((source) => describeTexts(source, statements));
    const described = await answerWithin(asked, DESCRIBE_TIMEOUT_MS);
    const unreachable = described.find((one) => one instanceof AppError && UNREACHABLE.includes(one.code));
    return unreachable instanceof AppError ? unreachable : described;
  } catch (error) {
    if (!(error instanceof AppError) || !UNREACHABLE.includes(error.code)) throw error;
    return error;
  }
}

async function describeTexts(
  source: Source,
  statements: readonly DescribedText[],
  signal?: StopSignal,
): Promise<(Description | AppError)[]> {
  if (source.describeAll !== undefined) return source.describeAll(statements, signal);
  return Promise.all(statements.map(({ text, types }) => source.describe(text, types, signal).catch(asAppError)));
}

function asAppError(error: unknown): AppError {
  if (error instanceof AppError) return error;
  throw error;
}

/** Throws `timeout` when the database does not answer in time. */
export function answerWithin<T>(work: Promise<T>, timeout_ms: number): Promise<T> {
  return withTimeout(work, timeout_ms, () => {
    throw new AppError('timeout', `The database did not answer within ${timeout_ms / 1_000} seconds.`);
  });
}

/** Keeps a newer artifact in the place of the one it was made from; one that was written meanwhile stays. */
export async function replaceCompiled(
  app: Platform,
  tx: Db,
  entity_id: string,
  before: Compiled | undefined,
  after: Compiled,
): Promise<void> {
  if (before === undefined) return;
  const { compiled: table } = app.store.tables;
  const digest = checksum(canonical(before));
  await tx
    .update(table)
    .set({ key: after.key, digest: checksum(canonical(after)), artifact: after })
    .where(and(eq(table.entity_id, entity_id), eq(table.digest, digest)));
}

/** Keeps artifacts beside their entities. */
export async function storeCompiled(
  app: Platform,
  tx: Db,
  artifacts: readonly { readonly id: string; readonly compiled: Compiled | null }[],
): Promise<void> {
  const { compiled: table } = app.store.tables;
  const rows = artifacts.flatMap(({ id: entity_id, compiled }) =>
    compiled === null ? [] : [{ entity_id, key: compiled.key, digest: checksum(canonical(compiled)), artifact: compiled }],
  );
  if (rows.length === 0) return;
  const set = { key: sql`excluded.key`, digest: sql`excluded.digest`, artifact: sql`excluded.artifact` };
  await tx.insert(table).values(rows).onConflictDoUpdate({ target: table.entity_id, set });
}

/** A fault that names no field belongs to this one. */
export function atField<T>(field: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    return namingField(field)(error);
  }
}

const namingField =
  (field: string) =>
  (error: unknown): never => {
    if (!(error instanceof AppError) || error.errors.length > 0) throw error;
    throw new AppError(error.code, error.detail, {
      cause: error.cause,
      errors: [{ field, message: error.detail }],
      ...(error.position === undefined ? {} : { position: error.position }),
    });
  };

/** The stored artifacts of some entities, by id. */
export async function readCompiled(app: Platform, ids: readonly string[]): Promise<Map<string, Compiled>> {
  const { compiled: table } = app.store.tables;
  if (ids.length === 0) return new Map();
  const rows = await app.store.db
    .select()
    .from(table)
    .where(inArray(table.entity_id, [...ids]));
  return new Map(rows.map((row) => [row.entity_id, row.artifact as Compiled]));
}
