import * as v from 'valibot';
import { Empty, Timestamp } from '../fields.ts';
import { operation } from '../operation.ts';

/** Start of the warning about definitions that drifted; all other standing warnings are about who can call. */
export const DRIFT_WARNING = 'Tables have changed since the deploy';

export const Drifted = v.object({
  kind: v.picklist(['tool', 'resource']),
  id: v.string(),
  name: v.string(),
  connection_id: v.string(),
  connection_name: v.string(),
  differences: v.pipe(v.array(v.string()), v.description('What its database says now and did not when it was deployed')),
  since: v.pipe(Timestamp, v.description('When a check first found it')),
});
export type Drifted = v.InferOutput<typeof Drifted>;

export const Drift = v.object({
  checked_at: v.pipe(v.nullable(Timestamp), v.description('null until the first check')),
  snapshot_version: v.pipe(v.nullable(v.number()), v.description('The deployed version that was checked')),
  items: v.array(Drifted),
  total: v.number(),
  unchecked: v.pipe(
    v.array(v.object({ connection_id: v.string(), connection_name: v.string(), reason: v.string() })),
    v.description('Connections whose statements could not be checked: a database that is down does not count as drift'),
  ),
});
export type Drift = v.InferOutput<typeof Drift>;

export const drift = {
  'drift.list': operation('GET /drift', 'read', {
    input: Empty,
    output: Drift,
    agent: 'get_drift',
    summary: 'List deployed definitions whose tables have changed',
  }),
  'drift.check': operation('POST /drift/check', 'write', {
    input: Empty,
    output: Drift,
    summary: 'Describe every deployed statement on its database again, now',
  }),
};
