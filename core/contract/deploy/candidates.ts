import * as v from 'valibot';
import { Counts } from './deploy.ts';
import { byId, Empty, Id, integerBetween, listOf, StoredActor, Timestamp, VersionNote, Warnings } from '../fields.ts';
import { deletion, operation } from '../operation.ts';
import { Allow } from '../settings/deploy-gates.ts';

/** Maximum candidates at a time. */
export const MOST_CANDIDATES = 3;

export const Candidate = v.object({
  candidate: Id,
  checksum: v.string(),
  url: v.pipe(v.string(), v.description('Where MCP clients reach it, with its own token')),
  token_prefix: v.string(),
  note: v.nullable(v.string()),
  counts: Counts,
  actor: StoredActor,
  created_at: Timestamp,
  expires_at: Timestamp,
});
export type Candidate = v.InferOutput<typeof Candidate>;

/** A copy of the working copy, served beside the live version to callers with its token. */
export const candidates = {
  'candidates.create': operation('POST /snapshots/candidate', 'deploy', {
    input: v.strictObject({
      note: VersionNote,
      hours: v.optional(v.pipe(integerBetween(1, 72), v.description('Hours until it expires')), 24),
      allow: v.optional(Allow, []),
    }),
    output: v.object({
      ...Candidate.entries,
      token: v.pipe(
        v.string(),
        v.description(
          'Bearer token for its URL, and for nothing else (`svc_cand_…`). Shown only once. Made with a token, it calls only tools that read; it ends with the credential or the rights of its creator',
        ),
      ),
      warnings: Warnings,
    }),
    status: 201,
    summary: 'Freeze the working copy and serve it at a URL of its own, beside the live version',
  }),
  'candidates.list': operation('GET /snapshots/candidate', 'read', {
    input: Empty,
    output: listOf(Candidate),
    summary: 'List candidates, newest first',
  }),
  'candidates.get': operation('GET /snapshots/candidate/{id}', 'read', {
    input: byId,
    output: Candidate,
    summary: 'Get a candidate',
  }),
  'candidates.delete': deletion('DELETE /snapshots/candidate/{id}', 'deploy', 'Delete a candidate; its token ends at once'),
};
