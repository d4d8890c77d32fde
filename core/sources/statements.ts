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
import { AppError, type ErrorCode, refuseFields, TUNNEL_CODES } from '#core/errors.ts';
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

/** Errors of reaching a database, not of the statement. Saving and deploying turn them into warnings. */
const UNREACHABLE: readonly ErrorCode[] = [
  'database_unreachable',
  ...TUNNEL_CODES,
  'private_network_blocked',
  'secrets_unavailable',
  'timeout',
  'unavailable',
];
export const DESCRIBE_TIMEOUT_MS = 5_000;

export const isUnreachable = (error: unknown): error is AppError => error instanceof AppError && UNREACHABLE.includes(error.code);

/** A record whose statement was described earlier. */
export interface Described {
  readonly id: string;
  readonly connection_id: string;
}

/**
 * Compiles a definition, and has its database prepare every form of its statement. An unreachable database gives a warning, and the
 * earlier description of the same statement is used. A definition that is saved disabled may have a statement that its database
 * refuses, which is a warning too. @param earlier the record that is changed or copied.
 */
export async function prepareDefinition(
  app: WithSources,
  connection: ConnectionRow,
  definition: QueryDefinition & { readonly enabled?: boolean },
  earlier: Described | null,
): Promise<Compiled> {
  const dialect = await grammarOf(app, connection, earlier);
  const compiled = await compileQuery(definition, connection.db_type, dialect).catch(namingField('sql_query'));
  if (compiled.classification.passthrough || compiled.classification.forbidden) return compiled;
  const described = await describeForms(app, connection, compiled, definition.sql_query).catch((error: unknown) =>
    definition.enabled === false && isRefusal(error) ? error : namingField('sql_query')(error),
  );
  if (!(described instanceof AppError)) {
    const traced = await traceColumns(app, connection, compiled, definition, described);
    refuseFields(unknownMasks(definition.masks ?? [], described.columns.length === 0 ? null : traced.columns));
    return describeCompiled(compiled, definition, traced);
  }
  const what = isRefusal(described) ? REFUSED : UNCHECKED;
  const warned = { ...compiled, warnings: [...compiled.warnings, `${what}: ${described.detail}`] };
  if (isRefusal(described)) return warned;
  const known = earlier?.connection_id === connection.id ? (await readCompiled(app, [earlier.id])).get(earlier.id) : undefined;
  if (known === undefined || known.columns === null || !isSameStatement(known, compiled)) return warned;
  return describeCompiled(warned, definition, { columns: known.columns, reads: readsIn(known.statement) });
}

/** The SQL grammar that the settings of a database select. When it is unreachable, the one of the stored statement. */
export async function grammarOf(
  app: WithSources,
  connection: ConnectionRow,
  earlier: Described | null = null,
): Promise<SqlDialect> {
  const { dialect, dialects } = engineOf(connection.db_type);
  if (dialects === undefined) return dialect;
  try {
    const source = await withinTimeout(app.sources.of(connection), DESCRIBE_TIMEOUT_MS);
    return dialectNamed(await withinTimeout(source.grammar?.() ?? Promise.resolve(dialect.name), DESCRIBE_TIMEOUT_MS));
  } catch (error) {
    if (!isUnreachable(error)) throw error;
    const known = earlier === null ? undefined : (await readCompiled(app, [earlier.id])).get(earlier.id);
    return dialects.find(({ name }) => name === known?.statement.dialect) ?? dialect;
  }
}

/** Adds the origin of each column, where the database knows it, so that a column is masked under every name in the statement. */
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
  const origins = await withinTimeout(source.origins?.(form) ?? Promise.resolve([]), DESCRIBE_TIMEOUT_MS);
  const columns = described.columns.map((column, n) => ({ ...column, origin: origins[n] ?? null }));
  return { ...described, columns };
}

const isSameStatement = (one: Compiled, other: Compiled): boolean =>
  canonical(withReads(one.statement)) === canonical(withReads(other.statement));

const UNCHECKED = 'The statement was not checked';
const REFUSED = 'The database refuses the statement';

const isRefusal = (error: unknown): error is AppError => error instanceof AppError && error.code === 'sql_error';

/** Whether it was saved disabled, because its database refuses the statement. */
export const isRefused = ({ warnings }: Pick<Compiled, 'warnings'>): boolean =>
  warnings.some((warning) => warning.startsWith(REFUSED));

/** Removes the warning that the statement was not checked, or was refused. */
export function withoutUnchecked<C extends Compiled>(compiled: C): C {
  const warnings = compiled.warnings.filter((warning) => !warning.startsWith(UNCHECKED) && !warning.startsWith(REFUSED));
  return warnings.length === compiled.warnings.length ? compiled : { ...compiled, warnings };
}

/**
 * Has the database describe every form of a statement. Rejects with the error of the database when it refuses the statement.
 * @returns the description, or why the database is unreachable.
 */
export function describeForms(
  app: WithSources,
  connection: ConnectionRow,
  { statement }: Pick<Compiled, 'statement'>,
  sql: string,
): Promise<DescribedStatement | AppError> {
  return readForms(statement, sql, (forms) => describeWith(app, connection, forms));
}

/** Like `describeForms`, with an open source. Rejects when the database is unreachable. */
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

/** Rounds of describing until all forms of a statement read its parameters as the same types. */
const MAX_ROUNDS = 3;

async function readForms(
  statement: Statement,
  sql: string,
  describe: (forms: readonly Variant[]) => Promise<(Description | AppError)[] | AppError>,
): Promise<DescribedStatement | AppError> {
  const dialect = dialectNamed(statement.dialect);
  let typed = withReads(statement);
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const forms = variants(typed, dialect);
    const described = await describe(forms);
    if (described instanceof AppError) return described;
    const reads: Reads[] = [];
    for (const [n, form] of described.entries()) {
      if (form instanceof AppError) throw pointAt(form, sql, statement, forms[n]);
      reads.push(readsOf(typed, forms[n]!, form.reads ?? []));
    }
    const [whole] = described;
    if (whole === undefined || whole instanceof AppError) throw new AppError('internal', 'The statement has no form.');
    const all = (reads[0] ?? []).map(
      (first, leaf) => first?.as ?? reads.find((of_form) => of_form[leaf]?.as !== undefined)?.[leaf]?.as,
    );
    const isEqual = (of_form: Reads): boolean => of_form.every((read, leaf) => read === undefined || read.as === all[leaf]);
    if (reads.every(isEqual)) return { columns: whole.columns, reads: reads[0] ?? [] };
    typed = withReads(
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

/** Adds to an error about a form of a statement its line and column in the SQL that the author wrote. */
function pointAt(error: AppError, sql: string, statement: Statement, form: Variant | undefined): AppError {
  if (error.position === undefined || form === undefined) return error;
  const position = sourceOffset(sql, statement, dialectNamed(statement.dialect), form, error.position);
  const before = sql.slice(0, position).split('\n');
  const at = `line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}`;
  return new AppError(error.code, `${error.detail.replace(/\.$/, '')} (${at}).`, {
    cause: error.cause,
    errors: error.errors,
    position,
  });
}

/**
 * Has a database describe many statements in their longest form, with all optional blocks, which names everything that the other
 * forms do. @returns for each its description or error, or one error when the database is unreachable.
 */
export async function describeWhole(
  app: WithSources,
  connection: ConnectionRow,
  compiled: readonly Pick<Compiled, 'statement'>[],
): Promise<(DescribedStatement | AppError)[] | AppError> {
  const forms = compiled.map(({ statement }) => wholeVariant(statement, dialectNamed(statement.dialect)));
  const described = await describeWith(app, connection, forms);
  if (described instanceof AppError) return described;
  return described.map((one, n) =>
    one instanceof AppError ? one : { columns: one.columns, reads: readsOf(compiled[n]!.statement, forms[n]!, one.reads ?? []) },
  );
}

/** Identifies the database of a connection and its present schema; null when the engine cannot, or the database is unreachable. */
export async function schemaMark(app: WithSources, connection: ConnectionRow): Promise<string | null> {
  try {
    const source = await withinTimeout(app.sources.of(connection), DESCRIBE_TIMEOUT_MS);
    const mark = await withinTimeout(source.schemaMark?.() ?? Promise.resolve(null), DESCRIBE_TIMEOUT_MS);
    return mark === null ? null : `${freezeConnection(connection).pool_key} ${mark}`;
  } catch (error) {
    if (error instanceof AppError) return null;
    throw error;
  }
}

async function describeWith(
  app: WithSources,
  connection: ConnectionRow,
  statements: readonly DescribedText[],
): Promise<(Description | AppError)[] | AppError> {
  if (statements.length === 0) return [];
  try {
    const pending = app.sources.of(connection).then((source) => describeTexts(source, statements));
    const described = await withinTimeout(pending, DESCRIBE_TIMEOUT_MS);
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
export function withinTimeout<T>(work: Promise<T>, timeout_ms: number): Promise<T> {
  return withTimeout(work, timeout_ms, () => {
    throw new AppError('timeout', `The database did not answer within ${timeout_ms / 1_000} seconds.`);
  });
}

/** Replaces an artifact by a newer one, unless another one was stored since it was read. */
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

/** Stores the artifacts of entities. */
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

/** Runs work. An error without a field is reported at this one. */
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
