import { lt } from 'drizzle-orm';
import type { App } from '#core/app.ts';
import type { Db } from '#core/store/open.ts';
import { expiredBefore, tellIdentity, touchIdentity } from './published.ts';

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
  const ended_at = app.clock().toISOString();
  await tx
    .insert(ended_grants)
    .values({ id: `${kind}:${value}`, kind, value, ended_at })
    .onConflictDoUpdate({ target: ended_grants.id, set: { ended_at } });
  await tx.delete(ended_grants).where(lt(ended_grants.ended_at, expiredBefore(app)));
  await touchIdentity(app, tx);
}

/** `noteEnded` with a transaction of its own; every connected host has been told when it resolves. */
export async function endGrants(app: App, target: EndedTarget): Promise<void> {
  await app.store.write((tx) => noteEnded(app, tx, target));
  await tellIdentity(app);
}
