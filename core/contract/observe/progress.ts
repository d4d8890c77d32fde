import * as v from 'valibot';
import { operation } from '../operation.ts';

/** Progress of a change of many records. */
export const Progress = v.object({
  step: v.picklist(['check', 'write']),
  done: v.number(),
  of: v.number(),
});
export type Progress = v.InferOutput<typeof Progress>;

export const progress = {
  'progress.get': operation('GET /progress', 'read', {
    input: v.strictObject({
      request_id: v.pipe(v.string(), v.maxLength(128), v.description('The X-Request-Id that the caller gave the request')),
    }),
    output: v.object({
      progress: v.pipe(v.nullable(Progress), v.description('Null: no import or rollback of the caller runs under this id')),
    }),
    summary: 'Read how far an import or a rollback is',
  }),
};
