import type { Platform } from '#core/platform/platform.ts';
import { and, asc, eq, lt } from 'drizzle-orm';
import { calculateJwkThumbprint, exportJWK, generateKeyPair, importJWK, type JWK } from 'jose';
import { openOrNull } from '#core/lib/secrets.ts';
import { withLease } from '#core/platform/leases.ts';
import type { Db } from '#core/store/store.ts';
import type { Schema } from '#core/store/schema.ts';
import { SIGNATURE_ALGORITHM } from '#snapshots/format/definition-list.ts';

type KeyRow = Schema['definition_keys']['$inferSelect'];

const DAY_MS = 24 * 3_600_000;
/** How long a key signs. Its successor is published all that time, so that those who pin keys have it in advance. */
export const ROTATE_MS = 90 * DAY_MS;
/** How long a retired key stays published. All that it signed has expired by then. */
export const OVERLAP_MS = 30 * DAY_MS;
const LEASE = 'definition_keys';

const pathOf = (kid: string): string => `definition_key/${kid}/private_key`;

/** The key that signs, with its private part. */
export interface SigningKey {
  readonly kid: string;
  readonly key: CryptoKey;
}

/** Public keys in the form of a JWKS: the current one, the next one, and recently retired ones. */
export const publishedKeys = async (app: Platform): Promise<readonly JWK[]> => publicOf(await readRows(app));

export interface DefinitionKeys {
  /** Null: there is none yet, as before the first rotation. */
  readonly current: SigningKey | null;
  /** As `publishedKeys`. */
  readonly published: readonly JWK[];
}

/** @param opened the signing key that was opened last: it is opened again only when another one signs. */
export async function readKeys(app: Platform, opened: SigningKey | null = null): Promise<DefinitionKeys> {
  const rows = await readRows(app);
  const row = rows.find(({ state }) => state === 'current');
  const current = row === undefined ? null : row.kid === opened?.kid ? opened : await openKey(app, row);
  return { current, published: publicOf(rows) };
}

const publicOf = (rows: readonly KeyRow[]): JWK[] => rows.map(({ public_key }) => public_key);

function readRows({ store }: Platform): Promise<KeyRow[]> {
  const { definition_keys: table } = store.tables;
  return store.db.select().from(table).orderBy(asc(table.created_at), asc(table.kid));
}

async function openKey({ keyring }: Platform, { kid, private_key }: KeyRow): Promise<SigningKey | null> {
  if (private_key === null) return null;
  const jwk = JSON.parse(keyring.open(private_key.$sealed, pathOf(kid))) as JWK;
  const key = await importJWK(jwk, SIGNATURE_ALGORITHM);
  return key instanceof Uint8Array ? null : { kid, key };
}

/**
 * Creates the first keys, rotates them when due and forgets those retired long ago, on one server at a time.
 * @param now rotates even if not due. @returns whether anything changed.
 */
export async function rotateDefinitionKeys(app: Platform, now = false): Promise<boolean> {
  if (!now && !(await isDue(app))) return false;
  const changed = await withLease(app, LEASE, async (held) => {
    const fresh = await Promise.all([newKey(app), newKey(app)]);
    return held.store.write(async (tx) => {
      const rotated = await rotate(app, tx, fresh, now);
      return (await forget(app, tx)) || rotated;
    });
  });
  return changed === true;
}

/** At a start: creates the keys of a new installation, and seals keys with the first key of the ring. */
export async function prepareDefinitionKeys(app: Platform): Promise<void> {
  await rotateDefinitionKeys(app);
  const { definition_keys: table } = app.store.tables;
  await app.store.write(async (tx) => {
    for (const { kid, private_key } of await tx.select().from(table)) {
      if (private_key === null || !app.keyring.stale(private_key.$sealed)) continue;
      const opened = openOrNull(app.keyring, private_key.$sealed, pathOf(kid));
      if (opened === null) continue;
      const sealed = { $sealed: app.keyring.seal(opened, pathOf(kid)) };
      await tx.update(table).set({ private_key: sealed }).where(eq(table.kid, kid));
    }
  });
}

async function isDue(app: Platform): Promise<boolean> {
  const { definition_keys: table } = app.store.tables;
  const rows = await app.store.db.select({ state: table.state, since: table.since }).from(table);
  const current = rows.find(({ state }) => state === 'current');
  if (current === undefined || isOver(app, current.since)) return true;
  return rows.some(({ state, since }) => state === 'retired' && since < forgottenBefore(app));
}

async function rotate(app: Platform, tx: Db, [fresh, successor]: readonly KeyRow[], now: boolean): Promise<boolean> {
  const { definition_keys: table } = app.store.tables;
  const since = app.clock().toISOString();
  const current = await currentRow(app, tx);
  if (fresh === undefined || successor === undefined) return false;
  if (current === undefined) {
    await tx.insert(table).values([{ ...fresh, state: 'current' }, successor]);
    return true;
  }
  if (!now && !isOver(app, current.since)) return false;
  await tx.update(table).set({ state: 'retired', since, private_key: null }).where(eq(table.state, 'current'));
  const moved = await tx
    .update(table)
    .set({ state: 'current', since })
    .where(eq(table.state, 'next'))
    .returning({ kid: table.kid });
  await tx.insert(table).values(moved.length > 0 ? [fresh] : [{ ...fresh, state: 'current' as const }, successor]);
  return true;
}

async function forget(app: Platform, tx: Db): Promise<boolean> {
  const { definition_keys: table } = app.store.tables;
  const gone = await tx
    .delete(table)
    .where(and(eq(table.state, 'retired'), lt(table.since, forgottenBefore(app))))
    .returning({ kid: table.kid });
  return gone.length > 0;
}

const isOver = (app: Platform, since: string): boolean => Date.parse(since) + ROTATE_MS <= app.clock().getTime();
const forgottenBefore = (app: Platform): string => new Date(app.clock().getTime() - OVERLAP_MS).toISOString();

async function currentRow(app: Platform, db: Db): Promise<KeyRow | undefined> {
  const { definition_keys: table } = app.store.tables;
  return (await db.select().from(table).where(eq(table.state, 'current')))[0];
}

async function newKey(app: Platform): Promise<KeyRow> {
  const pair = await generateKeyPair(SIGNATURE_ALGORITHM, { extractable: true });
  const kid = await calculateJwkThumbprint(pair.publicKey);
  const public_key = { ...(await exportJWK(pair.publicKey)), kid, alg: SIGNATURE_ALGORITHM, use: 'sig' };
  const sealed = app.keyring.seal(JSON.stringify(await exportJWK(pair.privateKey)), pathOf(kid));
  const now = app.clock().toISOString();
  return { kid, state: 'next', public_key, private_key: { $sealed: sealed }, created_at: now, since: now };
}
