import { createHash, randomBytes } from 'node:crypto';
import { and, eq, gt, isNull, lt, lte, or, sql } from 'drizzle-orm';
import type { Db } from '#core/store/open.ts';
import { AppError } from '#core/errors.ts';
import type { Context, Handlers } from '#core/run.ts';
import { newRecoveryCode, newTotpSecret, otpauthUri, qrSvg, RECOVERY_CODES, recoveryHash, stepOf } from '#core/lib/totp.ts';
import { PRODUCT_NAME } from '#core/version.ts';
import { type AdminRow, changeAccount, currentAdmin, requirePassword, totpPlace } from './account.ts';
import { countAttempt } from './attempts.ts';
import { openSession } from './sessions.ts';

/** A session that signed in longer ago proves nothing about who sits there now. */
const RECENT_MS = 600_000;
/** Contract section 2: a sign-in waits 300 s for its second factor and ends with a success or the fifth failure. */
const PENDING_MS = 300_000;
const PENDING_ATTEMPTS = 5;

export const twoFactorHandlers: Pick<Handlers, Extract<keyof Handlers, `two_factor.${string}`>> = {
  'two_factor.login': async (context, { pending_token, code, is_recovery }) => {
    const { app } = context;
    const { pending_logins } = app.store.tables;
    const id = pendingId(pending_token);
    const admin = await pendingAdmin(context, id);
    const attempt = await countAttempt(context, admin.username);
    await countPending(context, id);
    const session = await app.store.write(async (tx) => {
      if (!(await spendCode(context, tx, admin, code, is_recovery))) return null;
      const ended = await tx.delete(pending_logins).where(eq(pending_logins.id, id)).returning({ id: pending_logins.id });
      if (ended.length === 0) throw pendingOver();
      return openSession(context, tx, admin.id);
    });
    if (session === null) throw new AppError('unauthenticated', 'The code is wrong or was already used.');
    await attempt.forgive();
    context.setSession?.(session);
    if (is_recovery) app.log.warning('signed in with a recovery code', { remaining: await remaining(context, admin) });
    return { totp_required: false as const, username: admin.username };
  },
  'two_factor.status': async (context) => {
    const admin = await currentAdmin(context);
    return {
      totp_enabled: admin.totp_enabled,
      recovery_codes_remaining: admin.totp_enabled ? await remaining(context, admin) : 0,
    };
  },
  'two_factor.setup': async (context, { password }) => {
    const { app } = context;
    const { admins } = app.store.tables;
    const admin = password === undefined ? await justSignedIn(context) : await confirmedOnce(context, password);
    const secret = newTotpSecret();
    const totp_secret = { $sealed: app.keyring.seal(secret, totpPlace(admin.id)) };
    const recovery_codes = await app.store.write(async (tx) => {
      const stored = await tx
        .update(admins)
        .set({ totp_secret, totp_last_step: null })
        .where(and(eq(admins.id, admin.id), eq(admins.totp_enabled, false)))
        .returning({ id: admins.id });
      if (stored.length === 0) {
        throw new AppError('conflict', 'Two-factor authentication is already on. Turn it off before you set it up again.');
      }
      return replaceRecoveryCodes(context, tx, admin);
    });
    const otpauth_uri = otpauthUri(secret, admin.username, PRODUCT_NAME);
    return { secret, otpauth_uri, qr_svg: qrSvg(otpauth_uri), recovery_codes };
  },
  'two_factor.verify_setup': async (context, { code }) => {
    const admin = await currentAdmin(context);
    if (admin.totp_enabled) throw new AppError('conflict', 'Two-factor authentication is already on.');
    if (admin.totp_secret === null) throw new AppError('conflict', 'There is nothing to confirm yet. Start with auth/2fa/setup.');
    await changeAccount(context, admin, async (tx) => {
      if (!(await spendStep(context, tx, admin, code))) throw wrongCode();
      return { set: { totp_enabled: true }, before: { totp_enabled: false }, after: { totp_enabled: true } };
    });
    return { totp_enabled: true };
  },
  'two_factor.disable': async (context, { password, code, is_recovery }) => {
    const { admin, attempt } = await confirmedFactor(context, password);
    await changeAccount(context, admin, async (tx) => {
      if (!(await spendCode(context, tx, admin, code, is_recovery))) throw wrongCode();
      return removeFactor(context, tx, admin);
    });
    await attempt.forgive();
    return { totp_enabled: false };
  },
  'two_factor.regenerate_recovery': async (context, { password, code }) => {
    const { admin, attempt } = await confirmedFactor(context, password);
    let recovery_codes: string[] = [];
    await changeAccount(context, admin, async (tx) => {
      if (!(await spendStep(context, tx, admin, code))) throw wrongCode();
      recovery_codes = await replaceRecoveryCodes(context, tx, admin);
      return { set: {}, before: {}, after: { recovery_codes_changed: true } };
    });
    await attempt.forgive();
    return { recovery_codes };
  },
};

/** The answer to a right password when the account has a second factor: a token that only `two_factor.login` takes. */
export async function askSecondFactor(context: Context, admin: AdminRow) {
  const { store, clock } = context.app;
  const { pending_logins } = store.tables;
  const pending_token = randomBytes(32).toString('base64url');
  const now = clock();
  await store.write(async (tx) => {
    await tx.delete(pending_logins).where(lte(pending_logins.expires_at, now.toISOString()));
    await tx.insert(pending_logins).values({
      id: pendingId(pending_token),
      admin_id: admin.id,
      attempts: 0,
      expires_at: new Date(now.getTime() + PENDING_MS).toISOString(),
    });
  });
  return { totp_required: true as const, pending_token, expires_in: PENDING_MS / 1_000 };
}

/** Takes the second factor away with all that belongs to it; part of `changeAccount`. */
export async function removeFactor({ app }: Context, tx: Db, admin: AdminRow) {
  const { recovery_codes } = app.store.tables;
  await tx.delete(recovery_codes).where(eq(recovery_codes.admin_id, admin.id));
  return {
    set: { totp_enabled: false, totp_secret: null, totp_last_step: null },
    before: { totp_enabled: admin.totp_enabled },
    after: { totp_enabled: false },
  };
}

const pendingId = (token: string): string => createHash('sha256').update(token).digest('hex');
const pendingOver = () => new AppError('unauthenticated', 'This sign-in is no longer valid. Start again with the password.');
const wrongCode = () =>
  new AppError('wrong_code', 'The code is wrong or was already used.', {
    errors: [{ field: 'code', message: 'code is wrong or was already used.' }],
  });

async function pendingAdmin({ app }: Context, id: string): Promise<AdminRow> {
  const { admins, pending_logins } = app.store.tables;
  const rows = await app.store.db
    .select({ admin: admins })
    .from(pending_logins)
    .innerJoin(admins, eq(admins.id, pending_logins.admin_id))
    .where(eq(pending_logins.id, id));
  if (rows[0] === undefined) throw pendingOver();
  return rows[0].admin;
}

/** Counted before the code is looked at: of many guesses at once five are looked at. */
async function countPending({ app }: Context, id: string): Promise<void> {
  const { pending_logins } = app.store.tables;
  const counted = await app.store.write((tx) =>
    tx
      .update(pending_logins)
      .set({ attempts: sql`${pending_logins.attempts} + 1` })
      .where(
        and(
          eq(pending_logins.id, id),
          lt(pending_logins.attempts, PENDING_ATTEMPTS),
          gt(pending_logins.expires_at, app.clock().toISOString()),
        ),
      )
      .returning({ id: pending_logins.id }),
  );
  if (counted.length === 0) throw pendingOver();
}

/** The account, after its password: a session alone changes nothing about signing in. */
async function confirmed(context: Context, password: string) {
  const admin = await currentAdmin(context);
  const attempt = await countAttempt(context, admin.username);
  await requirePassword(admin, password, 'password');
  return { admin, attempt };
}

async function confirmedOnce(context: Context, password: string): Promise<AdminRow> {
  const { admin, attempt } = await confirmed(context, password);
  await attempt.forgive();
  return admin;
}

/** The account without its password: only while its session is so young that the sign-in itself is the proof. */
async function justSignedIn(context: Context): Promise<AdminRow> {
  const { app, actor } = context;
  const { sessions } = app.store.tables;
  const [session] = await app.store.db
    .select({ created_at: sessions.created_at })
    .from(sessions)
    .where(eq(sessions.id, actor?.session_id ?? ''));
  const age_ms = app.clock().getTime() - Date.parse(session?.created_at ?? '');
  if (age_ms <= RECENT_MS) return currentAdmin(context);
  const message = 'You signed in more than ten minutes ago. Send your password again.';
  throw new AppError('forbidden', message, { errors: [{ field: 'password', message }] });
}

/** The same with the second factor on; a wrong code that follows counts as a failure. */
async function confirmedFactor(context: Context, password: string) {
  const { admin, attempt } = await confirmed(context, password);
  if (admin.totp_enabled) return { admin, attempt };
  await attempt.forgive();
  throw new AppError('conflict', 'Two-factor authentication is off. Set it up first.');
}

/** Whether the code is right; it is used up by that. */
function spendCode(context: Context, tx: Db, admin: AdminRow, code: string, is_recovery: boolean): Promise<boolean> {
  return is_recovery ? spendRecoveryCode(context, tx, admin, code) : spendStep(context, tx, admin, code);
}

/** A step is taken once, and none before it any more: the row decides, whichever server asks (RFC 6238, section 5.2). */
async function spendStep({ app }: Context, tx: Db, admin: AdminRow, code: string): Promise<boolean> {
  const { admins } = app.store.tables;
  if (admin.totp_secret === null) return false;
  const step = stepOf(app.keyring.open(admin.totp_secret.$sealed, totpPlace(admin.id)), code, app.clock());
  if (step === null) return false;
  const taken = await tx
    .update(admins)
    .set({ totp_last_step: step })
    .where(
      and(
        eq(admins.id, admin.id),
        eq(admins.totp_secret, admin.totp_secret),
        or(isNull(admins.totp_last_step), lt(admins.totp_last_step, step)),
      ),
    )
    .returning({ id: admins.id });
  return taken.length === 1;
}

async function spendRecoveryCode({ app }: Context, tx: Db, admin: AdminRow, code: string): Promise<boolean> {
  const { recovery_codes } = app.store.tables;
  const spent = await tx
    .delete(recovery_codes)
    .where(and(eq(recovery_codes.code_hash, recoveryHash(admin.id, code)), eq(recovery_codes.admin_id, admin.id)))
    .returning({ code_hash: recovery_codes.code_hash });
  return spent.length === 1;
}

async function replaceRecoveryCodes({ app }: Context, tx: Db, admin: AdminRow): Promise<string[]> {
  const { recovery_codes } = app.store.tables;
  const created_at = app.clock().toISOString();
  const codes = Array.from({ length: RECOVERY_CODES }, newRecoveryCode);
  await tx.delete(recovery_codes).where(eq(recovery_codes.admin_id, admin.id));
  await tx
    .insert(recovery_codes)
    .values(codes.map((code) => ({ code_hash: recoveryHash(admin.id, code), admin_id: admin.id, created_at })));
  return codes;
}

async function remaining({ app }: Context, admin: AdminRow): Promise<number> {
  const { recovery_codes } = app.store.tables;
  const rows = await app.store.db
    .select({ count: sql<number | string>`count(*)` })
    .from(recovery_codes)
    .where(eq(recovery_codes.admin_id, admin.id));
  return Number(rows[0]?.count ?? 0);
}
