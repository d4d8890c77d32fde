import type { WithSources } from '#core/sources/source-pool.ts';
import type { WithHosts } from '#core/hosts/host-registry.ts';
import { type WithPasswordWork, hashPassword } from '#core/identity/passwords.ts';
import { eq } from 'drizzle-orm';
import { holds } from '#core/contract/roles.ts';
import { uiUrl } from '#core/settings/public-urls.ts';
import { readSettings } from '#core/settings/settings.ts';
import { requireProof } from '#core/context/proof.ts';
import { AppError } from '#core/errors.ts';
import type { Context, Handlers } from '#core/context/context.ts';
import type { Db } from '#core/store/store.ts';
import type { Schema } from '#core/store/schema.ts';
import { canSignIn, changeAccount, NO_INVITATION, type PersonRow, recordPerson } from './account.ts';
import { requirePasswords, signIn } from './auth.ts';
import { personById, signOut, toPerson } from './people.ts';
import { refuseOwner, refuseSelf, refuseTakenName, writePeople } from './people-rules.ts';
import { digestOf, randomToken } from '#core/lib/random-token.ts';
import { askSecondFactor, removeFactor } from './two-factor.ts';

const INVITED_MS = 72 * 3_600_000;

type Operations = 'people.invite' | 'people.reset_2fa' | 'people.end_sessions' | 'auth.accept_invite';

/** Handlers that invite people, accept invitations, and reset or end their sign-ins. */
export const invitationHandlers: Pick<Handlers<WithSources & WithHosts & WithPasswordWork>, Operations> = {
  'people.invite': async (context, { id }) => {
    const { app, actor } = context;
    const { people } = app.store.tables;
    await refuseTakeover(context, await personById(context, app.store.db, id));
    const token = randomToken('svc_invite_');
    const expires_at = new Date(app.clock().getTime() + INVITED_MS).toISOString();
    const username = await writePeople(app, async (tx) => {
      const person = await personById(context, tx, id);
      refuseOwner(actor, person.role);
      refuseSelf(actor, person, 'Change your own password on your account page.');
      if (!person.enabled) throw new AppError('conflict', 'This person is disabled. Enable the account, then invite them.');
      await tx
        .update(people)
        .set({
          invite_digest: digestOf(token),
          invite_expires_at: expires_at,
          invited_by: actor?.type === 'admin' ? actor.id : null,
        })
        .where(eq(people.id, id));
      await recordPerson(tx, context, person, {}, { invite_expires_at: expires_at });
      return person.username;
    });
    // The fragment of an address appears in no log and no Referer header.
    return { invite_url: `${await uiUrl(app)}/invite?name=${encodeURIComponent(username)}#${token}`, expires_at };
  },
  'people.reset_2fa': async (context, { id }) => {
    const { app, actor } = context;
    const person = await personById(context, app.store.db, id);
    refuseOwner(actor, person.role);
    refuseSelf(actor, person, 'Turn off your own second factor on your account page, with your password.');
    if (!person.totp_enabled) return toPerson(person);
    if (holds(person.role, 'admin')) {
      const message = `The second factor of ${person.username}, an administrator, is turned off.`;
      await requireProof(context, [{ field: 'id', message }]);
    }
    const changed = await changeAccount(context, person, async (tx) => {
      const stored = await personById(context, tx, id);
      refuseOwner(actor, stored.role);
      return removeFactor(context, tx, stored);
    });
    return toPerson(changed.person);
  },
  'people.end_sessions': async (context, { id }) => {
    const { app, actor } = context;
    await writePeople(app, async (tx, endAccess) => {
      const person = await personById(context, tx, id);
      refuseOwner(actor, person.role);
      await endAccess(id);
      const sessions_ended = await signOut(context, tx, id);
      if (sessions_ended > 0) await recordPerson(tx, context, person, {}, { sessions_ended });
    });
    if (actor?.id === id) context.setSession?.(null);
    return {};
  },
  'auth.accept_invite': async (context, { token, username, password }) => {
    const { app } = context;
    await requirePasswords(context);
    const invited = await invitedBy(context, app.store.db, digestOf(token));
    const password_hash = await hashPassword(password, app.password_work);
    const actor = { type: 'admin', id: invited.id, name: username ?? invited.username, scopes: [] } as const;
    const { person } = await changeAccount({ ...context, actor }, invited, async (tx) => {
      // When two requests use the same link, the second finds no invitation.
      const stored = await invitedBy(context, tx, digestOf(token));
      if (username !== undefined) await refuseTakenName(app, tx, stored.id, username);
      return {
        set: {
          password_hash,
          username: username ?? stored.username,
          sign_in: 'password',
          ...NO_INVITATION,
        },
        before: { username: stored.username, invitation_accepted: false },
        after: { username: username ?? stored.username, invitation_accepted: true },
      };
    });
    if (person.totp_enabled) return askSecondFactor(context, person);
    await signIn(context, person);
    return { totp_required: false as const, username: person.username };
  },
};

/** The link sets a new password: with it one administrator can sign in as another one. */
async function refuseTakeover(context: Context, person: PersonRow): Promise<void> {
  if (!holds(person.role, 'admin') || !canSignIn(person) || context.actor?.type !== 'admin') return;
  const { approvals } = (await readSettings(context.app)).settings;
  if (approvals > 0) {
    const how = `they change it on their account page, or an operator runs sluice reset-password --username ${person.username}`;
    throw new AppError('conflict', `Nobody else sets the password of an administrator while approvals is ${approvals}: ${how}.`);
  }
  const message = `The link gives the account of ${person.username}, an administrator, to whoever opens it.`;
  await requireProof(context, [{ field: 'id', message }]);
}

/**
 * The person with this open invitation. Throws the same error for wrong, used and expired invitations, and when its creator could
 * not invite this person now.
 */
export async function invitedBy({ app }: Context, tx: Db, digest: string): Promise<PersonRow> {
  const { people } = app.store.tables;
  const [row] = await tx.select().from(people).where(eq(people.invite_digest, digest));
  const open = row?.enabled === true && row.invite_expires_at !== null && row.invite_expires_at > app.clock().toISOString();
  if (!open || !(await couldInvite(tx, people, row)))
    throw new AppError('not_found', 'This invitation is not valid: it was used, replaced or has expired. Ask for a new one.');
  return row;
}

/** Whether the person who sent the invitation is still an administrator, or an owner if the invited person is one. */
async function couldInvite(tx: Db, people: Schema['people'], { invited_by, role }: PersonRow): Promise<boolean> {
  if (invited_by === null) return true;
  const [by] = await tx.select({ role: people.role, enabled: people.enabled }).from(people).where(eq(people.id, invited_by));
  return by?.enabled === true && holds(by.role, role === 'owner' ? 'owner' : 'admin');
}
