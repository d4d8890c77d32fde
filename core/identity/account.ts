import type { Platform } from '#core/platform/platform.ts';
import { eq } from 'drizzle-orm';
import type { Db } from '#core/store/store.ts';
import type { Schema } from '#core/store/schema.ts';
import { AppError } from '#core/errors.ts';
import type { Context } from '#core/context/context.ts';
import type { Role } from '#core/contract/roles.ts';
import { verifyPassword } from '#core/identity/passwords.ts';
import { recordHistory } from '#core/records/history.ts';
import { lockEntityWrites } from '#core/store/journal.ts';
import { openSession, revokeSessions } from './sessions.ts';

export type PersonRow = Schema['people']['$inferSelect'];

/** The associated data of an encrypted TOTP secret, which binds it to its account. */
export const totpPath = (person_id: string): string => `admin/${person_id}/totp_secret`;

export const NO_INVITATION = { invite_digest: null, invite_expires_at: null, invited_by: null } as const;

/** A row for a person without a password. @param now ISO 8601. */
export const newPerson = (id: string, username: string, role: Role, now: string): PersonRow => ({
  id,
  slot: null,
  username,
  display_name: null,
  email: null,
  role,
  groups: [],
  enabled: true,
  sign_in: 'password',
  password_hash: null,
  totp_secret: null,
  totp_enabled: false,
  totp_last_step: null,
  ...NO_INVITATION,
  last_seen_at: null,
  version: 1,
  created_at: now,
  updated_at: now,
});

/** Whether a person can sign in, with a password or through an identity provider. Invited people cannot yet. */
export const canSignIn = ({ password_hash, sign_in }: PersonRow): boolean => password_hash !== null || sign_in === 'oidc';

export async function currentPerson({ app, actor }: Context): Promise<PersonRow> {
  const { people } = app.store.tables;
  const rows = await app.store.db
    .select()
    .from(people)
    .where(eq(people.id, actor?.id ?? ''));
  if (rows[0] === undefined) throw new AppError('unauthenticated', 'This account no longer exists. Sign in again.');
  return rows[0];
}

export async function personByName({ app }: Context, username: string): Promise<PersonRow | null> {
  const { people } = app.store.tables;
  const rows = await app.store.db.select().from(people).where(eq(people.username, username));
  return rows[0] ?? null;
}

/** Throws an error at `field` when the password is not the one of the account. */
export async function requirePassword(person: PersonRow, password: string, field: string): Promise<void> {
  if (await verifyPassword(password, person.password_hash)) return;
  const message = `${field} is wrong.`;
  throw new AppError('forbidden', message, { errors: [{ field, message }] });
}

export interface AccountChange {
  readonly set: Partial<Omit<PersonRow, 'id' | 'slot'>>;
  /** Fields for the history, without secrets and hashes. */
  readonly before: Record<string, unknown>;
  readonly after: Record<string, unknown>;
}

/**
 * Changes the name, password or second factor of an account. One transaction records the history, ends all sessions and
 * unfinished sign-ins, and starts a new session for the caller.
 */
export async function changeAccount(
  context: Context,
  { id, password_hash }: PersonRow,
  work: (tx: Db) => Promise<AccountChange>,
): Promise<{ person: PersonRow; sessions_ended: number }> {
  const { app, actor } = context;
  const { people, sessions } = app.store.tables;
  const { token, ...result } = await app.store.write(async (tx) => {
    await lockEntityWrites(app.store, tx);
    const { set, before, after } = await work(tx);
    const [stored] = await tx.select().from(people).where(eq(people.id, id));
    if (stored === undefined) throw new AppError('unauthenticated', 'This account no longer exists. Sign in again.');
    // The password may have changed since it was checked.
    if (stored.password_hash !== password_hash) {
      throw new AppError('conflict', 'The password of this account was changed in the meantime. Try again.');
    }
    const change = { ...renewed(context, stored), ...set, version: stored.version + 1, updated_at: app.clock().toISOString() };
    await tx.update(people).set(change).where(eq(people.id, id));
    const person = { ...stored, ...change };
    await recordPerson(tx, context, person, before, after);
    await deletePendingSignIns(app, tx, id);
    const sessions_ended = await revokeSessions(app, tx, eq(sessions.person_id, id));
    const mine = actor?.id === id && actor.session_id !== undefined;
    return { person, sessions_ended, token: mine ? await openSession(context, tx, id) : null };
  });
  if (token !== null) context.setSession?.(token);
  return result;
}

/** Deletes sign-ins that wait for a second factor, and unfinished links with accounts at providers. */
export async function deletePendingSignIns({ store }: Platform, tx: Db, person_id: string): Promise<void> {
  const { pending_logins, provider_sign_ins } = store.tables;
  await tx.delete(pending_logins).where(eq(pending_logins.person_id, person_id));
  await tx.delete(provider_sign_ins).where(eq(provider_sign_ins.person_id, person_id));
}

/** Records a change of an account in the history. */
export const recordPerson = (
  tx: Db,
  context: Context,
  { id, username }: Pick<PersonRow, 'id' | 'username'>,
  before: object | null,
  after: object | null,
): Promise<void> => recordHistory(tx, context, { entity_type: 'admin', entity_id: id, entity_name: username, before, after });

/**
 * Refuses a sign-in whose account changed while its password was checked, which is slow. The account is locked until the
 * transaction ends.
 */
export async function refuseChanged({ app }: Context, tx: Db, checked: PersonRow): Promise<void> {
  await lockEntityWrites(app.store, tx);
  const { people } = app.store.tables;
  const [stored] = await tx.select().from(people).where(eq(people.id, checked.id));
  const same = stored?.password_hash === checked.password_hash && stored.totp_enabled === checked.totp_enabled;
  if (same && stored.enabled) return;
  throw new AppError('unauthenticated', 'This account was changed while you signed in. Sign in again.');
}

/** The TOTP secret, encrypted again when an older key encrypted it. */
function renewed({ app: { keyring } }: Context, { id, totp_secret }: PersonRow): Pick<AccountChange['set'], 'totp_secret'> {
  if (totp_secret === null || !keyring.stale(totp_secret.$sealed)) return {};
  const path = totpPath(id);
  return { totp_secret: { $sealed: keyring.seal(keyring.open(totp_secret.$sealed, path), path) } };
}
