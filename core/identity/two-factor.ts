import { createHash, randomBytes } from 'node:crypto';
import { and, eq, gt, isNull, lt, lte, or, sql } from 'drizzle-orm';
import { afterCommit } from '#core/platform/after-commit.ts';
import type { Db } from '#core/store/store.ts';
import { AppError } from '#core/errors.ts';
import type { Context, Handlers } from '#core/context/context.ts';
import { newRecoveryCode, newTotpSecret, otpauthUri, qrSvg, RECOVERY_CODES, recoveryHash, stepOf } from '#core/lib/totp.ts';
import { PRODUCT_NAME } from '#core/process/version.ts';
import { changeAccount, currentPerson, type PersonRow, refuseChanged, requirePassword, totpPath } from './account.ts';
import { countAttempt, noteRefusal } from './attempts.ts';
import { openSession } from './sessions.ts';

/** An older session does not prove that the same person is still at the computer. */
const RECENT_MS = 600_000;
/** A sign-in waits 300 s for its second factor and ends with a success or the fifth failure. */
const PENDING_MS = 300_000;
const PENDING_ATTEMPTS = 5;

export const twoFactorHandlers: Pick<Handlers, Extract<keyof Handlers, `two_factor.${string}`>> = {
  'two_factor.login': async (context, { pending_token, code, is_recovery }) => {
    const { app } = context;
    const { pending_logins } = app.store.tables;
    const id = pendingId(pending_token);
    const person = await pendingPerson(context, id);
    const session = await noteRefusal(context, person.username, async () => {
      const attempt = await countAttempt(context, person.username);
      await countPending(context, id);
      const opened = await app.store.write(async (tx) => {
        await refuseChanged(context, tx, person);
        if (!(await spendCode(context, tx, person, code, is_recovery))) return null;
        const ended = await tx.delete(pending_logins).where(eq(pending_logins.id, id)).returning({ id: pending_logins.id });
        if (ended.length === 0) throw pendingOver();
        return openSession(context, tx, person.id);
      });
      if (opened === null) throw new AppError('unauthenticated', 'The code is wrong or was already used.');
      await attempt.forgive();
      return opened;
    });
    context.setSession?.(session);
    if (is_recovery) {
      const left = await afterCommit(app, 'counting the recovery codes', () => remaining(context, person));
      app.log.warning('signed in with a recovery code', { remaining: left });
    }
    return { totp_required: false as const, username: person.username };
  },
  'two_factor.status': async (context) => {
    const person = await currentPerson(context);
    return {
      totp_enabled: person.totp_enabled,
      recovery_codes_remaining: person.totp_enabled ? await remaining(context, person) : 0,
    };
  },
  'two_factor.setup': async (context, { password }) => {
    const { app } = context;
    const { people } = app.store.tables;
    const person = password === undefined ? await justSignedIn(context) : await confirmedOnce(context, password);
    const secret = newTotpSecret();
    const totp_secret = { $sealed: app.keyring.seal(secret, totpPath(person.id)) };
    const recovery_codes = await app.store.write(async (tx) => {
      const stored = await tx
        .update(people)
        .set({ totp_secret, totp_last_step: null })
        .where(and(eq(people.id, person.id), eq(people.totp_enabled, false)))
        .returning({ id: people.id });
      if (stored.length === 0) {
        throw new AppError('conflict', 'Two-factor authentication is already on. Turn it off before you set it up again.');
      }
      return replaceRecoveryCodes(context, tx, person);
    });
    const otpauth_uri = otpauthUri(secret, person.username, PRODUCT_NAME);
    return { secret, otpauth_uri, qr_svg: qrSvg(otpauth_uri), recovery_codes };
  },
  'two_factor.verify_setup': async (context, { code }) => {
    const person = await currentPerson(context);
    if (person.totp_enabled) throw new AppError('conflict', 'Two-factor authentication is already on.');
    if (person.totp_secret === null)
      throw new AppError('conflict', 'There is nothing to confirm yet. Start with auth/2fa/setup.');
    await changeAccount(context, person, async (tx) => {
      if (!(await spendStep(context, tx, person, code))) throw wrongCode();
      return { set: { totp_enabled: true }, before: { totp_enabled: false }, after: { totp_enabled: true } };
    });
    return { totp_enabled: true };
  },
  'two_factor.disable': async (context, { password, code, is_recovery }) => {
    const { person, attempt } = await confirmedFactor(context, password);
    await changeAccount(context, person, async (tx) => {
      if (!(await spendCode(context, tx, person, code, is_recovery))) throw wrongCode();
      return removeFactor(context, tx, person);
    });
    await attempt.forgive();
    return { totp_enabled: false };
  },
  'two_factor.regenerate_recovery': async (context, { password, code }) => {
    const { person, attempt } = await confirmedFactor(context, password);
    let recovery_codes: string[] = [];
    await changeAccount(context, person, async (tx) => {
      if (!(await spendStep(context, tx, person, code))) throw wrongCode();
      recovery_codes = await replaceRecoveryCodes(context, tx, person);
      return { set: {}, before: {}, after: { recovery_codes_changed: true } };
    });
    await attempt.forgive();
    return { recovery_codes };
  },
};

/** The response to a correct password when the account has a second factor: a token that only `two_factor.login` accepts. */
export async function askSecondFactor(context: Context, person: PersonRow) {
  const { store, clock } = context.app;
  const { pending_logins } = store.tables;
  const pending_token = randomBytes(32).toString('base64url');
  const now = clock();
  await store.write(async (tx) => {
    await refuseChanged(context, tx, person);
    await tx.delete(pending_logins).where(lte(pending_logins.expires_at, now.toISOString()));
    await tx.insert(pending_logins).values({
      id: pendingId(pending_token),
      person_id: person.id,
      attempts: 0,
      expires_at: new Date(now.getTime() + PENDING_MS).toISOString(),
    });
  });
  return { totp_required: true as const, pending_token, expires_in: PENDING_MS / 1_000 };
}

/** Removes the second factor and its recovery codes. Part of `changeAccount`. */
export async function removeFactor({ app }: Context, tx: Db, person: PersonRow) {
  const { recovery_codes } = app.store.tables;
  await tx.delete(recovery_codes).where(eq(recovery_codes.person_id, person.id));
  return {
    set: { totp_enabled: false, totp_secret: null, totp_last_step: null },
    before: { totp_enabled: person.totp_enabled },
    after: { totp_enabled: false },
  };
}

const pendingId = (token: string): string => createHash('sha256').update(token).digest('hex');
const pendingOver = () => new AppError('unauthenticated', 'This sign-in is no longer valid. Start again with the password.');
export const wrongCode = () =>
  new AppError('wrong_code', 'The code is wrong or was already used.', {
    errors: [{ field: 'code', message: 'code is wrong or was already used.' }],
  });

async function pendingPerson({ app }: Context, id: string): Promise<PersonRow> {
  const { people, pending_logins } = app.store.tables;
  const rows = await app.store.db
    .select({ person: people })
    .from(pending_logins)
    .innerJoin(people, eq(people.id, pending_logins.person_id))
    .where(eq(pending_logins.id, id));
  if (rows[0] === undefined || !rows[0].person.enabled) throw pendingOver();
  return rows[0].person;
}

/** Counts before the code is checked, so that only five of many concurrent guesses are checked. */
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

/** The account, after its password was checked. A session alone cannot change how a person signs in. */
async function confirmed(context: Context, password: string) {
  const person = await currentPerson(context);
  const attempt = await countAttempt(context, person.username);
  await requirePassword(person, password, 'password');
  return { person, attempt };
}

async function confirmedOnce(context: Context, password: string): Promise<PersonRow> {
  const { person, attempt } = await confirmed(context, password);
  await attempt.forgive();
  return person;
}

/** The account, without a password, only if the session is recent enough to prove who is signed in. */
export async function justSignedIn(
  context: Context,
  message = 'You signed in more than ten minutes ago. Send your password again.',
): Promise<PersonRow> {
  const { app, actor } = context;
  const { sessions } = app.store.tables;
  const [session] = await app.store.db
    .select({ created_at: sessions.created_at })
    .from(sessions)
    .where(eq(sessions.id, actor?.session_id ?? ''));
  const age_ms = app.clock().getTime() - Date.parse(session?.created_at ?? '');
  // A session in the future was created before the clock was set back.
  if (Math.abs(age_ms) <= RECENT_MS) return currentPerson(context);
  throw new AppError('forbidden', message, { errors: [{ field: 'password', message }] });
}

/** Like `confirmed`, and the second factor must be enabled. A wrong code afterwards counts as a failure. */
async function confirmedFactor(context: Context, password: string) {
  const { person, attempt } = await confirmed(context, password);
  if (person.totp_enabled) return { person, attempt };
  await attempt.forgive();
  throw new AppError('conflict', 'Two-factor authentication is off. Set it up first.');
}

/** Whether the code is correct. A correct code cannot be used again. */
export function spendCode(context: Context, tx: Db, person: PersonRow, code: string, is_recovery: boolean): Promise<boolean> {
  return is_recovery ? spendRecoveryCode(context, tx, person, code) : spendStep(context, tx, person, code);
}

/** Each step is accepted once, and none before it afterwards. The row decides, on all servers (RFC 6238, section 5.2). */
async function spendStep({ app }: Context, tx: Db, person: PersonRow, code: string): Promise<boolean> {
  const { people } = app.store.tables;
  if (person.totp_secret === null) return false;
  const step = stepOf(app.keyring.open(person.totp_secret.$sealed, totpPath(person.id)), code, app.clock());
  if (step === null) return false;
  const taken = await tx
    .update(people)
    .set({ totp_last_step: step })
    .where(
      and(
        eq(people.id, person.id),
        eq(people.totp_secret, person.totp_secret),
        or(isNull(people.totp_last_step), lt(people.totp_last_step, step)),
      ),
    )
    .returning({ id: people.id });
  return taken.length === 1;
}

async function spendRecoveryCode({ app }: Context, tx: Db, person: PersonRow, code: string): Promise<boolean> {
  const { recovery_codes } = app.store.tables;
  const spent = await tx
    .delete(recovery_codes)
    .where(and(eq(recovery_codes.code_hash, recoveryHash(person.id, code)), eq(recovery_codes.person_id, person.id)))
    .returning({ code_hash: recovery_codes.code_hash });
  return spent.length === 1;
}

async function replaceRecoveryCodes({ app }: Context, tx: Db, person: PersonRow): Promise<string[]> {
  const { recovery_codes } = app.store.tables;
  const created_at = app.clock().toISOString();
  const codes = Array.from({ length: RECOVERY_CODES }, newRecoveryCode);
  await tx.delete(recovery_codes).where(eq(recovery_codes.person_id, person.id));
  await tx
    .insert(recovery_codes)
    .values(codes.map((code) => ({ code_hash: recoveryHash(person.id, code), person_id: person.id, created_at })));
  return codes;
}

async function remaining({ app }: Context, person: PersonRow): Promise<number> {
  const { recovery_codes } = app.store.tables;
  return app.store.db.$count(recovery_codes, eq(recovery_codes.person_id, person.id));
}
