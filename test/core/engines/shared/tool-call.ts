import { AjvJsonSchemaValidator } from '@modelcontextprotocol/sdk/validation/ajv';
import * as v from 'valibot';
import { Parameter } from '#core/contract/definitions/parameters.ts';
import type { FrozenPlanLimits } from '#core/contract/definitions/pages.ts';
import type { ReturnType } from '#core/contract/definitions/tools.ts';
import { describeNow } from '#core/sources/statements.ts';
import { dialectNamed, engineOf } from '#core/engines/index.ts';
import type { Json } from '#core/lib/sql/result.ts';
import { createPseudonym } from '#core/query/masks.ts';
import { planQuery, runQuery } from '#core/query/query.ts';
import { shape } from '#core/query/shape.ts';
import { NO_CALLER } from '#core/query/values.ts';
import { compileQuery, describeCompiled } from '#snapshots/freeze/compile.ts';
import type { FrozenQuery } from '#core/query/frozen-query.ts';
import type { OpenEngine } from './every-engine.ts';

type Structured = Readonly<Record<string, Json>>;

export interface CallableTool {
  readonly output_schema: Readonly<Record<string, unknown>>;
  /** What a client gets as structured content; it fits the output schema. */
  call(args: Readonly<Record<string, unknown>>): Promise<Structured>;
}

const validator = new AjvJsonSchemaValidator();

type Options = {
  readonly return_type?: ReturnType;
  readonly mode?: FrozenQuery['mode'];
  readonly max_rows?: number;
  readonly limits?: FrozenPlanLimits;
};

/** A tool as it is saved and frozen. */
export async function planOn(
  { source, db_type }: Pick<OpenEngine, 'source' | 'db_type'>,
  sql_query: string,
  parameters: readonly v.InferInput<typeof Parameter>[],
  { return_type = 'rows', mode = 'read', max_rows = 100, limits = {} }: Options = {},
) {
  const dialect = dialectNamed((await source.grammar?.()) ?? engineOf(db_type).dialect.name);
  const declared = parameters.map((parameter) => v.parse(Parameter, parameter));
  const definition = { sql_query, parameters: declared, return_type, transform_template: null };
  const compiled = await compileQuery(definition, db_type, dialect);
  const stop = new AbortController().signal;
  const described = describeCompiled(compiled, definition, await describeNow(source, compiled.statement, sql_query, stop));
  const plan = planQuery(
    {
      connection_id: 'c',
      statement: described.statement,
      mode,
      parameters: declared,
      timeout_ms: 10_000,
      max_rows,
      max_bytes: 4_000_000,
      transform_template: null,
      ...limits,
    },
    dialect,
  );
  return { plan, described };
}

/** A tool as it is described, frozen and called, without the way over HTTP. */
export async function toolOn(
  { source, db_type }: Pick<OpenEngine, 'source' | 'db_type'>,
  sql_query: string,
  parameters: readonly v.InferInput<typeof Parameter>[],
  options: Options = {},
): Promise<CallableTool> {
  const { return_type = 'rows' } = options;
  const { plan, described } = await planOn({ source, db_type }, sql_query, parameters, options);
  const output_schema = described.output_schema ?? {};
  const validate = validator.getValidator<Structured>(output_schema);
  return {
    output_schema,
    async call(args) {
      const facts = { arguments: args, vars: {}, caller: NO_CALLER, call: { id: 'c', time: 0 } };
      const values = await plan.resolve(facts);
      const { result } = await runQuery(plan, values, { source: () => source, facts, pseudonym: createPseudonym([]) });
      const { structured } = shape(result, return_type, null);
      // As it goes to a client.
      const sent: unknown = JSON.parse(JSON.stringify(structured));
      const found = validate(sent);
      if (!found.valid) {
        throw new Error(`${JSON.stringify(sent)} does not fit ${JSON.stringify(output_schema)}: ${found.errorMessage}`);
      }
      return found.data;
    },
  };
}
