import { type Tree, type Leaf, applyDelta, toTree } from '#snapshots/format/tree.ts';
import type { SnapshotEvent } from '#core/contract/deploy/control.ts';
import { isTextOf } from '#snapshots/format/canonical.ts';
import { AppError } from '#core/errors.ts';
import type { Snapshot } from '#snapshots/format/format.ts';

/** Version, checksum and creation time of a snapshot. */
export type SnapshotHead = Pick<Snapshot, 'version' | 'checksum' | 'created_at'>;

/** A snapshot that a host assembled from stored and received texts. */
export interface NewSnapshot extends SnapshotHead {
  readonly tree: Tree;
  /** Received texts, by hash. */
  readonly blobs: ReadonlyMap<string, string>;
  /** Whether the received texts are the whole snapshot. */
  readonly whole: boolean;
}

/** Thrown when the host lacks texts that the server expects it to have, so that it needs the whole snapshot. */
export class Lacking extends Error {}

/** Trees of the last snapshots, by checksum: a delta may start from an older one. */
export interface KnownTrees {
  remember(checksum: string, leaves: readonly Leaf[]): void;
  /** Applies a delta. Throws when the result does not match its checksum. */
  apply(news: NewsWithDelta): NewSnapshot;
}

export type NewsWithDelta = SnapshotEvent & { readonly delta: NonNullable<SnapshotEvent['delta']> };

const KNOWN = 3;

export function createKnownTrees(): KnownTrees {
  const known = new Map<string, readonly Leaf[]>();
  /** The newest tree; the next one shares its unchanged branches. */
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

/** @param base the leaves that the delta starts from. @param before a tree whose branches the new one may share. */
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
