import type { Input } from '#core/contract/index.ts';
import { transformScope } from '#core/query/values.ts';
import { bind } from '#core/lib/sql/bind.ts';
import { withReads } from '#core/lib/sql/reads.ts';
import { shape, shapeResource, toToolResult } from '#core/query/shape.ts';
import { type Transformed, applyTransform } from '#core/lib/template/transform.ts';
import type { TextFormat } from '#core/contract/definitions/pages.ts';
import type { ReturnType } from '#core/contract/definitions/tools.ts';
import { hasTextFormat, resultText } from '#core/query/result-text.ts';
import { estimateTokens } from '#core/lib/tokens.ts';
import { parseTemplate } from '#core/lib/template/parse.ts';
import { AppError, invalidField } from '#core/errors.ts';
import type { Context, Handlers } from '#core/context/context.ts';
import type { QueryResult } from '#core/lib/sql/result.ts';
import type { Source } from '#core/engines/shared/source.ts';
import { boundStatement, withinPreview } from './bound.ts';
import { maskedFor } from './pretended.ts';
import { atField, describeNow } from '#core/sources/statements.ts';

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
  const { sql_query, transform_template, limit, masks } = input;
  const { app } = context;
  const template = transform_template ? atField('transform_template', () => parseTemplate(transform_template)) : null;
  const { connection, dialect, parsed, values, facts, session, caller, form } = await boundStatement(context, input, writes);
  const source = await app.sources.of(connection);
  const { fetched, traced, took } = await withinPreview(context, async (signal, left) => {
    if (writes) await refuseLasting(source, form.text);
    const { reads } = await describeNow(source, parsed, sql_query, signal);
    const traced = masks.length === 0 ? null : ((await source.origins?.(form, signal)) ?? []);
    const started = performance.now();
    const fetched = await source.query(bind(withReads(parsed, reads), dialect, values), {
      ...(writes ? ({ mode: 'write', rollback: true } as const) : ({ mode: 'read' } as const)),
      timeout_ms: left(),
      max_rows: limit,
      max_bytes: MAX_BYTES,
      session,
      signal,
    });
    return { fetched, traced, took: performance.now() - started };
  });
  const result = maskedFor(fetched, masks, traced, { groups: caller.identity.groups, keys: app.env.SVC_ENCRYPTION_KEY });
  const execution_time = Math.round(took * 100) / 100;
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
