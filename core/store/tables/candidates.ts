import type { GateName } from '#core/contract/settings/deploy-gates.ts';
import type { Counts } from '#core/contract/deploy/deploy.ts';
import type { StoredActor } from '#core/contract/fields.ts';
import type { Histogram } from '#core/lib/histogram.ts';
import type { Kit } from '../kit.ts';

/** Frozen configurations that are served beside the live version. Their entities are in `blobs`. */
export function candidateTables(k: Kit) {
  const candidates = k.table('candidates', {
    id: k.text().primaryKey(),
    checksum: k.text().notNull(),
    /** The same format as that of a version. */
    content: k.long().notNull(),
    counts: k.json<Counts>().notNull(),
    note: k.text(),
    /** Gates whose findings were allowed. */
    allowed: k.json<GateName[]>().notNull(),
    actor: k.json<StoredActor>().notNull(),
    created_at: k.text().notNull(),
    expires_at: k.text().notNull(),
    /** SHA-256 of its token of 40 random characters; null when it has no address. */
    digest: k.text(),
    token_prefix: k.text(),
  });
  /** Candidates that were or are served to a share of the callers. */
  const canaries = k.table('canaries', {
    id: k.text().primaryKey(),
    candidate_id: k.text().notNull(),
    /** Whether the candidate was created for this canary and is deleted with it. */
    own_candidate: k.bool().notNull(),
    checksum: k.text().notNull(),
    status: k.text().$type<'running' | 'promoted' | 'aborted'>().notNull(),
    note: k.text(),
    allowed: k.json<GateName[]>().notNull(),
    percent: k.int().notNull(),
    minutes: k.int().notNull(),
    max_error_rate: k.real(),
    max_p95_ratio: k.real(),
    min_calls: k.int().notNull(),
    /** The seed from which the side of each caller is computed. */
    seed: k.text().notNull(),
    base_version: k.int().notNull(),
    version: k.int(),
    actor: k.json<StoredActor>().notNull(),
    started_at: k.text().notNull(),
    ends_at: k.text().notNull(),
    ended_at: k.text(),
    reason: k.text(),
  });
  /** The counts of each side that hosts reported. */
  const canary_sides = k.table(
    'canary_sides',
    {
      canary_id: k.text().notNull(),
      side: k.text().$type<'live' | 'canary'>().notNull(),
      calls: k.int().notNull(),
      errors: k.int().notNull(),
      histogram: k.json<Histogram>().notNull(),
    },
    (t) => [k.unique('canary_sides_key').on(t.canary_id, t.side)],
  );
  return { candidates, canaries, canary_sides };
}
