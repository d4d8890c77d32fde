import { eq } from 'drizzle-orm';
import type { Db } from '#core/store/open.ts';
import type { Schema } from '#core/store/schema.ts';
import { AppError } from '#core/errors.ts';
import type { Context } from '#core/run.ts';
import { verifyPassword } from '#core/lib/passwords.ts';
import { recordHistory } from '#core/observe/history.ts';
import { openSession, revokeSessions } from './sessions.ts';

export type AdminRow = Schema['admins']['$inferSelect'];

/** Where the TOTP secret of an account belongs: the associated data of its ciphertext. */
export const totpPlace = (admin_id: string): string => `admin/${admin_id}/totp_secret`;

export async function currentAdmin({ app, actor }: Context): Promise<AdminRow> {
  const { admins } = app.store.tables;
  const rows = await app.store.db
    .select()
    .from(admins)
    .where(eq(admins.id, actor?.id ?? ''));
  if (rows[0] === undefined) throw new AppError('unauthenticated', 'This account no longer exists. Sign in again.');
  return rows[0];
}

export async function adminByName({ app }: Context, username: string): Promise<AdminRow | null> {
  const { admins } = app.store.tables;
  const rows = await app.store.db.select().from(admins).where(eq(admins.username, username));
  return rows[0] ?? null;
}

/** Refuses at `field` when the password is not that of the account. */
export async function requirePassword(admin: AdminRow, password: string, field: string): Promise<void> {
  if (await verifyPassword(password, admin.password_hash)) return;
  const message = `${field} is wrong.`;
  throw new AppError('forbidden', message, { errors: [{ field, message }] });
}

export interface AccountChange {
  readonly set: Partial<Omit<AdminRow, 'id' | 'slot'>>;
  /** What history keeps: no secret, no hash. */
  readonly before: Record<string, unknown>;
  readonly after: Record<string, unknown>;
}

/**
 * The one way to change name, password or second factor: history, end of every session and of every sign-in that is half
 * done, all in one transaction; the caller's own session begins anew.
 */
export async function changeAccount(
  context: Context,
  { id }: AdminRow,
  work: (tx: Db) => Promise<AccountChange>,
): Promise<{ admin: AdminRow; sessions_ended: number }> {
  const { app, actor } = context;
  const { admins, sessions, pending_logins } = app.store.tables;
  const { token, ...result } = await app.store.write(async (tx) => {
    const { set, before, after } = await work(tx);
    const [stored] = await tx.select().from(admins).where(eq(admins.id, id));
    if (stored === undefined) throw new AppError('unauthenticated', 'This account no longer exists. Sign in again.');
    const change = { ...renewed(context, stored), ...set, updated_at: app.clock().toISOString() };
    await tx.update(admins).set(change).where(eq(admins.id, id));
    const admin = { ...stored, ...change };
    await recordHistory(tx, context, {
      entity_type: 'admin',
      entity_id: id,
      entity_name: admin.username,
      action: 'update',
      before,
      after,
    });
    await tx.delete(pending_logins).where(eq(pending_logins.admin_id, id));
    const sessions_ended = await revokeSessions(app, tx, eq(sessions.admin_id, id));
    const mine = actor?.id === id && actor.session_id !== undefined;
    return { admin, sessions_ended, token: mine ? await openSession(context, tx, id) : null };
  });
  if (token !== null) context.setSession?.(token);
  return result;
}

/** The TOTP secret sealed again, when an older key sealed it. */
function renewed({ app: { keyring } }: Context, { id, totp_secret }: AdminRow): Pick<AccountChange['set'], 'totp_secret'> {
  if (totp_secret === null || !keyring.stale(totp_secret.$sealed)) return {};
  const place = totpPlace(id);
  return { totp_secret: { $sealed: keyring.seal(keyring.open(totp_secret.$sealed, place), place) } };
}
