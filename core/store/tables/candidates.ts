import type { GateName } from '#core/contract/settings/deploy-gates.ts';
import type { Counts } from '#core/contract/deploy/deploy.ts';
import type { Kit } from '../kit.ts';

/** Who did something, as it is kept beside what was done. */
export interface StoredActor {
  readonly type: string;
  readonly id: string | null;
  readonly name: string;
}

/** Frozen configurations that are served beside the live version. Their entities are among the blobs. */
export function candidateTables(k: Kit) {
  const candidates = k.table('candidates', {
    id: k.text().primaryKey(),
    checksum: k.text().notNull(),
    /** As that of a version. */
    content: k.long().notNull(),
    counts: k.json<Counts>().notNull(),
    note: k.text(),
    /** Gates whose findings were passed knowingly. */
    allowed: k.json<GateName[]>().notNull(),
    actor: k.json<StoredActor>().notNull(),
    created_at: k.text().notNull(),
    expires_at: k.text().notNull(),
    /** SHA-256 of its token of 40 random characters; null: it has no address of its own. */
    digest: k.text(),
    token_prefix: k.text(),
  });
  return { candidates };
}
