import * as v from 'valibot';
import { SnapshotChange, Counts, Receipt } from './deploy.ts';
import { Allow } from '../settings/deploy-gates.ts';
import { integerBetween, listInput, listOf, StoredActor, textBetween, Timestamp } from '../fields.ts';
import { operation } from '../operation.ts';

const SnapshotVersion = integerBetween(1, 2 ** 31 - 1);

export const SnapshotSummary = v.object({
  version: v.number(),
  checksum: v.string(),
  active: v.boolean(),
  note: v.nullable(v.string()),
  counts: Counts,
  actor: StoredActor,
  created_at: Timestamp,
  summary: v.pipe(
    v.nullable(v.string()),
    v.description('What it changed in what was live before, as a sentence; null: that version is no longer stored'),
  ),
  same_as: v.pipe(v.nullable(v.number()), v.description('The first earlier version with the same content')),
  restored: v.pipe(
    v.nullable(v.object({ from_version: v.nullable(v.number()), at: Timestamp, by: v.string() })),
    v.description('When it was last restored, by whom, and the version that it replaced'),
  ),
});
export type SnapshotSummary = v.InferOutput<typeof SnapshotSummary>;

export const snapshots = {
  'snapshots.list': operation('GET /snapshots', 'read', {
    input: v.strictObject(listInput(100)),
    output: listOf(SnapshotSummary),
    agent: 'list_versions',
    summary: 'List deployed snapshots, newest first',
  }),
  'snapshots.get': operation('GET /snapshots/{version}', 'read', {
    audited: 'export',
    input: v.strictObject({ version: SnapshotVersion }),
    output: v.object({
      ...SnapshotSummary.entries,
      secrets_unavailable: v.optional(v.literal(true)),
      content: v.record(v.string(), v.unknown()),
    }),
    summary: 'Get a snapshot with its content, secrets redacted',
  }),
  'snapshots.diff': operation('GET /snapshots/{from}/diff/{to}', 'read', {
    input: v.strictObject({ from: SnapshotVersion, to: SnapshotVersion }),
    output: v.object({ from_version: v.number(), to_version: v.number(), changes: v.array(SnapshotChange) }),
    summary: 'Compare two snapshots',
  }),
  'snapshots.activate': operation('POST /snapshots/{version}/activate', 'deploy', {
    input: v.strictObject({
      version: SnapshotVersion,
      note: v.optional(v.nullable(textBetween(1, 1_000)), null),
      allow: v.optional(Allow, []),
    }),
    output: Receipt,
    agent: 'restore_version',
    summary: 'Restore an earlier snapshot at once, exactly as it was',
  }),
};
