import type { Platform } from '#core/platform/platform.ts';
import type { WithHosts } from '#core/hosts/host-registry.ts';
import { and, eq, gt, inArray, lt, lte, max, or } from 'drizzle-orm';
import { databaseTime } from '#core/platform/leases.ts';
import { readRevision } from '#core/hosts/confirmed-lists.ts';
import type { Db } from '#core/store/store.ts';
import type { Schema } from '#core/store/schema.ts';
import { CLOCKS_MS, expiredBefore, pushIdentity, touchIdentity } from './published.ts';

/**
 * Maximum difference between the clocks of servers. A deleted person gets no new tokens, so ending theirs that much later is
 * safe.
 */
const SKEW_MS = 60_000;

/** The access tokens that end: those of one grant, of a person, or of a client. */
export type EndedTarget = { readonly grant: string } | { readonly sub: string } | { readonly client_id: string };

type IssuingGrant = Pick<Schema['oauth_grants']['$inferSelect'], 'id' | 'person_id' | 'client_id'>;

/**
 * Records in this transaction that access tokens issued until now are invalid. Call `pushIdentity` after the commit: within a
 * second, connected hosts refuse these tokens and close their sessions.
 */
export async function recordEndedGrants(app: Platform, tx: Db, target: EndedTarget): Promise<void> {
  const { ended_grants } = app.store.tables;
  const [entry] = Object.entries(target);
  if (entry === undefined) return;
  const [kind, value] = entry as ['grant' | 'sub' | 'client_id', string];
  const id = `${kind}:${value}`;
  const latest = await latestTime(app, tx);
  const issued = kind === 'sub' ? await lastIssue(app, tx, value, latest) : 0;
  const time = Math.max(app.clock().getTime(), issued, await afterEnds(app, tx, [id], latest));
  const ended_at = new Date(time).toISOString();
  await tx
    .insert(ended_grants)
    .values({ id, kind, value, ended_at })
    .onConflictDoUpdate({ target: ended_grants.id, set: { ended_at } });
  await tx.delete(ended_grants).where(lt(ended_grants.ended_at, expiredBefore(app)));
  const seq = await touchIdentity(app, tx);
  await tx.update(ended_grants).set({ seq }).where(eq(ended_grants.id, id));
}

/**
 * Times later than this were stored by a server whose clock was wrong, and are ignored. If this server's clock is behind, the
 * database's time counts.
 */
async function latestTime(app: Platform, tx: Db): Promise<string> {
  const time = Math.max(app.clock().getTime(), await databaseTime(app, tx));
  return new Date(time + CLOCKS_MS).toISOString();
}

/** The latest time, in ms, at which any server can have issued an access token to a person, by that server's clock. */
async function lastIssue({ store, clock }: Platform, tx: Db, sub: string, latest: string): Promise<number> {
  const { oauth_grants, people } = store.tables;
  if ((await tx.$count(people, eq(people.id, sub))) === 0) return clock().getTime() + SKEW_MS;
  const [row] = await tx
    .select({ last: max(oauth_grants.last_used_at) })
    .from(oauth_grants)
    .where(and(eq(oauth_grants.person_id, sub), lte(oauth_grants.last_used_at, latest)));
  return row?.last == null ? 0 : Date.parse(row.last);
}

/** The first millisecond after the recorded ends. 0: none is recorded. */
async function afterEnds({ store }: Platform, tx: Db, ids: readonly string[], latest: string): Promise<number> {
  const { ended_grants } = store.tables;
  const [row] = await tx
    .select({ last: max(ended_grants.ended_at) })
    .from(ended_grants)
    .where(and(inArray(ended_grants.id, [...ids]), lte(ended_grants.ended_at, latest)));
  return row?.last == null ? 0 : Date.parse(row.last) + 1;
}

/**
 * The issue time of a token in this transaction, which locks its person: now, or just after the time at which another server, by
 * its clock, ended grants. The grant stores the latest issue time, so that ending it covers this token.
 */
export async function issueTime(app: Platform, tx: Db, { id, person_id, client_id }: IssuingGrant): Promise<Issued> {
  const { oauth_grants: table } = app.store.tables;
  const now = app.clock();
  const last_used_at = now.toISOString();
  const latest = await latestTime(app, tx);
  const is_stale = or(lt(table.last_used_at, last_used_at), gt(table.last_used_at, latest));
  await tx
    .update(table)
    .set({ last_used_at })
    .where(and(eq(table.id, id), is_stale));
  const ids = [`sub:${person_id}`, `client_id:${client_id}`];
  await endNow(app, tx, ids, latest);
  const after = await afterEnds(app, tx, ids, latest);
  return { issued_at: new Date(Math.max(now.getTime(), after)), seq: await readRevision(app, 'identity', tx) };
}

/** The issue time of a token, and its position in the order of the database, which decides when clocks differ too much. */
export interface Issued {
  readonly issued_at: Date;
  readonly seq: number;
}

/**
 * Moves ends in the far future to the present. Hosts would refuse every token until then. They receive the change within a
 * second.
 */
async function endNow(app: Platform, tx: Db, ids: readonly string[], latest: string): Promise<void> {
  const { ended_grants } = app.store.tables;
  const moved = await tx
    .update(ended_grants)
    .set({ ended_at: app.clock().toISOString() })
    .where(and(inArray(ended_grants.id, [...ids]), gt(ended_grants.ended_at, latest)))
    .returning({ id: ended_grants.id });
  if (moved.length > 0) await touchIdentity(app, tx);
}

/** `recordEndedGrants` in a new transaction. Resolves when every connected host has confirmed it. */
export async function endGrants(app: Platform & WithHosts, target: EndedTarget): Promise<void> {
  await app.store.write((tx) => recordEndedGrants(app, tx, target));
  await pushIdentity(app);
}
