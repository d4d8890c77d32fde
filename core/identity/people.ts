import type { WithSources } from '#core/sources/source-pool.ts';
import type { WithHosts } from '#core/hosts/host-registry.ts';
import { and, asc, eq, sql } from 'drizzle-orm';
import type { Person } from '#core/contract/identity/people.ts';
import { checkVersion } from '#core/records/versioned.ts';
import { AppError } from '#core/errors.ts';
import type { Context, Handlers } from '#core/context/context.ts';
import type { Db } from '#core/store/store.ts';
import { canonical } from '#snapshots/format/canonical.ts';
import { readPage } from '#core/store/pages.ts';
import { bestFirst, foundIn } from '#core/store/search.ts';
import { unlinkInvited } from './providers/identities.ts';
import { requireProof, roleDangers } from '#core/context/proof.ts';
import { canSignIn, deletePendingSignIns, newPerson, NO_INVITATION, type PersonRow, recordPerson } from './account.ts';
import { refuseOwner, refuseSelf, refuseTakenName, refuseTooMany, writePeople } from './people-rules.ts';
import { revokeSessions } from './sessions.ts';

type Operations = 'people.list' | 'people.create' | 'people.get' | 'people.update' | 'people.delete';

/** Fields that access tokens contain. When one changes, the tokens of the person end. */
const CLAIMED = ['role', 'groups', 'enabled', 'email', 'display_name'] as const;

export const peopleHandlers: Pick<Handlers<WithSources & WithHosts>, Operations> = {
  'people.list': async ({ app }, { skip, limit, search, role, enabled, group }) => {
    const { db, tables } = app.store;
    const { people } = tables;
    const searched = { name: people.username, title: people.display_name, texts: [people.email] };
    const where = and(
      role === undefined ? undefined : eq(people.role, role),
      enabled === undefined ? undefined : eq(people.enabled, enabled),
      // Groups are stored as JSON text, so each name is in quotes.
      group === undefined ? undefined : sql`replace(${people.groups}, ${JSON.stringify(group)}, '') <> ${people.groups}`,
      foundIn(searched, search),
    );
    const order = [...bestFirst(searched, search), asc(people.username), asc(people.id)];
    const { rows, total } = await readPage(db, people, { where, order, skip, limit });
    return { items: rows.map(toPerson), total };
  },
  'people.create': async (context, draft) => {
    const { app, actor } = context;
    refuseOwner(actor, draft.role);
    await requireProof(context, roleDangers(draft.username, null, draft.role));
    const row = { ...newPerson(app.ids(), draft.username, draft.role, app.clock().toISOString()), ...draft };
    return writePeople(app, async (tx) => {
      await refuseTooMany(app, tx);
      await refuseTakenName(app, tx, row.id, row.username);
      await tx.insert(app.store.tables.people).values(row);
      await recordPersonChange(tx, context, null, row);
      return toPerson(row);
    });
  },
  'people.get': async (context, { id }) => toPerson(await personById(context, context.app.store.db, id)),
  'people.update': async (context, { id, version, ...draft }) => {
    const { app, actor } = context;
    const { people } = app.store.tables;
    refuseOwner(actor, draft.role);
    const person = await personById(context, app.store.db, id);
    await requireProof(context, roleDangers(person.username, person.role, draft.role));
    const given = Object.fromEntries(Object.entries(draft).filter(([, value]) => value !== undefined));
    return writePeople(app, async (tx, endAccess) => {
      const before = await personById(context, tx, id);
      refuseOwner(actor, before.role, draft.role);
      checkVersion('admin', before, version, 'person');
      // An update without changes creates no version and no history entry.
      if (Object.keys(given).length === 0) return toPerson(before);
      // The link of an open invitation may have been sent by a person who may not invite an owner.
      const raised = draft.role === 'owner' && before.role !== 'owner';
      const uninvited = raised ? NO_INVITATION : {};
      const change = { ...given, ...uninvited, version: before.version + 1, updated_at: app.clock().toISOString() };
      const after: PersonRow = { ...before, ...change };
      if (!after.enabled) refuseSelf(actor, after, 'You cannot disable your own account. Ask another administrator.');
      if (after.username !== before.username) {
        refuseSelf(actor, after, 'Change your own username on your account page, with your password.');
        await refuseTakenName(app, tx, id, after.username);
      }
      await tx.update(people).set(after).where(eq(people.id, id));
      await recordPersonChange(tx, context, before, after);
      if (!after.enabled || (raised && (await unlinkInvited(context, tx, after)))) await signOut(context, tx, id);
      if (CLAIMED.some((field) => canonical(before[field]) !== canonical(after[field]))) await endAccess(id);
      return toPerson(after);
    });
  },
  'people.delete': async (context, { id }) => {
    const { app, actor } = context;
    const { people, identities, recovery_codes, sessions } = app.store.tables;
    await writePeople(app, async (tx, endAccess) => {
      const before = await personById(context, tx, id);
      refuseOwner(actor, before.role);
      refuseSelf(actor, before, 'You cannot remove your own account. Ask another administrator.');
      await signOut(context, tx, id);
      await tx.delete(recovery_codes).where(eq(recovery_codes.person_id, id));
      await tx.delete(sessions).where(eq(sessions.person_id, id));
      await tx.delete(identities).where(eq(identities.person_id, id));
      await tx.delete(people).where(eq(people.id, id));
      await endAccess(id);
      await recordPersonChange(tx, context, before, null);
    });
    return {};
  },
};

export async function personById({ app }: Context, tx: Db, id: string): Promise<PersonRow> {
  const { people } = app.store.tables;
  const [row] = await tx.select().from(people).where(eq(people.id, id));
  if (row === undefined) throw new AppError('not_found', 'There is no person with this id.');
  return row;
}

/** Ends every session and every unfinished sign-in. @returns how many sessions ended. */
export async function signOut({ app }: Context, tx: Db, id: string): Promise<number> {
  await deletePendingSignIns(app, tx, id);
  return revokeSessions(app, tx, eq(app.store.tables.sessions.person_id, id));
}

/** A person without the columns that are only used to sign in. */
export function toPerson(row: PersonRow): Person {
  const { slot: _, password_hash: _hash, totp_secret: _secret, totp_last_step: _step, ...rest } = row;
  const { invite_digest: _digest, invited_by: _by, ...shown } = rest;
  return { ...shown, can_sign_in: canSignIn(row) };
}

/** Writes one history entry. The time of the last visit is not part of it. */
export function recordPersonChange(tx: Db, context: Context, before: PersonRow | null, after: PersonRow | null): Promise<void> {
  const recorded = (row: PersonRow | null) => {
    if (row === null) return null;
    const { last_seen_at: _, ...shown } = toPerson(row);
    return shown;
  };
  return recordPerson(tx, context, after ?? before ?? { id: '', username: '' }, recorded(before), recorded(after));
}
