import type { Input } from '#core/contract/index.ts';
import type { Parameter, ScalarType } from '#core/contract/parameters.ts';
import { checkParameters, compileArguments } from '#core/lib/call/arguments.ts';
import { bind, wholeVariant } from '#core/lib/sql/bind.ts';
import { classify } from '#core/lib/sql/classify.ts';
import { parameterNames, parseSql } from '#core/lib/sql/parse.ts';
import { engineOf } from '#core/engines/index.ts';
import { shape, type Shaped, shapeResource, type Transformed } from '#core/lib/call/shape.ts';
import { parseTemplate } from '#core/lib/template/parse.ts';
import { applyTransform } from '#core/lib/template/transform.ts';
import { AppError, invalidField } from '#core/errors.ts';
import type { Handlers } from '#core/run.ts';
import type { Json, QueryResult } from '#core/engines/shared/source.ts';
import { readServerConfig } from './settings/config.ts';
import { ownerOf } from './owners.ts';
import { atField, pointAt } from './statements.ts';

/** Specification section 8. */
const TIMEOUT_MS = 10_000;
const MAX_BYTES = 4 * 1024 * 1024;

export const previewHandlers: Pick<Handlers, 'preview.execute'> = {
  'preview.execute': async (context, input) => {
    const { connection_id, sql_query, parameters, transform_template, limit, definitions = [] } = input;
    const { app, signal } = context;
    const connection = await ownerOf(context, connection_id);
    const { dialect } = engineOf(connection.db_type);
    const template = transform_template ? atField('transform_template', () => parseTemplate(transform_template)) : null;
    const names = parameterNames(sql_query, dialect);
    for (const name of Object.keys(parameters)) {
      if (!names.includes(name)) throw invalidField(`parameters.${name}`, `The statement has no parameter ${name}.`);
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
      throw invalidField(
        'sql_query',
        'The whole statement is a parameter. Write the statement itself.',
        'passthrough_sql_blocked',
      );
    }
    if (!classification.read_only) {
      throw new AppError(
        'not_read_only',
        `Preview runs only read-only statements. ${classification.forbidden ?? classification.reason ?? 'This one is not.'}`,
      );
    }
    const values = await checkedValues(declared, parameters);
    const source = await app.sources.of(connection);
    const started = performance.now();
    const form = wholeVariant(parsed, dialect);
    const { typed } = await source.describe(form.text, form.types).catch((error: unknown) => {
      throw error instanceof AppError ? pointAt(error, sql_query, parsed, form) : error;
    });
    const result = await source.query(bind({ ...parsed, typed }, dialect, values), {
      mode: 'read',
      timeout_ms: TIMEOUT_MS,
      max_rows: limit,
      max_bytes: MAX_BYTES,
      ...(signal === undefined ? {} : { signal }),
    });
    const execution_time = Math.round((performance.now() - started) * 100) / 100;
    const shown = {
      columns: uniqueNames(result.columns.map(({ name }) => name)),
      column_types: result.columns.map(({ type }) => type),
      rows: result.rows,
      row_count: result.rows.length,
      execution_time,
      truncated: result.truncated,
    };
    if (template === null) return { ...shown, ...asModel(input, result, null) };
    const vars = (await readServerConfig(app)).global_variables;
    const output = attempt(() => applyTransform(template, { rows: result.rows, params: toJson(values), vars }));
    if (output instanceof AppError) return { ...shown, transform_error: output.detail };
    const transformed_result = output.kind === 'json' ? output.value : output.text;
    return { ...shown, transformed_result, ...asModel(input, result, output) };
  },
};

/** The values as the parameters declare them; a fault stands at `parameters.<name>`. */
async function checkedValues(declared: readonly Parameter[], parameters: Readonly<Record<string, unknown>>) {
  try {
    return await compileArguments(declared)(parameters);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    const errors = error.errors.map(({ field, message }) => ({ field: `parameters.${field}`, message }));
    throw new AppError(error.code, error.detail, { errors });
  }
}

function asModel(
  { return_type, mime_type }: Pick<Input<'preview.execute'>, 'return_type' | 'mime_type'>,
  result: QueryResult,
  transformed: Transformed | null,
): { model?: Record<string, unknown> } {
  if (return_type !== undefined) {
    const shaped = attempt(() => shape(result, return_type, transformed));
    return { model: shaped instanceof AppError ? failure(shaped) : toolMembers(shaped) };
  }
  if (mime_type === undefined) return {};
  const body = attempt(() => shapeResource(result, mime_type, transformed));
  return { model: body instanceof AppError ? failure(body) : { contents: [{ mimeType: mime_type, ...body }] } };
}

const failure = ({ detail }: AppError) => ({ content: [{ type: 'text', text: detail }], isError: true });

/** The members of a `tools/call` result, as a host writes them. */
function toolMembers({ structured, text, media, note }: Shaped): Record<string, unknown> {
  const written = structured === null ? text : JSON.stringify(structured);
  return {
    content: [
      ...(written === null ? [] : [{ type: 'text', text: written }]),
      ...(media === null ? [] : [{ type: media.kind, data: media.data, mimeType: media.mime_type }]),
      ...(note === null ? [] : [{ type: 'text', text: note }]),
    ],
    ...(structured === null ? {} : { structuredContent: structured }),
  };
}

function attempt<T>(work: () => T): T | AppError {
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

const toJson = (values: Readonly<Record<string, Json | undefined>>): Record<string, Json> =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, value ?? null]));

/** The names under which the rows hold the columns. */
function uniqueNames(names: readonly string[]): string[] {
  const seen = new Set<string>();
  return names.map((name) => {
    let free = name;
    for (let n = 2; seen.has(free); n++) free = `${name}_${n}`;
    seen.add(free);
    return free;
  });
}
