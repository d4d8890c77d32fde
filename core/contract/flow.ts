import * as v from 'valibot';
import { DeployStatus } from './deploy/deploy.ts';
import { byPlural, FROZEN_KINDS } from './entities.ts';
import { Empty, Id } from './fields.ts';
import { traffic } from './observe/traffic.ts';
import { operation } from './operation.ts';

const node = { id: v.string(), name: v.string(), enabled: v.boolean() };
const owned = { ...node, connection_id: v.string(), tags: v.array(v.string()) };

export const FlowLayout = v.object({
  connections: v.array(v.object({ ...node, db_type: v.string() })),
  tools: v.array(v.object({ ...owned, read_only: v.boolean() })),
  resources: v.array(v.object({ ...owned, uri_template: v.string() })),
  prompts: v.array(v.object({ ...owned, connection_id: v.nullable(v.string()) })),
  toolsets: v.array(v.object(node)),
  edges: v.pipe(
    v.array(v.object({ from: v.string(), to: v.string(), kind: v.picklist(['owns', 'serves']) })),
    v.description('A connection owns the definitions that query it; the server serves those that are enabled'),
  ),
  server: v.object({
    server_name: v.string(),
    status: DeployStatus,
    snapshot_version: v.nullable(v.number()),
    transport: v.string(),
    auth_type: v.string(),
  }),
  totals: v.object(byPlural(FROZEN_KINDS, () => v.number())),
  pending_changes: v.number(),
});
export type FlowLayout = v.InferOutput<typeof FlowLayout>;

export const FlowToolsets = v.object({
  items: v.array(
    v.object({
      ...node,
      members: v.pipe(v.array(Id), v.description('Tools, resources and prompts that it holds, disabled ones included')),
    }),
  ),
});
export type FlowToolsets = v.InferOutput<typeof FlowToolsets>;

export const flow = {
  'flow.layout': operation('GET /flow', 'read', {
    input: Empty,
    output: FlowLayout,
    summary: 'Get everything that is configured and how it is connected',
  }),
  'flow.toolsets': operation('GET /flow/toolsets', 'read', {
    input: Empty,
    output: FlowToolsets,
    summary: 'Get which definitions of the working copy each toolset holds',
  }),
  ...traffic,
};
