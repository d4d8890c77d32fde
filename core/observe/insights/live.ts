import type { Platform } from '#core/platform/platform.ts';
import { type WithSnapshots, newestVersion, readSnapshot } from '#core/versions/stored-snapshots.ts';
import { eq, inArray } from 'drizzle-orm';
import { readDeployment } from '#core/versions/deployment.ts';
import { pagesOf } from '#core/lib/slices.ts';
import { PAGE } from '#core/store/trees.ts';
import { leavesOf } from '#snapshots/format/order.ts';
import type { LeafKind } from '#core/contract/entities.ts';
import type { Leaf } from '#snapshots/format/tree.ts';

/** Since when the live form of a definition has been served. */
export interface Live {
  readonly version: number;
  readonly from: string;
}

/** The live definitions, by name. */
export interface LiveDefinitions {
  readonly key: string;
  readonly tools: ReadonlyMap<string, Live>;
  readonly connections: ReadonlyMap<string, Live>;
}

const NONE: LiveDefinitions = { key: '', tools: new Map(), connections: new Map() };
/** The time of a version that is not stored any more. */
const LONG_AGO = '';

export async function readLive(app: Platform & WithSnapshots, known: LiveDefinitions | null): Promise<LiveDefinitions> {
  const { active_version, deployed_at } = await readDeployment(app);
  if (active_version === null) return NONE;
  const key = `${active_version} ${deployed_at}`;
  if (known?.key === key) return known;
  const [snapshot, newest] = await Promise.all([readSnapshot(app, active_version), newestVersion(app)]);
  if (snapshot === null) return NONE;
  const leaves = [...leavesOf(snapshot.tree.leaves, 'tool'), ...leavesOf(snapshot.tree.leaves, 'connection')];
  // A restored version counts as served since the restore, even if versions in between had the same definitions.
  const restored = active_version < newest ? { version: active_version, from: deployed_at ?? LONG_AGO } : null;
  const of_hash = restored === null ? await readSince(app, leaves) : null;
  const byName = (kind: LeafKind) =>
    new Map(
      leaves
        .filter((leaf) => leaf.kind === kind)
        .map(({ name, hash }) => [name, restored ?? of_hash?.get(hash) ?? { version: active_version, from: LONG_AGO }] as const),
    );
  return { key, tools: byName('tool'), connections: byName('connection') };
}

/** The version that introduced each leaf, by the leaf's hash. */
async function readSince({ store }: Platform, leaves: readonly Leaf[]): Promise<Map<string, Live>> {
  const { blobs, snapshots } = store.tables;
  const found = new Map<string, Live>();
  const hashes = leaves.map(({ hash }) => hash);
  for (const page of pagesOf(hashes, PAGE)) {
    const rows = await store.db
      .select({ hash: blobs.hash, version: blobs.since, from: snapshots.created_at })
      .from(blobs)
      .leftJoin(snapshots, eq(snapshots.version, blobs.since))
      .where(inArray(blobs.hash, [...page]));
    for (const { hash, version, from } of rows) found.set(hash, { version, from: from ?? LONG_AGO });
  }
  return found;
}

/** The later of two, because the behaviour of a call depends on both. */
export const laterOf = (one: Live, other: Live | undefined): Live =>
  other === undefined || other.version < one.version || (other.version === one.version && other.from < one.from) ? one : other;

interface Served {
  readonly timestamp: string;
  readonly snapshot_version: number | null;
  readonly canary: string | null;
}

/** Whether a call used the live definition. If the host reported no version, the time decides. */
export const isOfLive = ({ version, from }: Live, { timestamp, snapshot_version, canary }: Served): boolean =>
  canary === null && timestamp >= from && (snapshot_version ?? version) >= version;
