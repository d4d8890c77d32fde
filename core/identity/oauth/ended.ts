import { and, eq, inArray, lt, max } from 'drizzle-orm';
import type { App } from '#core/app.ts';
import type { Db } from '#core/store/open.ts';
import { expiredBefore, tellIdentity, touchIdentity } from './published.ts';

/** Clocks of servers agree within this. Nothing is issued to who is disabled or gone, so what counts no more may end that much later. */
const SKEW_MS = 60_000;

/** Whose access tokens end: those of one grant, of a person, or of a client. */
export type EndedTarget = { readonly grant: string } | { readonly sub: string } | { readonly client_id: string };

/**
 * Notes in this transaction that access tokens issued until now count no more. Call `tellIdentity` after the commit: connected hosts
 * refuse them, and end what they opened, within a second.
 */
export async function noteEnded(app: App, tx: Db, target: EndedTarget): Promise<void> {
  const { ended_grants } = app.store.tables;
  const [entry] = Object.entries(target);
  if (entry === undefined) return;
  const [kind, value] = entry as ['grant' | 'sub' | 'client_id', string];
  const id = `${kind}:${value}`;
  const ahead = kind === 'sub' && !(await isEnabled(app, tx, value)) ? SKEW_MS : 0;
  const time = Math.max(app.clock().getTime() + ahead, await afterEnds(app, tx, [id]));
  const ended_at = new Date(time).toISOString();
  await tx
    .insert(ended_grants)
    .values({ id, kind, value, ended_at })
    .onConflictDoUpdate({ target: ended_grants.id, set: { ended_at } });
  await tx.delete(ended_grants).where(lt(ended_grants.ended_at, expiredBefore(app)));
  await touchIdentity(app, tx);
}

async function isEnabled({ store }: App, tx: Db, id: string): Promise<boolean> {
  const { people } = store.tables;
  return (await tx.$count(people, and(eq(people.id, id), eq(people.enabled, true)))) > 0;
}

/** The first moment after the noted ends, in ms; 0: none is noted. */
async function afterEnds({ store }: App, tx: Db, ids: readonly string[]): Promise<number> {
  const { ended_grants } = store.tables;
  const [row] = await tx
    .select({ last: max(ended_grants.ended_at) })
    .from(ended_grants)
    .where(inArray(ended_grants.id, [...ids]));
  return row?.last == null ? 0 : Date.parse(row.last) + 1;
}

/** When a token is issued in this transaction: now, or right after what another server ended by its own clock. */
export async function issueTime(app: App, tx: Db, sub: string, client_id: string): Promise<Date> {
  const after = await afterEnds(app, tx, [`sub:${sub}`, `client_id:${client_id}`]);
  return new Date(Math.max(app.clock().getTime(), after));
}

/** `noteEnded` with a transaction of its own; every connected host has been told when it resolves. */
export async function endGrants(app: App, target: EndedTarget): Promise<void> {
  await app.store.write((tx) => noteEnded(app, tx, target));
  await tellIdentity(app);
}
