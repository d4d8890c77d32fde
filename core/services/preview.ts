import type { Parameter, ScalarType } from '#core/contract/parameters.ts';
import { compileArguments } from '#core/engine/arguments.ts';
import { bind, variants } from '#core/engine/sql/bind.ts';
import { classify } from '#core/engine/sql/classify.ts';
import { parameterNames, parseSql } from '#core/engine/sql/parse.ts';
import { DIALECT_OF } from '#core/engine/sql/statement.ts';
import { parseTemplate } from '#core/engine/template/parse.ts';
import { applyTransform } from '#core/engine/template/transform.ts';
import { AppError, invalidField } from '#core/errors.ts';
import type { Handlers } from '#core/run.ts';
import type { Json, Row } from '#core/sources/source.ts';
import { readServerConfig } from './config.ts';
import { ownerOf } from './connections.ts';
import { pointAt } from './statements.ts';

/** Specification section 8. */
const TIMEOUT_MS = 10_000;
const MAX_BYTES = 4 * 1024 * 1024;

export const previewHandlers: Pick<Handlers, 'preview.execute'> = {
  'preview.execute': async (context, { connection_id, sql_query, parameters, transform_template, limit }) => {
    const { app, signal } = context;
    const connection = await ownerOf(context, connection_id);
    const dialect = DIALECT_OF[connection.db_type];
    if (dialect === null) throw invalidField('connection_id', 'This kind of database has no driver yet.');
    const template = transform_template ? parseTemplate(transform_template) : null;
    const names = parameterNames(sql_query, dialect);
    for (const name of Object.keys(parameters)) {
      if (!names.includes(name)) throw invalidField(`parameters.${name}`, `The statement has no parameter ${name}.`);
    }
    const declared = names.map((name) => guessParameter(name, parameters[name]));
    const parsed = parseSql(sql_query, dialect, declared);
    const classification = await classify(parsed);
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
        `Preview runs only statements that read: ${classification.forbidden ?? classification.reason ?? 'this one does not'}`,
      );
    }
    const values = compileArguments(declared)(parameters);
    const source = await app.sources.of(connection);
    const started = performance.now();
    const [form] = variants(parsed);
    const { typed } =
      form === undefined
        ? { typed: false }
        : await source.describe(form.text, form.types).catch((error: unknown) => {
            throw error instanceof AppError ? pointAt(error, sql_query, parsed, form) : error;
          });
    const result = await source.query(bind({ ...parsed, typed }, values), {
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
    if (template === null) return shown;
    const vars = (await readServerConfig(app)).global_variables;
    return { ...shown, ...transformed(template, result.rows, toJson(values), vars) };
  },
};

function transformed(
  template: ReturnType<typeof parseTemplate>,
  rows: Row[],
  params: Record<string, Json>,
  vars: Record<string, Json>,
) {
  try {
    const output = applyTransform(template, { rows, params, vars });
    return { transformed_result: output.kind === 'json' ? output.value : output.text };
  } catch (error) {
    if (error instanceof AppError) return { transform_error: error.detail };
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
