import { type Tree, type Leaf, applyDelta, toTree } from '#snapshots/format/tree.ts';
import type { SnapshotEvent } from '#core/contract/deploy/control.ts';
import { isTextOf } from '#snapshots/format/canonical.ts';
import { AppError } from '#core/errors.ts';
import type { Snapshot } from '#snapshots/format/format.ts';

/** What names a snapshot. */
export type SnapshotHead = Pick<Snapshot, 'version' | 'checksum' | 'created_at'>;

/** A snapshot that a host has put together from what it has and what came. */
export interface NewSnapshot extends SnapshotHead {
  readonly tree: Tree;
  /** Texts that came, by hash. */
  readonly blobs: ReadonlyMap<string, string>;
  /** They are all of it. */
  readonly whole: boolean;
}

/** The host lacks something that the server believes it has: it is to be sent everything. */
export class Lacking extends Error {}

/** Trees of the last snapshots, by checksum: the server may lead from one that is not the newest. */
export interface KnownTrees {
  remember(checksum: string, leaves: readonly Leaf[]): void;
  /** Rejects what is not the tree that its checksum names. */
  apply(news: NewsWithDelta): NewSnapshot;
}

export type NewsWithDelta = SnapshotEvent & { readonly delta: NonNullable<SnapshotEvent['delta']> };

const KNOWN = 3;

export function createKnownTrees(): KnownTrees {
  const known = new Map<string, readonly Leaf[]>();
  /** Whose branches the next one shares. */
  let newest: Tree | null = null;
  return {
    remember(checksum, leaves) {
      known.delete(checksum);
      known.set(checksum, leaves);
      for (const [oldest] of [...known].slice(0, -KNOWN)) known.delete(oldest);
    },
    apply(news) {
      const { from } = news.delta;
      const base = from === null ? [] : known.get(from);
      if (base === undefined) throw new Lacking(`The host does not know the snapshot ${from}.`);
      const snapshot = applyTo(base, news, newest);
      newest = snapshot.tree;
      return snapshot;
    },
  };
}

/** @param base the leaves that the delta leads from. @param before whose branches the tree may share. */
export function applyTo(base: readonly Leaf[], news: NewsWithDelta, before: Tree | null = null): NewSnapshot {
  const { version, checksum, created_at, delta } = news;
  const { from, removed, blobs } = delta;
  const texts = new Map(blobs.map(([, , hash, text]) => [hash, text]));
  for (const [hash, text] of texts) if (!isTextOf(hash, text)) throw damaged(version);
  const added = blobs.map(([kind, name, hash]) => ({ kind, name, hash }));
  const tree = toTree(applyDelta(base, { added, removed }), before);
  if (tree.checksum !== checksum) throw damaged(version);
  return { version, checksum, created_at, tree, blobs: texts, whole: from === null };
}

const damaged = (version: number) =>
  new AppError('cannot_deploy', `Snapshot ${version} arrived damaged: its checksum does not match.`);
