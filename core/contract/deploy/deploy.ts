import * as v from 'valibot';
import { SERVED } from '../entities.ts';
import { Allow } from '../settings/deploy-gates.ts';
import { CanaryPlan, CanaryState } from '../observe/canary-state.ts';
import { Checksum, Empty, Id, Timestamp, VersionNote, Warnings } from '../fields.ts';
import { valuesOf } from '../marks.ts';
import { operation } from '../operation.ts';

export const SERVING_CHOICES = {
  stopped: { label: 'Stopped' },
  deploying: { label: 'Deploying' },
  running: { label: 'Running' },
  error: { label: 'Not serving' },
};
export const DeployStatus = v.picklist(valuesOf(SERVING_CHOICES));
export type DeployStatus = v.InferOutput<typeof DeployStatus>;

export const Counts = v.object({
  connections: v.number(),
  tools: v.number(),
  resources: v.number(),
  prompts: v.number(),
  toolsets: v.optional(v.number()),
});
export type Counts = v.InferOutput<typeof Counts>;

/**
 * A host in a deploy receipt. `acked_ms` is null if it did not answer within 5 s. `load_ms` is the host's share of that time.
 * `error` is its refusal.
 */
export const HostAck = v.object({
  id: v.string(),
  acked_ms: v.nullable(v.number()),
  load_ms: v.nullable(v.number()),
  error: v.nullable(v.string()),
  disk_fault: v.pipe(v.optional(v.string()), v.description('Why what it serves is not saved on its disk')),
});
export type HostAck = v.InferOutput<typeof HostAck>;

/** A warning of a deploy gate and its definition. */
export const GateFinding = v.object({
  gate: v.string(),
  rule: v.pipe(v.nullable(v.string()), v.description('The lint rule')),
  field: v.pipe(v.nullable(v.string()), v.description('Kind and name of the definition, such as `tool.search`')),
  message: v.string(),
});
export type GateFinding = v.InferOutput<typeof GateFinding>;

export const Receipt = v.object({
  status: DeployStatus,
  snapshot_version: v.nullable(v.number()),
  checksum: v.string(),
  changed: v.boolean(),
  counts: Counts,
  warnings: Warnings,
  findings: v.pipe(v.optional(v.array(GateFinding)), v.description('Those of the warnings that checks found')),
  duration_ms: v.number(),
  hosts: v.array(HostAck),
  canary: v.pipe(v.optional(CanaryState), v.description('The canary that began')),
  plan: v.pipe(v.optional(v.string()), v.description('On a dry run: what the deploy would do, as a sentence')),
});
export type Receipt = v.InferOutput<typeof Receipt>;

export const HostState = v.object({
  id: v.string(),
  url: v.nullable(v.string()),
  snapshot_version: v.nullable(v.number()),
  connected_at: Timestamp,
  error: v.pipe(v.nullable(v.string()), v.description('Why it rejected the latest snapshot; it keeps serving the previous one')),
  disk_fault: v.pipe(
    v.nullable(v.string()),
    v.description('What it could not save on its disk: after a restart without the server it would use older copies'),
  ),
  address: v.pipe(v.nullable(v.string()), v.description('The address from which it is connected')),
  program_version: v.pipe(v.nullable(v.string()), v.description('Its version of Sluice; null: it did not say')),
});
export type HostState = v.InferOutput<typeof HostState>;

/** Prefix of the ID of a host that serves a single client over stdin and has no listener. */
export const STDIO_HOST = 'stdio:';
/** Whether clients can reach the host over the network. */
export const isNetworkHost = (id: string): boolean => !id.startsWith(STDIO_HOST);

export const Risk = v.picklist(['deletes_rows', 'changes_rows', 'superuser']);
export type Risk = v.InferOutput<typeof Risk>;

export const SnapshotChange = v.object({
  entity_type: v.picklist(SERVED),
  name: v.string(),
  connection_id: v.pipe(v.nullable(v.string()), v.description('The connection that a tool or resource uses')),
  change: v.picklist(['added', 'removed', 'changed']),
  fields: v.array(v.string()),
  values: v.pipe(
    v.record(v.string(), v.object({ old: v.unknown(), new: v.unknown() })),
    v.description('The fields with both values, for what is added every field; secrets are shown as "[redacted]"'),
  ),
  risks: v.pipe(v.array(Risk), v.description('What the new definition can do to data')),
  /** Why clients of the old version can fail, as sentences. */
  breaking: v.array(v.string()),
});
export type SnapshotChange = v.InferOutput<typeof SnapshotChange>;

export const Totals = v.object({
  connections: v.number(),
  tools: v.number(),
  resources: v.number(),
  prompts: v.number(),
  tool_tokens: v.pipe(v.number(), v.description('About how many tokens the list of tools takes of every conversation')),
});
export type Totals = v.InferOutput<typeof Totals>;

export const deploy = {
  'deploy.run': operation('POST /deploy', 'deploy', {
    input: v.strictObject({
      note: VersionNote,
      dry_run: v.optional(v.boolean(), false),
      allow: v.optional(Allow, []),
      checksum: v.pipe(
        v.optional(Checksum),
        v.description('That of the changes that you read: a deploy of anything else is refused'),
      ),
      candidate: v.pipe(v.optional(Id), v.description('Id of a candidate to serve in place of the working copy')),
      canary: v.pipe(
        v.optional(CanaryPlan),
        v.description('Serve it to a share of the callers only, and promote or abort it by itself'),
      ),
    }),
    output: Receipt,
    agent: 'deploy_server',
    summary: 'Freeze the working copy and serve it on every host',
  }),
  'deploy.status': operation('GET /deploy/status', 'read', {
    input: Empty,
    output: v.object({
      status: DeployStatus,
      snapshot_version: v.nullable(v.number()),
      deployed_at: v.nullable(Timestamp),
      pending_changes: v.number(),
      pending_checksum: v.pipe(v.string(), v.description('As `GET deploy/diff`')),
      hosts: v.array(HostState),
      last_error: v.nullable(v.string()),
      warnings: v.pipe(Warnings, v.description('Risks of what is being served, as sentences')),
      canary: v.pipe(v.nullable(CanaryState), v.description('The canary that runs, or the last one')),
    }),
    agent: 'get_deploy_status',
    summary: 'Get the deployment status',
  }),
  'deploy.diff': operation('GET /deploy/diff', 'read', {
    input: v.strictObject({
      values: v.pipe(
        v.optional(v.boolean(), true),
        v.description('false: `values` are left empty, for who only wants to know what changed'),
      ),
    }),
    output: v.object({
      from_version: v.nullable(v.number()),
      checksum: v.pipe(
        v.string(),
        v.description('Of the working copy as these changes leave it; sent to `POST deploy`, nothing else is deployed'),
      ),
      changes: v.array(SnapshotChange),
      totals: v.pipe(Totals, v.description('What the next deploy will serve')),
      warnings: v.pipe(Warnings, v.description('Risks of what the next deploy will serve, as sentences')),
    }),
    summary: 'List what the next deploy will change',
  }),
  'deploy.stop': operation('POST /deploy/stop', 'deploy', {
    input: Empty,
    output: v.object({ status: DeployStatus }),
    agent: 'stop_server',
    summary: 'Stop serving; hosts keep running idle',
  }),
};
