import type { SnapshotSummary } from '#core/contract/deploy/snapshots.ts';
import { CONFIGURED, type LeafKind, LEAF_KINDS } from '#core/contract/entities.ts';
import type { Platform } from '#core/platform/platform.ts';
import { branchesIn, readBranches, readTree } from '#core/store/trees.ts';
import type { VersionChanges, WithSnapshots } from '#core/versions/stored-snapshots.ts';
import { differing, keyOf, type Leaf } from '#snapshots/format/tree.ts';
import { and, asc, eq, gt, inArray } from 'drizzle-orm';

/** The parts of a version's summary that describe its history, not its content. */
export type VersionHistory = Pick<SnapshotSummary, 'summary' | 'same_as' | 'restored'>;

interface Deployed {
  /** Id of its history entry. Ids increase over time. */
  readonly id: string;
  readonly version: number;
  /** The version that was live before, if an earlier version was restored. */
  readonly replaced: number | null;
  readonly at: string;
  readonly by: string;
}

/**
 * For each version: what it changed compared with the version that was live before, and whether it was restored later.
 * @param versions the versions to describe. Their changes are only known while both versions are stored.
 */
export async function describeVersions(
  app: Platform & WithSnapshots,
  versions: readonly number[],
): Promise<ReadonlyMap<number, VersionHistory>> {
  if (versions.length === 0) return new Map();
  const { snapshots } = app.store.tables;
  const columns = { version: snapshots.version, checksum: snapshots.checksum };
  const [kept, deployed] = await Promise.all([
    app.store.db.select(columns).from(snapshots).orderBy(asc(snapshots.version)),
    deploysOf(app),
  ]);
  const oldest = deployed.findIndex(({ version, replaced }) => replaced === null && versions.includes(version));
  const imported = await importedRecords(app, deployed[oldest - 1]?.id ?? '');
  const stories = new Map<number, VersionHistory>();
  for (const { version, checksum } of kept) {
    if (!versions.includes(version)) continue;
    const first = deployed.findIndex((one) => one.version === version && one.replaced === null);
    const [before, own] = [deployed[first - 1], deployed[first]];
    // 0: no version was live.
    const base = before?.version ?? version - 1;
    const isSince = (id: string) => own !== undefined && id < own.id && id > (before?.id ?? '');
    const records = new Set(imported.flatMap(({ id, key }) => (isSince(id) ? [key] : [])));
    const back = deployed.findLast((one) => one.version === version && one.replaced !== null);
    stories.set(version, {
      summary: await summaryOf(app, base, version, records),
      same_as: kept.find((one) => one.version < version && one.checksum === checksum)?.version ?? null,
      restored: back === undefined ? null : { from_version: back.replaced, at: back.at, by: back.by },
    });
  }
  return stories;
}

/** Deploys and restores, the oldest first. */
async function deploysOf({ store }: Platform): Promise<Deployed[]> {
  const { history: table } = store.tables;
  const rows = await store.db
    .select({ id: table.id, of: table.entity_id, before: table.before, at: table.created_at, by: table.actor_name })
    .from(table)
    .where(and(eq(table.action, 'deploy'), eq(table.entity_type, 'snapshot')))
    .orderBy(asc(table.id));
  return rows.flatMap(({ id, of, before, at, by }) => {
    const version = Number(of);
    const replaced = before?.['version'];
    return Number.isInteger(version) ? [{ id, version, replaced: typeof replaced === 'number' ? replaced : null, at, by }] : [];
  });
}

/** Records that imports wrote: the id of their history entry, and the key of the frozen record. */
async function importedRecords({ store }: Platform, since: string): Promise<{ readonly id: string; readonly key: string }[]> {
  const { history: table } = store.tables;
  const rows = await store.db
    .select({ id: table.id, type: table.entity_type, name: table.entity_name })
    .from(table)
    .where(and(eq(table.action, 'import'), gt(table.id, since), inArray(table.entity_type, [...CONFIGURED])));
  return rows.flatMap(({ id, type, name }) => {
    if (type === 'server_config') return [{ id, key: SERVER }];
    const kind = LEAF_KINDS.find((one) => one === type);
    return kind === undefined ? [] : [{ id, key: keyOf({ kind, name }) }];
  });
}

async function summaryOf(
  app: Platform & WithSnapshots,
  base: number,
  version: number,
  imported: ReadonlySet<string>,
): Promise<string | null> {
  const changed = await changedBetween(app, base, version);
  if (changed === null) return null;
  const parts = LEAF_KINDS.flatMap((kind) => partsOf(kind, changed));
  if (parts.length === 0) return 'Nothing changed';
  const is_import = imported.size > 0 && changed.keys.every((key) => imported.has(key) || key === SERVER);
  const sentence = parts.join(', ');
  return is_import ? `Import: ${sentence}` : sentence.charAt(0).toUpperCase() + sentence.slice(1);
}

const SERVER = keyOf({ kind: 'server', name: '' });
const VERBS = ['added', 'changed', 'removed'] as const;

/** More names than this are only counted. */
const MAX_NAMED = 2;

function partsOf(kind: LeafKind, { names }: VersionChanges): string[] {
  const found = names.get(kind);
  if (found === undefined) return [];
  if (kind === 'server') return found.changed.length > 0 ? ['settings changed'] : [];
  return VERBS.flatMap((verb) => {
    const of_verb = found[verb];
    if (of_verb.length === 0) return [];
    const noun = of_verb.length === 1 ? kind : `${kind}s`;
    const what = of_verb.length > MAX_NAMED ? `${of_verb.length} ${noun}` : `${noun} ${of_verb.join(' and ')}`;
    return [`${what} ${verb === 'removed' ? 'deleted' : verb}`];
  });
}

/** @returns null when one of the versions is no longer stored. */
async function changedBetween(app: Platform & WithSnapshots, base: number, version: number): Promise<VersionChanges | null> {
  const key = `${base} ${version}`;
  const known = app.snapshot_cache.changed.get(key);
  if (known !== undefined) return known;
  const [before, after] = await Promise.all([contentOf(app, base), contentOf(app, version)]);
  if (after === null || (before === null && base > 0)) return null;
  const [old, now] = await leavesOf(app, before, after);
  const fresh = differing(old, now);
  const [was, is] = [new Set(fresh.old.map(keyOf)), new Set(fresh.now.map(keyOf))];
  const names = new Map<LeafKind, Record<(typeof VERBS)[number], string[]>>();
  const add = ({ kind, name }: Pick<Leaf, 'kind' | 'name'>, verb: (typeof VERBS)[number]) => {
    const found = names.get(kind) ?? { added: [], changed: [], removed: [] };
    found[verb].push(name);
    names.set(kind, found);
  };
  for (const leaf of fresh.now) add(leaf, was.has(keyOf(leaf)) ? 'changed' : 'added');
  for (const leaf of fresh.old) if (!is.has(keyOf(leaf))) add(leaf, 'removed');
  const changed: VersionChanges = { names, keys: [...new Set([...was, ...is])] };
  app.snapshot_cache.changed.set(key, changed);
  return changed;
}

async function contentOf({ store }: Platform, version: number): Promise<string | null> {
  const { snapshots } = store.tables;
  const [row] = await store.db.select({ content: snapshots.content }).from(snapshots).where(eq(snapshots.version, version));
  return row?.content ?? null;
}

/** Reads only the branches that differ. */
async function leavesOf({ store }: Platform, before: string | null, after: string): Promise<[Leaf[], Leaf[]]> {
  const whole = async (content: string) => [...(await readTree(store, store.db, content)).leaves];
  if (before === null) return [[], await whole(after)];
  const [was, is] = [branchesIn(before), branchesIn(after)];
  if (was === null || is === null) return [await whole(before), await whole(after)];
  const [had, has] = [new Set(was), new Set(is)];
  const read = async (hashes: ReadonlySet<string>) => (await readBranches(store, store.db, [...hashes])).flat();
  return [await read(had.difference(has)), await read(has.difference(had))];
}
