import type { Platform } from '#core/platform/platform.ts';
import type { WithHosts } from '#core/hosts/host-registry.ts';
import { asc, gte } from 'drizzle-orm';
import type { JWK } from 'jose';
import { afterCommit } from '#core/platform/after-commit.ts';
import { type Outcome, runEvery } from '#core/platform/run-every.ts';
import { signal } from '#core/platform/signals.ts';
import type { HostEvent, EndedGrant, IdentityList } from '#core/contract/deploy/control.ts';
import { raiseRevision, readRevision } from '#core/hosts/confirmed-lists.ts';
import { listName, CONFIRM_TIMEOUT_MS } from '#core/hosts/confirmed-lists.ts';
import type { Db } from '#core/store/store.ts';
import { LONGEST_TOKEN_MS } from '#core/edge/identity.ts';
import { issuerOf } from '#core/settings/public-urls.ts';

const FOLLOW_MS = 500;

/** Maximum difference between the clocks of servers and hosts. */
export const CLOCKS_MS = 10 * 60_000;

/** All tokens of grants that ended before this time have expired. */
export const expiredBefore = (app: Platform): string =>
  new Date(app.clock().getTime() - LONGEST_TOKEN_MS - CLOCKS_MS).toISOString();

/** The public keys for verifying tokens: the current key, the next one, and recently retired ones. */
export async function publicKeys(app: Platform): Promise<JWK[]> {
  const { signing_keys } = app.store.tables;
  const rows = await app.store.db.select().from(signing_keys).orderBy(asc(signing_keys.created_at), asc(signing_keys.kid));
  return rows.map(({ public_key }) => public_key);
}

/** The ended grants whose tokens hosts must refuse. Tokens older than the longest lifetime have expired anyway. */
export async function listEnded(app: Platform): Promise<EndedGrant[]> {
  const { ended_grants } = app.store.tables;
  const rows = await app.store.db
    .select()
    .from(ended_grants)
    .where(gte(ended_grants.ended_at, expiredBefore(app)))
    .orderBy(asc(ended_grants.id));
  return rows.map(({ kind, value, ended_at, seq }) => {
    const until = { before: Date.parse(ended_at) / 1_000, seq: seq ?? 0 };
    if (kind === 'grant') return { grant: value, ...until };
    return kind === 'sub' ? { sub: value, ...until } : { client_id: value, ...until };
  });
}

/** Lets hosts verify access tokens of signed-in people without a request. */
export async function identityList(app: Platform): Promise<IdentityList> {
  const [issuer, keys, ended] = await Promise.all([issuerOf(app), publicKeys(app), listEnded(app)]);
  return { issuer, jwks: { keys }, ended, as_of: app.clock().toISOString() };
}

export async function identityEvent(app: Platform): Promise<HostEvent> {
  // The revision is read first, so that the list is at least as new as its revision.
  const list = listName('identity', await readRevision(app, 'identity'));
  return { event: 'identity', data: { ...(await identityList(app)), list } };
}

/**
 * Sends the current list to every host connected to this server. Sends run one after the other, so that an older list never
 * arrives last.
 */
const publishIdentity = (app: Platform & WithHosts): Promise<void> =>
  app.hosts.sendList(async () => app.hosts.publish(await identityEvent(app)));

/**
 * Sends the list to the hosts of every server. Call it after a commit that changed the list. Resolves when all hosts that confirm
 * lists have this one. If it fails, `followIdentity` sends the list within half a second of the first successful read.
 */
export async function pushIdentity(app: Platform & WithHosts): Promise<void> {
  await afterCommit(app, 'telling hosts whose access ended', async () => {
    const list = listName('identity', await readRevision(app, 'identity'));
    await app.hosts.sendAndConfirm(list, CONFIRM_TIMEOUT_MS, () => Promise.all([publishIdentity(app), signal(app, 'identity')]));
  });
}

/** Raises the revision, so that other servers notice the change. */
export const touchIdentity = (app: Platform, tx: Db): Promise<number> => raiseRevision(app, tx, 'identity');

/** Sends changes of other servers and of the settings to the hosts of this server. @returns a function that stops it. */
export function followIdentity(app: Platform & WithHosts): () => void {
  let known: string | null = null;
  const look = async (): Promise<Outcome> => {
    const current = `${await readRevision(app, 'identity')} ${await issuerOf(app)}`;
    if (current !== known) await publishIdentity(app);
    known = current;
    return 'idle';
  };
  // The command line can change an embedded database too.
  return runEvery(app, { every_ms: FOLLOW_MS, what: 'reading the signing keys', work: look, wake: 'identity' });
}
