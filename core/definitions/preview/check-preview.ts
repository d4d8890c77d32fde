import type { Input } from '#core/contract/index.ts';
import { AppError, invalidField, refuseFields } from '#core/errors.ts';
import { checkParameters } from '#core/query/arguments.ts';
import { sessionOf } from '#core/query/session.ts';
import { type Variant, wholeVariant } from '#core/lib/sql/bind.ts';
import type { SqlDialect } from '#core/lib/sql/dialect.ts';
import type { SessionState } from '#core/engines/shared/source.ts';
import { classify } from '#core/lib/sql/classify.ts';
import { parameterNames, parseSql } from '#core/lib/sql/parse.ts';
import type { Context } from '#core/context/context.ts';
import { refuseFreeSql } from '#snapshots/freeze/entities.ts';
import { ownerOf } from '#core/definitions/owners.ts';
import { grammarOf } from '#core/sources/statements.ts';
import { readServerConfig } from '#core/settings/settings.ts';
import { pretended, withSources } from './pretended.ts';
import type { Classification, Statement } from '#core/lib/sql/statement.ts';
import type { ConnectionRow } from '#core/sources/source-pool.ts';
import { notTried } from '#core/definitions/checks/write-guard.ts';
import type { Parameter, ScalarType } from '#core/contract/definitions/parameters.ts';
import type { CallFacts } from '#core/query/value-sources.ts';
import { compileValues, type ParameterValues } from '#core/query/values.ts';
import { untilAborted, withDeadline } from '#core/engines/shared/deadline.ts';

const TIMEOUT_MS = 10_000;

/** Input of every preview of a statement, with values for its parameters. */
type PreviewInput = Pick<
  Input<'preview.explain'>,
  'connection_id' | 'sql_query' | 'parameters' | 'from' | 'caller' | 'definitions'
>;

/** A checked statement of a preview, with the values to run it with. */
export interface CheckedPreview {
  readonly connection: ConnectionRow;
  readonly dialect: SqlDialect;
  readonly parsed: Statement;
  /** A parameter without a declaration has the type of its value. */
  readonly declared: readonly Parameter[];
  readonly classification: Classification;
  readonly values: ParameterValues;
  readonly facts: CallFacts;
  /** Null: the connection sets no session values. */
  readonly session: SessionState | null;
  /** The statement with all optional blocks. */
  readonly form: Variant;
}

/** @param writes whether the statement may write. */
export async function checkPreview(context: Context, input: PreviewInput, writes: boolean): Promise<CheckedPreview> {
  const { connection_id, sql_query, parameters, from } = input;
  const { app } = context;
  const caller = pretended(context, input.caller);
  const definitions = withSources(input.definitions ?? [], from);
  const connection = await ownerOf(context, connection_id);
  const dialect = await grammarOf(app, connection);
  const names = parameterNames(sql_query, dialect);
  for (const name of Object.keys(parameters)) {
    if (!names.includes(name)) throw invalidField(`parameters.${name}`, `The statement has no parameter ${name}.`);
    const source = definitions.find((definition) => definition.name === name)?.from;
    if (source !== undefined) throw invalidField(`parameters.${name}`, `${name} is filled with ${source}. Remove the value.`);
  }
  const faults = checkParameters(definitions).map(({ field, message }) => ({
    field: `definitions${field.slice(10)}`,
    message,
  }));
  refuseFields(faults);
  const declared = names.map(
    (name) => definitions.find((definition) => definition.name === name) ?? guessParameter(name, parameters[name]),
  );
  const parsed = parseSql(sql_query, dialect, declared);
  const classification = await classify(parsed, dialect);
  if (classification.passthrough && !app.env.SVC_ALLOW_PASSTHROUGH_SQL) {
    throw invalidField('sql_query', 'The whole statement is a parameter. Write the statement itself.', 'passthrough_sql_blocked');
  }
  refuseFreeSql(classification, connection);
  if (writes) refuseTrial(classification, connection);
  else if (!classification.read_only) {
    throw new AppError(
      'not_read_only',
      `Preview runs only read-only statements. ${classification.forbidden ?? classification.reason ?? 'This one is not.'}`,
    );
  }
  const vars = (await readServerConfig(app)).global_variables;
  const facts = { arguments: parameters, vars, caller, call: { id: app.ids(), time: app.clock().getTime() } };
  const values = await checkedValues(declared, parsed, facts);
  const session = sessionOf(connection, facts);
  return { connection, dialect, parsed, declared, classification, values, facts, session, form: wholeVariant(parsed, dialect) };
}

function refuseTrial(its: Classification, { name, read_only }: ConnectionRow): void {
  if (read_only)
    throw new AppError('not_read_only', `The connection ${name} is read-only, so no statement can write through it.`);
  if (its.forbidden) throw invalidField('sql_query', its.forbidden);
  const reason = notTried(its);
  if (reason !== null) throw invalidField('sql_query', reason);
}

/** The values with the types that the parameters declare. Errors are reported at `parameters.<name>`. */
async function checkedValues(declared: readonly Parameter[], statement: Statement, facts: CallFacts) {
  try {
    return await compileValues(declared, statement, false)(facts);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const errors = error.errors.map(({ field, message }) => ({ field: `parameters.${field}`, message }));
    throw new AppError(error.code, error.detail, { errors });
  }
}

/** A parameter without a declaration. Its type is that of the JSON value. */
function guessParameter(name: string, value: unknown): Parameter {
  const common = { name, description: '', required: false };
  if (!Array.isArray(value)) return { ...common, type: scalarOf(value) };
  return { ...common, type: 'array', items: scalarOf(value.find((item) => item !== null)) };
}

function scalarOf(value: unknown): ScalarType {
  if (typeof value === 'boolean') return 'boolean';
  if (typeof value === 'number') return Number.isInteger(value) ? 'integer' : 'number';
  return typeof value === 'object' && value !== null ? 'json' : 'string';
}

/**
 * Runs the database work of a preview within one timeout: the statement has the time that its preparation left. It stops when the
 * caller disconnects. @param work gets a function that returns the remaining milliseconds.
 */
export function withinPreview<Result>(
  { signal }: Pick<Context, 'signal'>,
  work: (signal: AbortSignal, remaining: () => number) => Promise<Result>,
): Promise<Result> {
  const ends = performance.now() + TIMEOUT_MS;
  const remaining = () => Math.max(1, Math.ceil(ends - performance.now()));
  return withDeadline(TIMEOUT_MS, signal, (stop) => untilAborted(stop, work(stop, remaining)));
}
