import type { App } from '#core/app.ts';
import type { Change } from '#core/contract/deploy/deploy.ts';
import { diff } from '#snapshots/diff.ts';
import type { FrozenState } from '#snapshots/freeze.ts';
import { differing, type Leaf, toContent, type Tree } from '#snapshots/tree.ts';
import { activeSnapshot } from './deployment.ts';
import { textsOf } from './stored-snapshots.ts';
import { readWorkingCopy } from './working-copy.ts';

/** What waits for a deploy, and from what it was worked out. */
export interface Pending {
  readonly state: FrozenState;
  readonly revision: number;
  /** Of the active snapshot. */
  readonly checksum: string | null;
  readonly changes: readonly Change[];
}

/** What waits for a deploy; worked out again only when something was written or deployed since. */
export async function pendingChanges(app: App): Promise<readonly Change[]> {
  const [{ copy, view }, active] = await Promise.all([readWorkingCopy(app), activeSnapshot(app)]);
  const { state } = copy;
  const { revision, textOf } = view;
  const checksum = active?.checksum ?? null;
  const kept = app.pending;
  if (kept?.state === state && kept.revision === revision && kept.checksum === checksum) return kept.changes;
  const { tree } = view.frozen();
  const texts = async (leaves: readonly Leaf[]): Promise<ReadonlyMap<string, string>> => {
    const stored = await textsOf(
      app,
      leaves.filter(({ hash }) => textOf(hash) === undefined),
    );
    return new Map(leaves.map(({ hash }) => [hash, textOf(hash) ?? stored.get(hash) ?? '']));
  };
  const changes = await changesBetween(active?.tree ?? null, tree, texts);
  if (active !== null) state.forget(active.tree.leaves);
  app.pending = { state, revision, checksum, changes };
  return changes;
}

/** What changes from one tree to another, per entity and field: only entities with another hash are looked into. */
export async function changesBetween(
  before: Tree | null,
  after: Tree,
  texts: (leaves: readonly Leaf[]) => Promise<ReadonlyMap<string, string>>,
): Promise<Change[]> {
  if (before?.checksum === after.checksum) return [];
  const { old, now } = differing(before?.leaves ?? [], after.leaves);
  // Both contents have settings, also where these are the same.
  const whole = (leaves: readonly Leaf[], { leaves: all }: Tree) => [
    ...all.slice(0, 1).filter(({ kind }) => kind === 'server'),
    ...leaves.filter(({ kind }) => kind !== 'server'),
  ];
  const [was, is] = [before && whole(old, before), whole(now, after)];
  const read = await texts([...(was ?? []), ...is]);
  const contentOf = (leaves: readonly Leaf[]) => toContent(leaves, (hash) => read.get(hash));
  return diff(was && contentOf(was), contentOf(is));
}
