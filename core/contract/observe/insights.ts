import * as v from 'valibot';
import { integerBetween, listInput, listOf, textBetween, Timestamp } from '../fields.ts';
import { valuesOf } from '../marks.ts';
import { operation } from '../operation.ts';
import { INSIGHT_PERIODS, INSIGHT_RULE_NAMES, SEVERITY_CHOICES } from './insight-rules.ts';

const ToolName = v.object({ id: v.string(), name: v.string() });

/** A tool that matches a question. */
export const RankedTool = v.object({
  ...ToolName.entries,
  title: v.nullable(v.string()),
  description: v.string(),
  score: v.pipe(v.number(), v.description('Compares within one answer only')),
  matched: v.pipe(v.array(v.string()), v.description('Words of the question that its name, texts or parameters have')),
});
export type RankedTool = v.InferOutput<typeof RankedTool>;

/** Two tools that match a question almost equally well. */
export const ToolOverlap = v.object({
  tools: v.array(
    v.object({
      ...ToolName.entries,
      only: v.pipe(v.array(v.string()), v.description('Words of the question that the other one does not have')),
    }),
  ),
  words: v.pipe(v.array(v.string()), v.description('Words of the question that both have')),
  message: v.string(),
});
export type ToolOverlap = v.InferOutput<typeof ToolOverlap>;

export const InsightRule = v.picklist(INSIGHT_RULE_NAMES);
export const InsightPeriod = v.picklist(INSIGHT_PERIODS);

const count = v.number();
/** A finding about the use of the server that administrators should know or act on. */
export const Insight = v.object({
  id: v.pipe(v.string(), v.description('The same as long as the finding is about the same')),
  rule: InsightRule,
  severity: v.picklist(valuesOf(SEVERITY_CHOICES)),
  entity: v.object({ kind: v.picklist(['tool', 'connection', 'token']), id: v.nullable(v.string()), name: v.string() }),
  other: v.pipe(v.nullable(ToolName), v.description('The tool that is confused with it')),
  message: v.pipe(v.string(), v.description('What happens')),
  advice: v.pipe(v.string(), v.description('What to do')),
  evidence: v.object({
    count,
    of: v.pipe(count, v.description('Calls that were looked at')),
    share: v.pipe(count, v.description('0 to 1')),
    first_at: v.nullable(Timestamp),
    last_at: v.nullable(Timestamp),
  }),
  calls: v.pipe(v.array(v.string()), v.description('Ids of the newest calls behind it, for `GET logs/{id}`')),
  logs: v.pipe(
    v.nullable(v.record(v.string(), v.string())),
    v.description('Query of `GET logs` for the calls behind it; null: they are refused requests, or none'),
  ),
  fix: v.optional(
    v.pipe(
      v.object({
        label: v.string(),
        entity: v.object({ kind: v.picklist(['tool', 'connection']), id: v.string() }),
        changes: v.record(v.string(), v.unknown()),
      }),
      v.description('`changes` is the body of a PATCH of the entity, with its version'),
    ),
  ),
});
export type Insight = v.InferOutput<typeof Insight>;

export const insights = {
  'insights.list': operation('GET /insights', 'read', {
    input: v.strictObject({
      ...listInput(200),
      period: v.optional(InsightPeriod, '24h'),
      rule: v.optional(InsightRule),
    }),
    output: v.object({ ...listOf(Insight).entries, period: InsightPeriod, since: Timestamp }),
    agent: 'get_insights',
    summary: 'List what callers have trouble with, the most serious first, with the calls behind it and a fix where there is one',
  }),
  'insights.find': operation('POST /insights/find', 'read', {
    input: v.strictObject({
      question: v.pipe(textBetween(1, 2_000), v.description('What a person would ask a model')),
      toolset: v.pipe(v.optional(textBetween(1, 64)), v.description('Only the tools of this toolset, as its callers see them')),
      limit: v.optional(integerBetween(1, 50), 10),
    }),
    output: v.object({
      items: v.array(RankedTool),
      total: v.number(),
      overlaps: v.array(ToolOverlap),
    }),
    summary:
      'Rank the tools of the working copy that a model would choose for a question, by the words of names, texts and parameters',
  }),
};
