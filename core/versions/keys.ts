import { and, asc, eq, gt, inArray, like, or, sql } from 'drizzle-orm';
import type { Store } from '#core/store/store.ts';
import { AppError } from '#core/errors.ts';
import { keyOf } from '#core/lib/sealed-values.ts';
import { HOLDS_SECRETS } from '#snapshots/format/tree.ts';
import { allHolders, blobSecrets, liveRecords, opens, sealedHashes, servedBlobs, type SealedStore } from './sealed-records.ts';

/** The data that one key still encrypts. */
export interface KeyUse {
  readonly key_id: string;
  /** SVC_ENCRYPTION_KEY contains it. */
  readonly configured: boolean;
  /** The first key of the list: it encrypts everything that is written. */
  readonly current: boolean;
  /** Records and candidates with a secret encrypted by this key. */
  readonly entities: number;
  readonly active_snapshot: boolean;
  /** Stored snapshots, including the active one. */
  readonly snapshots: number;
  /** History entries. */
  readonly history: number;
  /** The server starts without it, but older snapshots and history entries that it encrypts can no longer be restored. */
  readonly removable: boolean;
}

const SEALED = /"\$sealed":"v1\.([0-9a-f]{8})\./g;
const ROWS_PER_STATEMENT = 500;
const MAX_NAMES = 5;

/** Why secrets of live records or of the active snapshot cannot be decrypted, one sentence per key. Empty when all can be. */
export async function secretFaults(vault: SealedStore): Promise<string[]> {
  const lost = new Map<string, string[]>();
  const damaged: string[] = [];
  for (const { name, secrets } of await allHolders(vault)) {
    for (const secret of secrets) {
      if (opens(vault.keyring, secret)) continue;
      const key_id = keyOf(secret.sealed);
      const names = vault.keyring.key_ids.includes(key_id) ? damaged : (lost.get(key_id) ?? []);
      if (names !== damaged) lost.set(key_id, names);
      if (!names.includes(name)) names.push(name);
    }
  }
  return [
    ...[...lost].map(
      ([key_id, names]) =>
        `SVC_ENCRYPTION_KEY lacks the key ${key_id}, which encrypts secrets of ${listed(names)}. Add that key to the end of the list.`,
    ),
    ...(damaged.length === 0
      ? []
      : [`Secrets of ${listed(damaged)} cannot be decrypted: they were changed, or belong to another record. Restore a backup.`]),
  ];
}

/** Throws `secrets_unavailable`, which names every missing key. Older snapshots and history entries are not checked. */
export async function requireSecrets(vault: SealedStore): Promise<void> {
  const faults = await secretFaults(vault);
  if (faults.length > 0) throw new AppError('secrets_unavailable', faults.join(' '));
}

/** The data that each key encrypts, the first key of the list first. */
export async function keysReport(vault: SealedStore): Promise<KeyUse[]> {
  const { store, keyring } = vault;
  const { deployment } = store.tables;
  const candidates = (await servedBlobs(store)).filter(({ is_active }) => !is_active);
  const held = [
    ...(await liveRecords(vault)).map(({ secrets }) => secrets),
    ...candidates.map(({ blobs }) => blobs.flatMap(blobSecrets)),
  ];
  const entities = countKeys(held.map((secrets) => secrets.map(({ sealed }) => keyOf(sealed))));
  const active = (await store.db.select({ version: deployment.active_version }).from(deployment))[0]?.version ?? null;
  const snapshots = await snapshotKeys(store);
  const history = await historyKeys(store);
  const of_active = new Set(snapshots.find(({ version }) => version === active)?.keys);
  const in_snapshots = countKeys(snapshots.map(({ keys }) => keys));
  const ids = new Set([...keyring.key_ids, ...entities.keys(), ...in_snapshots.keys(), ...history.keys()]);
  return [...ids].map((key_id) => {
    const needed = (entities.get(key_id) ?? 0) > 0 || of_active.has(key_id);
    const current = key_id === keyring.current_key_id;
    return {
      key_id,
      configured: keyring.key_ids.includes(key_id),
      current,
      entities: entities.get(key_id) ?? 0,
      active_snapshot: of_active.has(key_id),
      snapshots: in_snapshots.get(key_id) ?? 0,
      history: history.get(key_id) ?? 0,
      removable: !current && !needed,
    };
  });
}

async function snapshotKeys(store: Store): Promise<{ version: number; keys: string[] }[]> {
  const { db, tables } = store;
  const { snapshots, blobs } = tables;
  const rows = await db
    .select()
    .from(blobs)
    .where(inArray(blobs.kind, [...HOLDS_SECRETS]));
  const keys_of = new Map(rows.map(({ hash, text }) => [hash, keysIn(text)]));
  const versions = await db.select({ version: snapshots.version }).from(snapshots);
  const found: { version: number; keys: string[] }[] = [];
  for (const { version } of versions) {
    const [row] = await db.select({ content: snapshots.content }).from(snapshots).where(eq(snapshots.version, version));
    const hashes = row === undefined ? [] : [...(await sealedHashes(store, db, row.content))];
    found.push({ version, keys: hashes.flatMap((hash) => keys_of.get(hash) ?? []) });
  }
  return found;
}

async function historyKeys({ db, tables: { history } }: Store): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  const sealed = or(like(history.before, '%"$sealed"%'), like(history.after, '%"$sealed"%'));
  for (let last = ''; ;) {
    const rows = await db
      .select({ id: history.id, before: sql<string | null>`${history.before}`, after: sql<string | null>`${history.after}` })
      .from(history)
      .where(and(gt(history.id, last), sealed))
      .orderBy(asc(history.id))
      .limit(ROWS_PER_STATEMENT);
    for (const [key, count] of countKeys(rows.map(({ before, after }) => keysIn(`${before ?? ''}${after ?? ''}`)))) {
      counts.set(key, (counts.get(key) ?? 0) + count);
    }
    if (rows.length < ROWS_PER_STATEMENT) return counts;
    last = rows.at(-1)?.id ?? last;
  }
}

const keysIn = (text: string): string[] => [...text.matchAll(SEALED)].map((match) => match[1] ?? '');

/** In how many of the lists each key occurs. */
function countKeys(lists: readonly (readonly string[])[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const list of lists) for (const key of new Set(list)) counts.set(key, (counts.get(key) ?? 0) + 1);
  return counts;
}

function listed(names: readonly string[]): string {
  const shown = names.slice(0, MAX_NAMES);
  const more = names.length - shown.length;
  const all = more > 0 ? [...shown, `${more} more`] : shown;
  return all.length < 2 ? all.join('') : `${all.slice(0, -1).join(', ')} and ${all.at(-1)}`;
}
