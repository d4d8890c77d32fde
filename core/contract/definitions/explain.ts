import * as v from 'valibot';
import { Id, SqlText } from '../fields.ts';
import { operation } from '../operation.ts';
import { Parameters, ValueSource } from './parameters.ts';
import { PretendedCaller } from './pretended-caller.ts';

/** One step of a query plan. */
export const PlanStep = v.object({
  depth: v.pipe(v.number(), v.description('0: the last step; a step takes its rows from the deeper ones below it')),
  operation: v.pipe(v.string(), v.description('In the words of the database')),
  table: v.nullable(v.string()),
  index: v.nullable(v.string()),
  rows: v.pipe(v.nullable(v.number()), v.description('Expected, where the database says so')),
  cost: v.nullable(v.number()),
  detail: v.nullable(v.string()),
  scan: v.pipe(v.nullable(v.picklist(['full', 'index'])), v.description('full: it reads the whole table')),
});
export type PlanStep = v.InferOutput<typeof PlanStep>;

export const Plan = v.object({
  steps: v.array(PlanStep),
  highlights: v.pipe(
    v.array(
      v.object({
        severity: v.picklist(['warning', 'info']),
        message: v.string(),
        table: v.nullable(v.string()),
        rows: v.nullable(v.number()),
      }),
    ),
    v.description('What stands out: full scans, indexes, sorts, large nested loops'),
  ),
  estimated_rows: v.nullable(v.number()),
  cost: v.pipe(v.nullable(v.number()), v.description('In units of the database')),
  text: v.pipe(v.string(), v.description('The plan as the database wrote it')),
});
export type Plan = v.InferOutput<typeof Plan>;

export const explain = {
  'preview.explain': operation('POST /preview/explain', 'write', {
    input: v.strictObject({
      connection_id: Id,
      sql_query: SqlText,
      parameters: v.optional(v.record(v.string(), v.unknown()), {}),
      from: v.pipe(v.optional(v.record(v.string(), ValueSource), {}), v.description('Sources of parameters')),
      caller: v.pipe(v.optional(PretendedCaller), v.description('The caller. Absent: no caller. Not for tokens')),
      definitions: v.pipe(v.optional(Parameters), v.description('Declared parameters; without them, types are guessed')),
    }),
    output: Plan,
    agent: 'explain_sql',
    summary: 'Ask the database how it would run a reading statement, without running it',
  }),
};
