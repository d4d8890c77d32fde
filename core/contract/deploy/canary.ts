import * as v from 'valibot';
import { Receipt } from './deploy.ts';
import { Id, textBetween, VersionNote } from '../fields.ts';
import { operation } from '../operation.ts';
import { Allow } from '../settings/deploy-gates.ts';
import { CanaryState } from '../observe/canary-state.ts';

const Read = v.pipe(v.optional(Id), v.description('The canary that you read; any other is refused'));

export const canary = {
  'deploy.promote': operation('POST /deploy/promote', 'deploy', {
    input: v.strictObject({
      canary: Read,
      note: v.pipe(VersionNote, v.description('In place of that of the canary')),
      allow: v.optional(Allow, []),
    }),
    output: Receipt,
    agent: 'promote_canary',
    summary: 'Serve the running canary to all callers, as a new version',
  }),
  'deploy.abort': operation('POST /deploy/abort', 'deploy', {
    input: v.strictObject({ canary: Read, reason: v.optional(v.nullable(textBetween(1, 500)), null) }),
    output: CanaryState,
    agent: 'abort_canary',
    summary: 'End the running canary; all callers get the live version again',
  }),
};
