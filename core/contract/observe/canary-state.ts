import * as v from 'valibot';
import { integerBetween, StoredActor, Timestamp } from '../fields.ts';
import { valuesOf } from '../marks.ts';

const limit = <T extends v.GenericSchema<number, number>>(schema: T, description: string, otherwise: number) =>
  v.pipe(v.optional(v.nullable(schema), otherwise), v.description(description));

/** Settings of a canary run. Limits apply once the canary has had `min_calls` calls. */
export const CanaryPlan = v.strictObject({
  percent: v.pipe(v.optional(integerBetween(1, 50), 10), v.description('Share of callers that are served the canary')),
  minutes: v.pipe(v.optional(integerBetween(1, 120), 10), v.description('Minutes until it is promoted automatically')),
  max_error_rate: limit(
    v.pipe(v.number(), v.minValue(0), v.maxValue(1)),
    'Aborts above this share of failed calls; null: no limit',
    0.05,
  ),
  max_p95_ratio: limit(
    v.pipe(v.number(), v.minValue(1), v.maxValue(1_000)),
    'Aborts above this multiple of the live p95; null: no limit',
    3,
  ),
  min_calls: v.pipe(
    v.optional(integerBetween(1, 1_000_000), 50),
    v.description('Calls before its limits count; for the p95, of both sides'),
  ),
});
export type CanaryPlan = v.InferOutput<typeof CanaryPlan>;

/**
 * Calls on one side, over all hosts, each counted once. Percentiles are within 2% of the measured duration and exclude time in
 * the queue.
 */
export const CanarySide = v.object({
  calls: v.number(),
  errors: v.number(),
  error_rate: v.number(),
  p95_ms: v.pipe(v.number(), v.description('Without the time in the queue, which both sides share')),
});
export type CanarySide = v.InferOutput<typeof CanarySide>;

export const CANARY_CHOICES = {
  running: { label: 'Running' },
  promoted: { label: 'Promoted' },
  aborted: { label: 'Aborted' },
};

export const CanaryState = v.object({
  id: v.string(),
  status: v.picklist(valuesOf(CANARY_CHOICES)),
  candidate: v.pipe(v.nullable(v.string()), v.description('The candidate that it serves; null: the working copy as it was')),
  checksum: v.string(),
  note: v.nullable(v.string()),
  ...CanaryPlan.entries,
  base_version: v.pipe(v.number(), v.description('The live version when it began')),
  version: v.pipe(v.nullable(v.number()), v.description('The version that it was promoted to')),
  actor: StoredActor,
  started_at: Timestamp,
  ends_at: Timestamp,
  ended_at: v.nullable(Timestamp),
  reason: v.pipe(v.nullable(v.string()), v.description('Why it ended, in a sentence')),
  live: CanarySide,
  canary: CanarySide,
});
export type CanaryState = v.InferOutput<typeof CanaryState>;
