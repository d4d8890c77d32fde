import type { Input } from '#core/contract/index.ts';
import type { FrozenQuery } from '#core/query/frozen-query.ts';
import { createPseudonym, toRules } from '#core/query/masks.ts';
import { planQuery, type RunRecord, runQuery, transformRows } from '#core/query/query.ts';
import { modeOf, planLimitsOf } from '#snapshots/freeze/entities.ts';
import type { StopSignal } from '#core/engines/shared/stop.ts';
import { withReads } from '#core/lib/sql/reads.ts';
import { shape, shapeResource, toToolResult } from '#core/query/shape.ts';
import type { Transformed } from '#core/lib/template/transform.ts';
import type { TextFormat } from '#core/contract/definitions/pages.ts';
import type { ReturnType } from '#core/contract/definitions/tools.ts';
import { hasTextFormat, resultText } from '#core/query/text-formats.ts';
import { estimateTokens } from '#core/lib/tokens.ts';
import { parseTemplate } from '#core/lib/template/parse.ts';
import { AppError, invalidField } from '#core/errors.ts';
import type { Context, Handlers } from '#core/context/context.ts';
import type { QueryResult } from '#core/lib/sql/result.ts';
import type { Source } from '#core/engines/shared/source.ts';
import { refusePlanLimits } from '../checks/plan-limits.ts';
import { type CheckedPreview, checkPreview, withinPreview } from './check-preview.ts';
import { atField, describeNow } from '#core/sources/statements.ts';

const MAX_BYTES = 4 * 1024 * 1024;

export const previewHandlers: Pick<Handlers, 'preview.execute' | 'preview.trial'> = {
  'preview.execute': async (context, input) => (await execute(context, input, false)).shown,
  'preview.trial': async (context, input) => {
    const { shown, affected_rows } = await execute(context, input, true);
    return { ...shown, affected_rows };
  },
};

/** Runs a statement of an author. @param writes whether the statement may write. Its changes are rolled back. */
async function execute(context: Context, input: Input<'preview.execute'>, writes: boolean) {
  const { transform_template } = input;
  const { app } = context;
  const template = transform_template ? atField('transform_template', () => parseTemplate(transform_template)) : null;
  const checked = await checkPreview(context, input, writes);
  refusePlanLimits(input, !writes, checked.connection.db_type);
  const { dialect, values, facts, session } = checked;
  const source = await app.sources.of(checked.connection);
  const record: RunRecord = { wait_ms: 0, query_from: 0, query_to: 0, committed: false };
  const { result } = await withinPreview(context, async (signal, left) => {
    if (writes) await refuseLasting(source, checked.form.text);
    const query = await freezeDraft(checked, source, input, writes, signal);
    return runQuery(planQuery({ ...query, timeout_ms: left() }, dialect), values, {
      source: () => source,
      signal,
      facts,
      session,
      pseudonym: createPseudonym(app.env.SVC_ENCRYPTION_KEY),
      rollback: writes,
      record,
    });
  });
  const execution_time = Math.round((record.query_to - record.query_from) * 100) / 100;
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
  const output = orRefusal(() => transformRows(template, result, values, facts));
  if (output instanceof AppError) return { shown: { ...shown, transform_error: output.detail }, affected_rows };
  const transformed_result = output.kind === 'json' ? output.value : output.text;
  return { shown: { ...shown, transformed_result, ...asModel(input, result, output) }, affected_rows };
}

/** Freezes the statement as a deploy would, without its template: an author sees the rows that a template fails on. */
async function freezeDraft(
  { connection, parsed, declared, classification, form }: CheckedPreview,
  source: Source,
  { sql_query, masks, limit, ...draft }: Input<'preview.execute'>,
  writes: boolean,
  signal: StopSignal,
): Promise<FrozenQuery> {
  const { reads, columns } = await describeNow(source, parsed, sql_query, signal);
  const origins = masks.length === 0 ? [] : ((await source.origins?.(form, signal)) ?? []);
  const traced = columns.map((column, n) => ({ ...column, origin: origins[n] ?? null }));
  return {
    connection_id: connection.id,
    statement: withReads(parsed, reads),
    mode: modeOf(!writes, { classification }),
    parameters: declared,
    timeout_ms: connection.query_timeout_ms,
    max_rows: limit,
    max_bytes: Math.min(MAX_BYTES, connection.max_bytes),
    transform_template: null,
    ...planLimitsOf(draft),
    ...(masks.length === 0 ? {} : { masks: toRules(masks, columns.length === 0 ? null : traced) }),
  };
}

async function refuseLasting(source: Source, text: string): Promise<void> {
  if (source.cannotRollBack === undefined)
    throw invalidField('sql_query', 'Sluice cannot roll back statements on this kind of database, so it does not run them here.');
  const sentence = await source.cannotRollBack(text);
  if (sentence !== null) throw invalidField('sql_query', sentence);
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
