import type { Platform } from '#core/platform/platform.ts';
import type { WithHosts } from '#core/hosts/host-registry.ts';
import { asc, gte } from 'drizzle-orm';
import type { JWK } from 'jose';
import { afterCommit } from '#core/platform/after-commit.ts';
import { runEvery } from '#core/platform/run-every.ts';
import { signal } from '#core/platform/signals.ts';
import type { HostEvent, EndedGrant, IdentityList } from '#core/contract/deploy/control.ts';
import { raiseRevision, readRevision } from '#core/hosts/list-revisions.ts';
import { listName, CONFIRM_TIMEOUT_MS } from '#core/hosts/confirmed-lists.ts';
import type { Db } from '#core/store/store.ts';
import { LONGEST_TOKEN_MS } from '#core/edge/identity.ts';
import { issuerOf } from '#core/settings/public-urls.ts';

const FOLLOW_MS = 500;

/** Clocks of servers and hosts may differ by so much. */
export const CLOCKS_MS = 10 * 60_000;

/** What happened before this concerns no token any more. */
export const expiredBefore = (app: Platform): string =>
  new Date(app.clock().getTime() - LONGEST_TOKEN_MS - CLOCKS_MS).toISOString();

/** The public keys that tokens may be verified with: the current one, the next one, and those retired lately. */
export async function publicKeys(app: Platform): Promise<JWK[]> {
  const { signing_keys } = app.store.tables;
  const rows = await app.store.db.select().from(signing_keys).orderBy(asc(signing_keys.created_at), asc(signing_keys.kid));
  return rows.map(({ public_key }) => public_key);
}

/** What hosts are to refuse; tokens older than the longest lifetime have expired by themselves. */
export async function listEnded(app: Platform): Promise<EndedGrant[]> {
  const { ended_grants } = app.store.tables;
  const rows = await app.store.db
    .select()
    .from(ended_grants)
    .where(gte(ended_grants.ended_at, expiredBefore(app)))
    .orderBy(asc(ended_grants.id));
  return rows.map(({ kind, value, ended_at, seq }) => {
    const until = { before: Date.parse(ended_at) / 1_000, ...(seq === null ? {} : { seq }) };
    if (kind === 'grant') return { grant: value, ...until };
    return kind === 'sub' ? { sub: value, ...until } : { client_id: value, ...until };
  });
}

/** What verifies access tokens of signed-in people without asking anybody. */
export async function identityList(app: Platform): Promise<IdentityList> {
  const [issuer, keys, ended] = await Promise.all([issuerOf(app), publicKeys(app), listEnded(app)]);
  return { issuer, jwks: { keys }, ended, as_of: app.clock().toISOString() };
}

export async function identityEvent(app: Platform): Promise<HostEvent> {
  // First: what is read after it is no older.
  const list = listName('identity', await readRevision(app, 'identity'));
  return { event: 'identity', data: { ...(await identityList(app)), list } };
}

/** Every host connected to this server hears how things stand. One after the other, so that an older list never comes last. */
export const publishIdentity = (app: Platform & WithHosts): Promise<void> =>
  app.token_lock(async () => app.hosts.publish(await identityEvent(app)));

/**
 * The hosts of every server. Called after a commit that touched it. What the API has answered holds on all that say what they take;
 * when they cannot be told now, `followIdentity` does it within half a second of the first read that succeeds.
 */
export async function pushIdentity(app: Platform & WithHosts): Promise<void> {
  await afterCommit(app, 'telling hosts whose access ended', async () => {
    const list = listName('identity', await readRevision(app, 'identity'));
    await app.hosts.told(list, CONFIRM_TIMEOUT_MS, () => Promise.all([publishIdentity(app), signal(app, 'identity')]));
  });
}

/** Other servers see that something has changed. */
export const touchIdentity = (app: Platform, tx: Db): Promise<number> => raiseRevision(app, tx, 'identity');

/** Hands the changes that other servers make, and those of the settings, to the hosts of this one. @returns a function that ends it. */
export function followIdentity(app: Platform & WithHosts): () => void {
  let known: string | null = null;
  const look = async (): Promise<void> => {
    const current = `${await readRevision(app, 'identity')} ${await issuerOf(app)}`;
    if (current === known) return;
    await publishIdentity(app);
    known = current;
  };
  // The command line changes an embedded database too.
  return runEvery(app, { every_ms: FOLLOW_MS, what: 'reading the signing keys', work: look, wake: 'identity' });
}
