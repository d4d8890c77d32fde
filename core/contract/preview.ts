import * as v from 'valibot';
import { Id, integerBetween, SqlText, TemplateText } from './fields.ts';
import { operation } from './operation.ts';

export const Preview = v.object({
  columns: v.array(v.string()),
  column_types: v.array(v.string()),
  rows: v.array(v.record(v.string(), v.unknown())),
  row_count: v.number(),
  execution_time: v.number(),
  truncated: v.boolean(),
  transformed_result: v.optional(v.unknown()),
  transform_error: v.optional(v.string()),
});
export type Preview = v.InferOutput<typeof Preview>;

export const preview = {
  'preview.execute': operation({
    method: 'POST',
    path: '/preview/execute',
    access: 'write',
    input: v.strictObject({
      connection_id: Id,
      sql_query: SqlText,
      parameters: v.optional(v.record(v.string(), v.unknown()), {}),
      transform_template: v.optional(TemplateText),
      limit: v.optional(integerBetween(1, 1_000), 100),
    }),
    output: Preview,
    agent: 'preview_sql',
    summary: 'Run a statement read-only, for at most 10 seconds',
  }),
};
