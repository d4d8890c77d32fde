import type { LeafKind } from '#core/contract/entities.ts';
import type { Counts } from '#core/contract/deploy/deploy.ts';
import type { JWK } from 'jose';
import type { Sealed, StoredActor } from '#core/contract/fields.ts';
import type { Kit } from '../kit.ts';

/** Deployed versions, and the changes that a deploy has to read. */
export const deployTables = (k: Kit) => ({
  /** `content` lists the branches of a version's tree by their hashes (`store/trees.ts`). */
  snapshots: k.table('snapshots', {
    version: k.int().primaryKey(),
    checksum: k.text().notNull(),
    content: k.long().notNull(),
    counts: k.json<Counts>().notNull(),
    note: k.text(),
    actor: k.json<StoredActor>().notNull(),
    created_at: k.text().notNull(),
  }),
  /** All frozen entities and branches of trees, without duplicates. `since`: the version that added it, or added it again. */
  blobs: k.table('blobs', {
    hash: k.text().primaryKey(),
    kind: k.text().$type<LeafKind | 'branch'>().notNull(),
    text: k.long().notNull(),
    since: k.int().notNull(),
  }),
  /** The entities that were written, in the order of the commits. */
  changes: k.table('changes', {
    seq: k.counter().primaryKey(),
    kind: k.text().$type<LeafKind>().notNull(),
    entity_id: k.text().notNull(),
  }),
  /** One row: the desired state. */
  deployment: k.table('deployment', {
    id: k.int().primaryKey(),
    desired: k.text().$type<'running' | 'stopped'>().notNull(),
    active_version: k.int(),
    last_error: k.text(),
    deployed_at: k.text(),
  }),
  /** Keys that sign the lists of definitions. */
  definition_keys: k.table('definition_keys', {
    /** Thumbprint of the public key (RFC 7638). */
    kid: k.text().primaryKey(),
    /** `next`: published, but not signing yet. `retired`: only verifies. */
    state: k.text().$type<'next' | 'current' | 'retired'>().notNull(),
    public_key: k.json<JWK>().notNull(),
    /** A JWK sealed as `definition_key/<kid>/private_key`; null once the key is retired. */
    private_key: k.json<Sealed | null>(),
    created_at: k.text().notNull(),
    /** When it reached its state. */
    since: k.text().notNull(),
  }),
});
