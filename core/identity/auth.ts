import type { WithSources } from '#core/sources/source-pool.ts';
import { type WithPasswordWork, hashPassword, verifyPassword } from '#core/identity/passwords.ts';
import { and, desc, eq, gt, isNull } from 'drizzle-orm';
import type { Context, Handlers } from '#core/context/context.ts';
import { isSameSecret } from '#core/edge/service-token.ts';
import { AppError, invalidField } from '#core/errors.ts';
import type { Platform } from '#core/platform/platform.ts';
import { auditOf, enterAudit } from '#core/records/audit-log.ts';
import { PRODUCT_VERSION } from '#core/process/version.ts';
import {
  changeAccount,
  currentPerson,
  newPerson,
  personByName,
  type PersonRow,
  recordPerson,
  refuseChanged,
  requirePassword,
} from './account.ts';
import { countAttempt, noteRefusal } from './attempts.ts';
import { readSettings } from '#core/settings/settings.ts';
import { refuseTakenName } from './people-rules.ts';
import { offeredProviders } from './providers/providers.ts';
import { isLive, openSession, revokeSessions } from './sessions.ts';
import { askSecondFactor } from './two-factor.ts';

type Elsewhere = 'auth.prove' | 'auth.accept_invite' | 'auth.accept_invite_through' | 'auth.identities' | 'auth.unlink_identity';
type Operations = Exclude<Extract<keyof Handlers, `auth.${string}`>, Elsewhere>;

export const authHandlers: Pick<Handlers<WithSources & WithPasswordWork>, Operations> = {
  'auth.status': async ({ app, actor }) => {
    const people = await app.store.db.select({ id: app.store.tables.people.id }).from(app.store.tables.people).limit(1);
    const [providers, { settings }] = await Promise.all([offeredProviders(app), readSettings(app)]);
    return {
      setup_required: people.length === 0,
      ...(people.length === 0 && { setup_token_required: app.env.SVC_SETUP_TOKEN !== null }),
      authenticated: actor?.type === 'admin',
      version: PRODUCT_VERSION,
      providers,
      password_sign_in: settings.password_sign_in,
    };
  },
  'auth.setup': async (context, { username, password, setup_token }) => {
    await refuseSetUp(context.app);
    checkSetupToken(context.app, setup_token);
    await signIn(context, await createOwner(context, username, password));
    return { username, totp_enabled: false };
  },
  'auth.login': async (context, { username, password }) => {
    await requirePasswords(context);
    const person = await noteRefusal(context, username, () => checkPassword(context, username, password));
    if (person.totp_enabled) return askSecondFactor(context, person);
    await signIn(context, person);
    return { totp_required: false as const, username: person.username };
  },
  'auth.logout': async (context) => {
    const { app, actor } = context;
    const { session_id } = actor ?? {};
    if (session_id !== undefined) {
      await app.store.write(async (tx) => {
        await revokeSessions(app, tx, eq(app.store.tables.sessions.id, session_id));
        const detail = { step: 'sign_out', session: session_id };
        await enterAudit(app, tx, [auditOf(context, { kind: 'sign_in', outcome: 'ok', detail })]);
      });
    }
    context.setSession?.(null);
    return {};
  },
  'auth.me': async (context) => toAccount(await currentPerson(context)),
  'auth.update_me': async (context, { current_password, username, password }) => {
    const person = await currentPerson(context);
    const attempt = await countAttempt(context, person.username);
    await requirePassword(person, current_password, 'current_password');
    await attempt.forgive();
    // An unchanged account ends no sessions.
    if ((username === undefined || username === person.username) && password === undefined) return toAccount(person);
    const set = {
      ...(username === undefined ? {} : { username }),
      ...(password === undefined ? {} : { password_hash: await hashPassword(password, context.app.password_work) }),
    };
    const changed = await changeAccount(context, person, async (tx) => {
      if (username !== undefined) await refuseTakenName(context.app, tx, person.id, username);
      return {
        set,
        before: { username: person.username },
        after: { username: username ?? person.username, ...(password === undefined ? {} : { password_changed: true }) },
      };
    });
    return toAccount(changed.person);
  },
  'auth.sessions': async (context) => {
    const { app, actor } = context;
    const { sessions } = app.store.tables;
    const rows = await app.store.db
      .select()
      .from(sessions)
      .where(
        and(
          eq(sessions.person_id, actor?.id ?? ''),
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
      revokeSessions(app, tx, and(eq(sessions.id, id), eq(sessions.person_id, actor?.id ?? ''))),
    );
    if (ended === 0) throw new AppError('not_found', 'There is no active session with this id.');
    if (id === actor?.session_id) setSession?.(null);
    return {};
  },
};

async function checkPassword(context: Context, username: string, password: string): Promise<PersonRow> {
  const attempt = await countAttempt(context, username);
  const person = await personByName(context, username);
  const fits = await verifyPassword(password, person?.password_hash ?? null);
  if (!fits || person === null) throw new AppError('unauthenticated', 'The username or password is wrong.');
  await attempt.forgive();
  if (!person.enabled) throw new AppError('forbidden', 'This account is disabled. Ask an administrator to enable it.');
  return person;
}

/** Throws `forbidden` when sign-in with a password is turned off. */
export async function requirePasswords({ app }: Context): Promise<void> {
  if ((await readSettings(app)).settings.password_sign_in) return;
  throw new AppError('forbidden', 'Signing in with a password is turned off here. Sign in through an identity provider.');
}

const isSetUp = () => new AppError('conflict', 'This server is already set up. Sign in instead.');

async function refuseSetUp({ store }: Platform): Promise<void> {
  const { people } = store.tables;
  if ((await store.db.select({ id: people.id }).from(people).limit(1)).length > 0) throw isSetUp();
}

/** With `SVC_SETUP_TOKEN`, only somebody who knows it becomes the owner. */
function checkSetupToken({ env }: Platform, given: string | undefined): void {
  const { SVC_SETUP_TOKEN: token } = env;
  if (token === null && given === undefined) return;
  if (token === null) throw invalidField('setup_token', 'This server has no setup token (SVC_SETUP_TOKEN). Leave it out.');
  if (given !== undefined && isSameSecret(given, token)) return;
  throw invalidField('setup_token', 'Enter the setup token: the value of SVC_SETUP_TOKEN of the server.');
}

/** Creates the first account. A unique row makes one of two concurrent calls fail. */
export async function createOwner(
  context: Context<WithSources & WithPasswordWork>,
  username: string,
  password: string,
): Promise<PersonRow> {
  const { app } = context;
  const { people } = app.store.tables;
  await refuseSetUp(app);
  const password_hash = await hashPassword(password, app.password_work);
  const id = app.ids();
  const now = app.clock().toISOString();
  return app.store.write(async (tx) => {
    const [owner] = await tx
      .insert(people)
      .values({ ...newPerson(id, username, 'owner', now), slot: 1, password_hash })
      .onConflictDoNothing()
      .returning();
    if (owner === undefined) throw isSetUp();
    await recordPerson(tx, context, owner, null, { username, role: 'owner' });
    return owner;
  });
}

/** Opens a session for a person whose password was verified. */
export async function signIn(context: Context, person: PersonRow): Promise<void> {
  const token = await context.app.store.write(async (tx) => {
    await refuseChanged(context, tx, person);
    return openSession(context, tx, person.id);
  });
  context.setSession?.(token);
}

const toAccount = (person: PersonRow) => {
  const { id, username, display_name, email, role, groups, totp_enabled, created_at } = person;
  return {
    id,
    username,
    display_name,
    email,
    role,
    groups,
    totp_enabled,
    has_password: person.password_hash !== null,
    created_at,
  };
};
