import { and, desc, eq, gt, isNull } from 'drizzle-orm';
import type { Context, Handlers } from '#core/run.ts';
import { AppError } from '#core/errors.ts';
import { hashPassword, verifyPassword } from '#core/lib/passwords.ts';
import { PRODUCT_VERSION } from '#core/version.ts';
import { adminByName, type AdminRow, changeAccount, currentAdmin, requirePassword } from './account.ts';
import { countAttempt } from './attempts.ts';
import { recordHistory } from '#core/observe/history.ts';
import { isLive, openSession, revokeSessions } from './sessions.ts';
import { askSecondFactor } from './two-factor.ts';

export const authHandlers: Pick<Handlers, Extract<keyof Handlers, `auth.${string}`>> = {
  'auth.status': async ({ app, actor }) => {
    const admins = await app.store.db.select({ id: app.store.tables.admins.id }).from(app.store.tables.admins).limit(1);
    return { setup_required: admins.length === 0, authenticated: actor?.type === 'admin', version: PRODUCT_VERSION };
  },
  'auth.setup': async (context, { username, password }) => {
    await createAdmin(context, username, password);
    await signIn(context, await adminByName(context, username));
    return { username, totp_enabled: false };
  },
  'auth.login': async (context, { username, password }) => {
    const attempt = await countAttempt(context, username);
    const admin = await adminByName(context, username);
    const fits = await verifyPassword(password, admin?.password_hash ?? null);
    if (!fits || admin === null) throw new AppError('unauthenticated', 'The user name or the password is wrong.');
    await attempt.forgive();
    if (admin.totp_enabled) return askSecondFactor(context, admin);
    await signIn(context, admin);
    return { totp_required: false as const, username: admin.username };
  },
  'auth.logout': async (context) => {
    const { app, actor } = context;
    const { session_id } = actor ?? {};
    if (session_id !== undefined) {
      await app.store.write((tx) => revokeSessions(app, tx, eq(app.store.tables.sessions.id, session_id)));
    }
    context.setSession?.(null);
    return {};
  },
  'auth.me': async (context) => toAccount(await currentAdmin(context)),
  'auth.update_me': async (context, { current_password, username, password }) => {
    const admin = await currentAdmin(context);
    const attempt = await countAttempt(context, admin.username);
    await requirePassword(admin, current_password, 'current_password');
    await attempt.forgive();
    // Nothing new ends no session.
    if ((username === undefined || username === admin.username) && password === undefined) return toAccount(admin);
    const set = {
      ...(username === undefined ? {} : { username }),
      ...(password === undefined ? {} : { password_hash: await hashPassword(password) }),
    };
    const changed = await changeAccount(context, admin, async () => ({
      set,
      before: { username: admin.username },
      after: { username: username ?? admin.username, ...(password === undefined ? {} : { password_changed: true }) },
    }));
    return toAccount(changed.admin);
  },
  'auth.sessions': async (context) => {
    const { app, actor } = context;
    const { sessions } = app.store.tables;
    const rows = await app.store.db
      .select()
      .from(sessions)
      .where(
        and(
          eq(sessions.admin_id, actor?.id ?? ''),
          isNull(sessions.revoked_at),
          gt(sessions.expires_at, app.clock().toISOString()),
        ),
      )
      .orderBy(desc(sessions.created_at));
    const items = rows
      .filter((row) => isLive(row, app.clock()))
      .map((row) => ({ ...row, current: row.id === actor?.session_id }));
    return { items, total: items.length };
  },
  'auth.revoke_session': async ({ app, actor, setSession }, { id }) => {
    const { sessions } = app.store.tables;
    const ended = await app.store.write((tx) =>
      revokeSessions(app, tx, and(eq(sessions.id, id), eq(sessions.admin_id, actor?.id ?? ''))),
    );
    if (ended === 0) throw new AppError('not_found', 'There is no active session with this id.');
    if (id === actor?.session_id) setSession?.(null);
    return {};
  },
};

/** Creates the one administrator; a unique row decides, so two calls at once cannot both win. */
export async function createAdmin(context: Context, username: string, password: string): Promise<void> {
  const { app } = context;
  const { admins } = app.store.tables;
  const taken = new AppError('conflict', 'The administrator already exists. Sign in instead.');
  if ((await app.store.db.select({ id: admins.id }).from(admins).limit(1)).length > 0) throw taken;
  const password_hash = await hashPassword(password);
  const id = app.ids();
  const now = app.clock().toISOString();
  await app.store.write(async (tx) => {
    const rows = await tx
      .insert(admins)
      .values({ id, slot: 1, username, password_hash, totp_enabled: false, created_at: now, updated_at: now })
      .onConflictDoNothing()
      .returning();
    if (rows.length === 0) throw taken;
    await recordHistory(tx, context, {
      entity_type: 'admin',
      entity_id: id,
      entity_name: username,
      action: 'create',
      before: null,
      after: { username },
    });
  });
}

async function signIn(context: Context, admin: AdminRow | null): Promise<void> {
  if (admin === null) return;
  context.setSession?.(await context.app.store.write((tx) => openSession(context, tx, admin.id)));
}

const toAccount = (admin: AdminRow) => ({
  username: admin.username,
  totp_enabled: admin.totp_enabled,
  created_at: admin.created_at,
});
