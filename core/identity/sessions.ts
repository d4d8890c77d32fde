import type { Platform } from '#core/platform/platform.ts';
import { and, eq, isNull, type SQL } from 'drizzle-orm';
import { reasonOf } from '#core/process/log.ts';
import { auditOf, enterAudit } from '#core/records/audit-log.ts';
import type { Db } from '#core/store/store.ts';
import type { Schema } from '#core/store/schema.ts';
import type { Actor, Context } from '#core/context/context.ts';
import { signSession, verifySession } from '#core/edge/session-token.ts';

/** A session ends 24 h after sign-in, or after 8 h without a request. */
export const SESSION_MS = 24 * 3_600_000;
const IDLE_MS = 8 * 3_600_000;
const SEEN_EVERY_MS = 60_000;

type SessionRow = Schema['sessions']['$inferSelect'];

/** @returns the token of a new session of this person. */
export async function openSession(context: Context, tx: Db, person_id: string): Promise<string> {
  const { app, ip, user_agent } = context;
  const id = app.ids();
  const now = app.clock();
  const expires = new Date(now.getTime() + SESSION_MS);
  await tx.insert(app.store.tables.sessions).values({
    id,
    person_id,
    ip,
    user_agent: user_agent?.slice(0, 500) ?? null,
    created_at: now.toISOString(),
    last_seen_at: now.toISOString(),
    expires_at: expires.toISOString(),
    revoked_at: null,
  });
  const [person] = await tx
    .update(app.store.tables.people)
    .set({ last_seen_at: now.toISOString() })
    .where(eq(app.store.tables.people.id, person_id))
    .returning({ username: app.store.tables.people.username });
  const actor = { type: 'person', id: person_id, name: person?.username ?? null };
  await enterAudit(app, tx, [
    auditOf(context, { kind: 'sign_in', actor, outcome: 'ok', detail: { step: 'session', session: id } }),
  ]);
  return signSession(app.env.SVC_JWT_SECRET, { sub: person_id, sid: id }, now, expires);
}

/** The current actor of a session token. Null when the token, its session or the account is not valid any more. */
export async function authenticate(app: Platform, token: string): Promise<Actor | null> {
  const now = app.clock();
  const claims = await verifySession(app.env.SVC_JWT_SECRET, token, now);
  if (claims === null) return null;
  const { sessions, people } = app.store.tables;
  const rows = await app.store.db
    .select({ session: sessions, username: people.username, role: people.role, enabled: people.enabled })
    .from(sessions)
    .innerJoin(people, eq(people.id, sessions.person_id))
    .where(and(eq(sessions.id, claims.sid), eq(sessions.person_id, claims.sub)));
  const found = rows[0];
  if (found === undefined || !found.enabled || !isLive(found.session, now)) return null;
  if (now.getTime() - Date.parse(found.session.last_seen_at) > SEEN_EVERY_MS) {
    await noteUse(app, async (tx) => {
      const seen = { last_seen_at: now.toISOString() };
      await tx.update(sessions).set(seen).where(eq(sessions.id, claims.sid));
      await tx.update(people).set(seen).where(eq(people.id, claims.sub));
    });
  }
  const { username, role } = found;
  return { type: 'admin', id: claims.sub, name: username, scopes: ['read', 'write', 'deploy'], role, session_id: claims.sid };
}

/** Records the use of a credential. A failure, such as a full disk, does not refuse the request. */
export async function noteUse(app: Platform, work: (tx: Db) => Promise<void>): Promise<void> {
  await app.store.write(work).catch((error: unknown) => {
    app.log.warning('the use of a credential was not stored', { reason: reasonOf(error) });
  });
}

/** Whether the session of an actor is still valid, with the same role. The check does not count as use. */
export async function isSessionLive(app: Platform, { session_id, role }: Actor): Promise<boolean> {
  const { sessions, people } = app.store.tables;
  const [found] = await app.store.db
    .select({ session: sessions, role: people.role, enabled: people.enabled })
    .from(sessions)
    .innerJoin(people, eq(people.id, sessions.person_id))
    .where(eq(sessions.id, session_id ?? ''));
  return found !== undefined && found.enabled && found.role === role && isLive(found.session, app.clock());
}

export const isLive = (row: SessionRow, now: Date): boolean =>
  row.revoked_at === null && Date.parse(row.expires_at) > now.getTime() && Date.parse(row.last_seen_at) + IDLE_MS > now.getTime();

/** @returns how many valid sessions were revoked. */
export async function revokeSessions(app: Platform, tx: Db, where: SQL | undefined): Promise<number> {
  const { sessions } = app.store.tables;
  const ended = await tx
    .update(sessions)
    .set({ revoked_at: app.clock().toISOString() })
    .where(and(where, isNull(sessions.revoked_at)))
    .returning({ id: sessions.id });
  return ended.length;
}
