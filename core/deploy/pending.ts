import type { WithVersions } from '#core/versions/versions.ts';
import type { Platform } from '#core/platform/platform.ts';
import { textsIn } from '#core/versions/stored-snapshots.ts';
import { readWorkingCopy } from '#core/versions/working-copy.ts';
import type { WithSources } from '#core/sources/source-pool.ts';
import type { SnapshotChange, Totals } from '#core/contract/deploy/deploy.ts';
import type { FrozenState } from '#snapshots/freeze/freeze.ts';
import { activeSnapshot } from '#core/versions/deployment.ts';
import { createSlices, pagesOf } from '#core/lib/slices.ts';
import { estimateTokens } from '#core/lib/tokens.ts';
import type { FrozenTool } from '#snapshots/format/format.ts';
import { leavesOf } from '#snapshots/format/order.ts';
import { type Leaf, type Tree, differingIn, toContent, keyOf } from '#snapshots/format/tree.ts';
import { diff } from '#snapshots/diff/diff.ts';
import { lostMembers } from '#snapshots/diff/lost-members.ts';
import { LEAF_KINDS } from '#core/contract/entities.ts';
import { inArray } from 'drizzle-orm';

/** The changes that wait for a deploy, and the states that were compared. */
export interface Pending {
  readonly state: FrozenState;
  readonly revision: number;
  /** Checksum of the active snapshot. */
  readonly active: string | null;
  /** Checksum of the working copy. */
  readonly checksum: string;
  readonly count: number;
  /** Null when there are more than `MAX_CACHED`. */
  readonly changes: readonly SnapshotChange[] | null;
}

const MAX_CACHED = 500;

/** The changes that wait for a deploy. Computed again only after a write or a deploy. */
export async function pendingChanges(
  app: Platform & WithPending & WithVersions,
): Promise<{ readonly checksum: string; readonly changes: readonly SnapshotChange[] }> {
  const all: SnapshotChange[] = [];
  const { checksum, changes } = await readPending(app, all);
  return { checksum, changes: changes ?? all };
}

/** How many changes wait for a deploy, and the checksum of the working copy. */
export const pendingState = (app: Platform & WithPending & WithVersions): Promise<Pick<Pending, 'count' | 'checksum'>> =>
  readPending(app);

/** @param all receives the changes when they are too many for the cache. */
async function readPending(app: Platform & WithPending & WithVersions, all?: SnapshotChange[]): Promise<Pending> {
  const [{ copy, view }, active] = await Promise.all([readWorkingCopy(app), activeSnapshot(app)]);
  const { state } = copy;
  const { revision, textOf } = view;
  const served = active?.checksum ?? null;
  const known = app.pending;
  const is_known = known?.state === state && known.revision === revision && known.active === served;
  if (is_known && (known.changes !== null || all === undefined)) return known;
  const { tree } = view.frozen();
  const few: SnapshotChange[] = [];
  let count = 0;
  for await (const page of changesInPages(active?.tree ?? null, tree, textsIn(app, textOf))) {
    count += page.length;
    all?.push(...page);
    if (count <= MAX_CACHED) few.push(...page);
  }
  if (active !== null) state.forget(active.tree.leaves);
  const { checksum } = tree;
  app.pending = { state, revision, active: served, checksum, count, changes: count <= MAX_CACHED ? few : null };
  return app.pending;
}

/** How much the next deploy will serve. The tokens of a tool are counted again only when it changes. */
export async function pendingTotals(app: Platform & WithPending & WithVersions): Promise<Totals> {
  const { view } = await readWorkingCopy(app);
  const { leaves } = view.frozen().tree;
  const of = (kind: Leaf['kind']) => leavesOf(leaves, kind);
  const tools = of('tool');
  const known = app.tool_tokens;
  const texts = await textsIn(app, view.textOf)(tools.filter(({ hash }) => !known.has(hash)));
  const turn = createSlices();
  const tokens = new Map<string, number>();
  for (const { hash } of tools) {
    tokens.set(
      hash,
      known.get(hash) ?? estimateTokens(JSON.stringify((JSON.parse(texts.get(hash) ?? '{}') as FrozenTool).listing)),
    );
    await turn();
  }
  app.tool_tokens = tokens;
  return {
    connections: of('connection').length,
    tools: tools.length,
    resources: of('resource').length,
    prompts: of('prompt').length,
    tool_tokens: tools.reduce((sum, { hash }) => sum + (tokens.get(hash) ?? 0), 0),
  };
}

type Texts = (leaves: readonly Leaf[]) => Promise<ReadonlyMap<string, string>>;

/** The differences between two trees, per entity and field. */
export async function changesBetween(before: Tree | null, after: Tree, texts: Texts): Promise<SnapshotChange[]> {
  return (await Array.fromAsync(changesInPages(before, after, texts))).flat();
}

/** Entities that are compared at a time. All entities of a first deploy would fill the memory. */
const ENTITIES_PER_PAGE = 200;

/** The differences between two trees, page by page. Only entities with different hashes are read. */
export async function* changesInPages(before: Tree | null, after: Tree, texts: Texts): AsyncGenerator<SnapshotChange[]> {
  if (before?.checksum === after.checksum) return;
  const { old, now } = differingIn(before, after);
  const lost = before === null ? null : await lostMembers(before.leaves, after.leaves, { old, now }, texts);
  const turn = createSlices();
  for (const pairs of pagesOf(pairsOf(old, now), ENTITIES_PER_PAGE)) {
    const [was, is] = [pairs.flatMap((pair) => pair.was ?? []), pairs.flatMap((pair) => pair.is ?? [])];
    const read = await texts([...was, ...is]);
    const contentOf = (leaves: readonly Leaf[]) => toContent(leaves, (hash) => read.get(hash));
    yield diff(before && contentOf(was), contentOf(is)).map((change) => withLost(change, lost));
    await turn();
  }
}

interface Pair {
  readonly was?: Leaf | undefined;
  readonly is?: Leaf | undefined;
}

/** Pairs of differing entities before and after, in the order of the list of changes: by kind, present ones before removed ones. */
function pairsOf(old: readonly Leaf[], now: readonly Leaf[]): Pair[] {
  const removed_by_key = new Map(old.map((leaf) => [keyOf(leaf), leaf]));
  const take = (leaf: Leaf): Leaf | undefined => {
    const was = removed_by_key.get(keyOf(leaf));
    removed_by_key.delete(keyOf(leaf));
    return was;
  };
  const present = Map.groupBy(
    now.map((is) => ({ is, was: take(is) })),
    ({ is }) => is.kind,
  );
  const removed = Map.groupBy(
    [...removed_by_key.values()].map((was) => ({ was })),
    ({ was }) => was.kind,
  );
  return LEAF_KINDS.flatMap((kind) => [...(present.get(kind) ?? []), ...(removed.get(kind) ?? [])]);
}

/** Adds what callers of toolsets lose by a change. */
function withLost(change: SnapshotChange, lost: ReadonlyMap<string, readonly string[]> | null): SnapshotChange {
  const { entity_type, name, breaking } = change;
  const more = entity_type === 'server_config' ? undefined : lost?.get(keyOf({ kind: entity_type, name }));
  return more === undefined ? change : { ...change, breaking: [...breaking, ...more] };
}

/** Marks connections whose database account is a superuser. A database that does not answer stays unmarked. */
export async function markSuperusers(app: WithSources, changes: readonly SnapshotChange[]): Promise<SnapshotChange[]> {
  const names = changes.filter(({ entity_type, change }) => entity_type === 'connection' && change !== 'removed');
  if (names.length === 0) return [...changes];
  const { connections } = app.store.tables;
  const rows = await app.store.db
    .select()
    .from(connections)
    .where(
      inArray(
        connections.name,
        names.map(({ name }) => name),
      ),
    );
  const marked = new Set<string>();
  await Promise.all(rows.map(async (row) => (await app.sources.isSuperuser(row)) === true && marked.add(row.name)));
  return changes.map((change) =>
    change.entity_type === 'connection' && marked.has(change.name) ? { ...change, risks: ['superuser'] } : change,
  );
}

export interface WithPending {
  pending: Pending | null;
  tool_tokens: ReadonlyMap<string, number>;
}
