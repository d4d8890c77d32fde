import * as v from 'valibot';
import { Id, integerBetween } from '../fields.ts';
import { valuesOf } from '../marks.ts';
import { operation } from '../operation.ts';
import { MOST_SAMPLES } from '../settings/setting-values.ts';

const Values = v.nullable(v.record(v.string(), v.unknown()));

export const REPLAY_CHOICES = {
  changed: { label: 'Changed' },
  failed: { label: 'Failed' },
  slower: { label: 'Slower' },
  skipped: { label: 'Skipped' },
};

export const ReplaySample = v.object({
  tool: v.string(),
  outcome: v.pipe(
    v.picklist(valuesOf(REPLAY_CHOICES)),
    v.description('changed: another answer; failed: it succeeds in the live version alone; skipped: it could not be compared'),
  ),
  difference: v.pipe(v.string(), v.description('What differs, in words and without values')),
  live_ms: v.nullable(v.number()),
  ms: v.nullable(v.number()),
  rows: v.pipe(
    v.nullable(v.array(v.object({ live: Values, other: Values }))),
    v.description('Rows that differ, side by side, masked as its caller sees them. Only for people, not for tokens'),
  ),
});
export type ReplaySample = v.InferOutput<typeof ReplaySample>;

const counts = {
  calls: v.pipe(v.number(), v.description('Calls that were compared')),
  same: v.number(),
  changed: v.number(),
  failed: v.number(),
  slower: v.pipe(
    v.number(),
    v.description('At least twice as slow, and 25 ms, by the quickest of four runs; whatever else they are'),
  ),
  skipped: v.pipe(
    v.number(),
    v.description('Calls for which there was no time or no free slot, or that write in the other version'),
  ),
};

/** The results of one host. */
export const HostReplay = v.object({
  request_id: v.string(),
  ...counts,
  samples: v.array(ReplaySample),
  notes: v.array(v.string()),
  error: v.nullable(v.string()),
});
export type HostReplay = v.InferOutput<typeof HostReplay>;

export const Replay = v.object({
  against: v.pipe(v.string(), v.description('The candidate, version or proposal that was compared with the live version')),
  ...counts,
  samples: v.array(ReplaySample),
  notes: v.pipe(v.array(v.string()), v.description('What was not compared, in sentences')),
  hosts: v.array(v.object({ id: v.string(), calls: v.number(), error: v.nullable(v.string()) })),
});
export type Replay = v.InferOutput<typeof Replay>;

export const Calls = v.optional(v.pipe(integerBetween(1, MOST_SAMPLES), v.description('How many calls, over all hosts')), 100);

export const replay = {
  'replay.run': operation('POST /replay', 'deploy', {
    audited: 'call',
    input: v.strictObject({
      candidate: v.optional(Id),
      version: v.optional(integerBetween(1, 999_999_999)),
      calls: Calls,
    }),
    output: Replay,
    summary:
      'Run recent calls of reading tools on the live version and on a candidate or stored version, and compare the answers',
  }),
};
