import type { Platform } from '#core/platform/platform.ts';
import type { WithHosts } from '#core/hosts/host-registry.ts';
import { and, eq, lt } from 'drizzle-orm';
import { calculateJwkThumbprint, exportJWK, generateKeyPair, importJWK, type JWK, SignJWT } from 'jose';
import { withLease } from '#core/platform/leases.ts';
import { runEvery } from '#core/platform/run-every.ts';
import { readSettings } from '#core/settings/settings.ts';
import { AppError } from '#core/errors.ts';
import type { Db } from '#core/store/store.ts';
import type { Schema } from '#core/store/schema.ts';
import { ACCESS_TOKEN_ALGORITHM, type AccessTokenClaims } from '#core/edge/identity.ts';
import { issuerOf } from '#core/settings/public-urls.ts';
import { expiredBefore, pushIdentity, touchIdentity } from './published.ts';

type KeyRow = Schema['signing_keys']['$inferSelect'];

const DAY_MS = 24 * 3_600_000;
/** How long a key signs. Hosts receive the next key this long before it is used. */
export const ROTATE_MS = 90 * DAY_MS;
const LOOK_MS = 60_000;
/** The `auth_type` with which people sign in from MCP clients. */
const AUTH_TYPE: string = 'oauth';
const LEASE = 'signing_keys';
const WAIT_MS = 100;
const WAITS = 50;

interface Rotation {
  readonly now?: boolean;
  readonly noteRotation?: (tx: Db, before: string | null, after: string) => Promise<void>;
}

const pathOf = (kid: string): string => `signing_key/${kid}/private_key`;

/** When the current signing key came into use, and when the next one will. Null when there are no keys. */
export async function keyRotation(app: Platform): Promise<{ since: string; rotates_at: string } | null> {
  const current = await currentKey(app, app.store.db);
  if (current === undefined) return null;
  return { since: current.since, rotates_at: new Date(Date.parse(current.since) + ROTATE_MS).toISOString() };
}

/**
 * Signs an access token of a signed-in person (RFC 9068) with the current key.
 * @param seconds lifetime.
 * @param issued_at now by default. To the millisecond (RFC 7519 section 2), so that a token issued after an end in the same
 * second is valid.
 */
export async function signAccessToken(
  app: Platform & WithHosts,
  claims: AccessTokenClaims,
  seconds: number,
  issued_at: Date = app.clock(),
): Promise<string> {
  const { kid, private_key } = (await currentKey(app, app.store.db)) ?? (await firstKey(app));
  if (private_key === null) throw new AppError('internal', 'The signing key has no private part.');
  const key = await importJWK(JSON.parse(app.keyring.open(private_key.$sealed, pathOf(kid))) as JWK, ACCESS_TOKEN_ALGORITHM);
  return new SignJWT({ ...claims })
    .setProtectedHeader({ alg: ACCESS_TOKEN_ALGORITHM, typ: 'at+jwt', kid })
    .setIssuer(await issuerOf(app))
    .setIssuedAt(issued_at.getTime() / 1_000)
    .setExpirationTime(Math.floor(issued_at.getTime() / 1_000) + seconds)
    .setJti(crypto.randomUUID())
    .sign(key);
}

/**
 * Creates the first keys, rotates them when due, and deletes those retired long ago, on one server at a time.
 * @param now rotates even if not due. @param noteRotation is called in the transaction that rotates the keys.
 * @returns whether anything changed.
 */
export async function rotateKeys(app: Platform & WithHosts, { now = false, noteRotation }: Rotation = {}): Promise<boolean> {
  const changed = await withLease(app, LEASE, async (held) => {
    const fresh = await newKey(app);
    return held.store.write(async (tx) => {
      const before = await currentKey(app, tx);
      const rotated = await rotate(app, tx, before, fresh, now);
      const forgotten = await forget(app, tx);
      if (rotated || forgotten) await touchIdentity(app, tx);
      const after = rotated ? await currentKey(app, tx) : undefined;
      if (after !== undefined) await noteRotation?.(tx, before?.kid ?? null, after.kid);
      return rotated || forgotten;
    });
  });
  if (changed === true) await pushIdentity(app);
  return changed === true;
}

/** @returns a function that stops it. */
export const keepSigningKeys = (app: Platform & WithHosts): (() => void) =>
  runEvery(app, {
    every_ms: LOOK_MS,
    what: 'rotating the signing keys',
    at_once: true,
    work: async () => {
      if (await isDue(app)) await rotateKeys(app);
    },
  });

async function rotate(app: Platform, tx: Db, current: KeyRow | undefined, fresh: KeyRow, now: boolean): Promise<boolean> {
  const { signing_keys } = app.store.tables;
  const time = app.clock();
  const since = time.toISOString();
  if (current === undefined) {
    const successor = await newKey(app);
    await tx.insert(signing_keys).values([{ ...fresh, state: 'current' }, successor]);
    return true;
  }
  if (!now && Date.parse(current.since) + ROTATE_MS > time.getTime()) return false;
  // If the lease expired in between, another server has already retired the key.
  const retired = await tx
    .update(signing_keys)
    .set({ state: 'retired', since, private_key: null })
    .where(and(eq(signing_keys.kid, current.kid), eq(signing_keys.state, 'current')))
    .returning({ kid: signing_keys.kid });
  if (retired.length === 0) return false;
  const moved = await tx
    .update(signing_keys)
    .set({ state: 'current', since })
    .where(eq(signing_keys.state, 'next'))
    .returning({ kid: signing_keys.kid });
  const successors = moved.length > 0 ? [fresh] : [{ ...fresh, state: 'current' as const }, await newKey(app)];
  await tx.insert(signing_keys).values(successors);
  return true;
}

async function forget(app: Platform, tx: Db): Promise<boolean> {
  const { signing_keys } = app.store.tables;
  const gone = await tx
    .delete(signing_keys)
    .where(and(eq(signing_keys.state, 'retired'), lt(signing_keys.since, expiredBefore(app))))
    .returning({ kid: signing_keys.kid });
  return gone.length > 0;
}

/** Whether a rotation or a cleanup is due, checked without taking the lease. */
async function isDue(app: Platform): Promise<boolean> {
  const { signing_keys } = app.store.tables;
  const rows = await app.store.db.select({ state: signing_keys.state, since: signing_keys.since }).from(signing_keys);
  const now = app.clock().getTime();
  // An installation whose MCP clients do not sign in has no keys.
  if (rows.length === 0) return (await readSettings(app)).settings.auth_type === AUTH_TYPE;
  const current = rows.find(({ state }) => state === 'current');
  if (current === undefined || Date.parse(current.since) + ROTATE_MS <= now) return true;
  return rows.some(({ state, since }) => state === 'retired' && since < expiredBefore(app));
}

async function currentKey(app: Platform, db: Db): Promise<KeyRow | undefined> {
  const { signing_keys } = app.store.tables;
  return (await db.select().from(signing_keys).where(eq(signing_keys.state, 'current')))[0];
}

/** Creates the first keys while the person is still deciding, so that every connected host has them before the first token. */
export async function prepareKeys(app: Platform & WithHosts): Promise<void> {
  if ((await currentKey(app, app.store.db)) === undefined) await firstKey(app);
}

/** Another server may be creating it at the same time. */
async function firstKey(app: Platform & WithHosts): Promise<KeyRow> {
  for (let left = WAITS; left > 0; left--) {
    await rotateKeys(app);
    const key = await currentKey(app, app.store.db);
    if (key !== undefined) return key;
    await app.sleep(WAIT_MS);
  }
  throw new AppError('unavailable', 'The signing key is being created. Try again in a moment.', { retry_after: 1 });
}

async function newKey(app: Platform): Promise<KeyRow> {
  const pair = await generateKeyPair(ACCESS_TOKEN_ALGORITHM, { extractable: true });
  const kid = await calculateJwkThumbprint(pair.publicKey);
  const public_key = { ...(await exportJWK(pair.publicKey)), kid, alg: ACCESS_TOKEN_ALGORITHM, use: 'sig' };
  const sealed = app.keyring.seal(JSON.stringify(await exportJWK(pair.privateKey)), pathOf(kid));
  const now = app.clock().toISOString();
  return { kid, state: 'next', public_key, private_key: { $sealed: sealed }, created_at: now, since: now };
}
