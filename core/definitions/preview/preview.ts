import type { Input } from '#core/contract/index.ts';
import type { Parameter, ScalarType } from '#core/contract/definitions/parameters.ts';
import { checkParameters } from '#core/lib/call/arguments.ts';
import { type CallFacts, compileValues, transformScope } from '#core/lib/call/values.ts';
import { bind, wholeVariant } from '#core/lib/sql/bind.ts';
import { classify } from '#core/lib/sql/classify.ts';
import { parameterNames, parseSql } from '#core/lib/sql/parse.ts';
import { sessionOf } from '#core/lib/call/session.ts';
import { engineOf } from '#core/engines/index.ts';
import { shape, shapeResource, toToolResult, type Transformed } from '#core/lib/call/shape.ts';
import type { TextFormat } from '#core/contract/definitions/pages.ts';
import type { ReturnType } from '#core/contract/definitions/tools.ts';
import { hasTextFormat, resultText } from '#core/lib/call/result-text.ts';
import { estimateTokens } from '#core/lib/tokens.ts';
import { parseTemplate } from '#core/lib/template/parse.ts';
import { applyTransform } from '#core/lib/template/transform.ts';
import { AppError, invalidField } from '#core/errors.ts';
import type { Context, Handlers } from '#core/run.ts';
import type { QueryResult, Source } from '#core/engines/shared/source.ts';
import { refuseFreeSql } from '#snapshots/entities.ts';
import type { Classification, Statement } from '#core/lib/sql/statement.ts';
import type { ConnectionRow } from '../source-pool.ts';
import { readServerConfig } from '../settings/config.ts';
import { ownerOf } from '../owners.ts';
import { maskedFor, pretended, withSources } from './pretended.ts';
import { atField, pointAt } from '../statements.ts';

/** Specification section 8. */
const TIMEOUT_MS = 10_000;
const MAX_BYTES = 4 * 1024 * 1024;

export const previewHandlers: Pick<Handlers, 'preview.execute' | 'preview.trial'> = {
  'preview.execute': async (context, input) => (await execute(context, input, false)).shown,
  'preview.trial': async (context, input) => {
    const { shown, affected_rows } = await execute(context, input, true);
    return { ...shown, affected_rows };
  },
};

/** Runs a statement of an author. @param writes it may write, and whatever it did is rolled back. */
async function execute(context: Context, input: Input<'preview.execute'>, writes: boolean) {
  const { connection_id, sql_query, parameters, transform_template, limit, from, masks } = input;
  const { app, signal } = context;
  const caller = pretended(context, input.caller);
  const definitions = withSources(input.definitions ?? [], from);
  const connection = await ownerOf(context, connection_id);
  const { dialect } = engineOf(connection.db_type);
  const template = transform_template ? atField('transform_template', () => parseTemplate(transform_template)) : null;
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
  if (faults.length > 0) throw new AppError('invalid', faults.map(({ message }) => message).join(' '), { errors: faults });
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
  const session = sessionOf(connection, facts) ?? undefined;
  const source = await app.sources.of(connection);
  if (writes) await refuseLasting(source);
  const started = performance.now();
  const form = wholeVariant(parsed, dialect);
  const { typed } = await source.describe(form.text, form.types).catch((error: unknown) => {
    throw error instanceof AppError ? pointAt(error, sql_query, parsed, form) : error;
  });
  const traced = masks.length === 0 ? null : ((await source.origins?.(form.text, form.types)) ?? []);
  const fetched = await source.query(bind({ ...parsed, typed }, dialect, values), {
    ...(writes ? ({ mode: 'write', rollback: true } as const) : ({ mode: 'read' } as const)),
    timeout_ms: TIMEOUT_MS,
    max_rows: limit,
    max_bytes: MAX_BYTES,
    session,
    ...(signal === undefined ? {} : { signal }),
  });
  const result = maskedFor(fetched, masks, traced, { groups: caller.identity.groups, keys: app.env.SVC_ENCRYPTION_KEY });
  const execution_time = Math.round((performance.now() - started) * 100) / 100;
  const shown = {
    columns: result.columns.map(({ name }) => name),
    column_types: result.columns.map(({ type }) => type),
    rows: result.rows,
    row_count: result.rows.length,
    execution_time,
    truncated: result.truncated,
  };
  const { affected_rows } = result;
  if (template === null) return { shown: { ...shown, ...asModel(input, result, null) }, affected_rows };
  const output = orRefusal(() => applyTransform(template, { rows: result.rows, ...transformScope(values, facts) }));
  if (output instanceof AppError) return { shown: { ...shown, transform_error: output.detail }, affected_rows };
  const transformed_result = output.kind === 'json' ? output.value : output.text;
  return { shown: { ...shown, transformed_result, ...asModel(input, result, output) }, affected_rows };
}

/** Statements that change rows and nothing else; what defines tables, or calls procedures, may commit by itself. */
const TRIED: ReadonlySet<string> = new Set(['insert', 'update', 'delete', 'replace', 'merge', 'with', 'select', 'values']);

function refuseTrial({ command, forbidden }: Classification, { name, read_only }: ConnectionRow): void {
  if (read_only)
    throw new AppError('not_read_only', `The connection ${name} is read-only, so no statement can write through it.`);
  if (forbidden) throw invalidField('sql_query', forbidden);
  const reason = notTried({ command });
  if (reason !== null) throw invalidField('sql_query', reason);
}

/** Why a statement cannot be run and rolled back, whatever the database; null: it can. */
export const notTried = ({ command }: Pick<Classification, 'command'>): string | null =>
  TRIED.has(command)
    ? null
    : `Only INSERT, UPDATE, DELETE, REPLACE, MERGE, WITH and SELECT can be run and rolled back, not ${command.toUpperCase()}.`;

async function refuseLasting(source: Source): Promise<void> {
  if (source.cannotRollBack === undefined)
    throw invalidField('sql_query', 'Sluice cannot roll back statements on this kind of database, so it does not run them here.');
  const sentence = await source.cannotRollBack();
  if (sentence !== null) throw invalidField('sql_query', sentence);
}

/** The values as the parameters declare them; a fault stands at `parameters.<name>`. */
async function checkedValues(declared: readonly Parameter[], statement: Statement, facts: CallFacts) {
  try {
    return await compileValues(declared, statement)(facts);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const errors = error.errors.map(({ field, message }) => ({ field: `parameters.${field}`, message }));
    throw new AppError(error.code, error.detail, { errors });
  }
}

function asModel(
  { return_type, text_format, mime_type }: Pick<Input<'preview.execute'>, 'return_type' | 'text_format' | 'mime_type'>,
  result: QueryResult,
  transformed: Transformed | null,
): { model?: Record<string, unknown>; format_tokens?: Readonly<Record<TextFormat, number>> } {
  if (return_type !== undefined) {
    const shaped = orRefusal(() => shape(result, return_type, transformed, { text_format }));
    return {
      ...formatTokens(result, return_type, transformed),
      model: shaped instanceof AppError ? failure(shaped) : toToolResult(shaped),
    };
  }
  if (mime_type === undefined) return {};
  const body = orRefusal(() => shapeResource(result, mime_type, transformed));
  return { model: body instanceof AppError ? failure(body) : { contents: [{ mimeType: mime_type, ...body }] } };
}

/** Estimating a longer text would take noticeable time. */
const LONGEST_ESTIMATED = 300_000;

function formatTokens(result: QueryResult, return_type: ReturnType, transformed: Transformed | null) {
  if (transformed !== null || !hasTextFormat(return_type) || result.columns.length === 0) return {};
  const { structured } = shape(result, return_type, null);
  const json = JSON.stringify(structured);
  if (json.length > LONGEST_ESTIMATED) return {};
  const of = (format: TextFormat) => estimateTokens(resultText(result, return_type, format) ?? json);
  return { format_tokens: { json: of('json'), markdown: of('markdown'), csv: of('csv'), tsv: of('tsv') } };
}

const failure = ({ detail }: AppError) => ({ content: [{ type: 'text', text: detail }], isError: true });

function orRefusal<T>(work: () => T): T | AppError {
  try {
    return work();
  } catch (error) {
    if (error instanceof AppError) return error;
    throw error;
  }
}

/** Preview has values and no declarations: the type is that of the JSON value. */
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
