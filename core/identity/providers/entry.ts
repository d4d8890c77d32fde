import type { WithSources } from '#core/sources/source-pool.ts';
import type { WithHosts } from '#core/hosts/host-registry.ts';
import type { Platform } from '#core/platform/platform.ts';
import { and, eq } from 'drizzle-orm';
import { AppError } from '#core/errors.ts';
import type { Context } from '#core/context/context.ts';
import type { Db } from '#core/store/store.ts';
import { canonical } from '#snapshots/format/canonical.ts';
import { newPerson, NO_INVITATION, type PersonRow, recordPerson } from '../account.ts';
import { invitedBy } from '../invitations.ts';
import { recordPersonChange, signOut } from '../people.ts';
import { type EndAccess, freeName, refuseTooMany, writePeople } from '../people-rules.ts';
import { openSession } from '../sessions.ts';
import type { Profile } from './claims.ts';
import type { ProviderRow } from './stored.ts';

const refused = (reason: 'not_admitted' | 'disabled' | 'taken' | 'second_factor', detail: string) =>
  new AppError('forbidden', detail, { reason });

/**
 * Signs in a person whom a provider authenticated. Creates the person if the settings of the provider allow it. People are found
 * only by issuer and subject, because an e-mail address can be given to another person. @returns the token of a session.
 */
export function enter(context: Context<WithSources & WithHosts>, provider: ProviderRow, profile: Profile): Promise<string> {
  return writePeople(context.app, async (tx, endAccess) => {
    const { id } = await admit(context, tx, endAccess, provider, profile);
    return openSession(context, tx, id);
  });
}

/**
 * The person whom a provider authenticated, created if the settings of the provider allow it, with the role and the groups that the
 * provider reports. Throws `forbidden` for a person who may not enter.
 */
export async function admit(
  context: Context,
  tx: Db,
  endAccess: EndAccess,
  provider: ProviderRow,
  profile: Profile,
): Promise<PersonRow> {
  const known = await personOf(context.app, tx, provider, profile);
  if (known?.enabled === false) throw refused('disabled', 'This account is disabled. Ask an administrator to enable it.');
  if (profile.role === null && known?.sign_in !== 'password') {
    throw refused('not_admitted', 'None of your groups may sign in here. Ask an administrator.');
  }
  const person =
    known === null ? await create(context, tx, provider, profile) : await follow(context, tx, provider, profile, known);
  const rights_changed = known !== null && canonical([known.role, known.groups]) !== canonical([person.role, person.groups]);
  // Access tokens still contain the previous groups.
  if (rights_changed) await endAccess(person.id);
  return person;
}

/** Links an account at a provider to a person, and changes nothing else of the person. */
export async function link(
  context: Context<WithSources & WithHosts>,
  provider: ProviderRow,
  profile: Profile,
  person_id: string,
): Promise<null> {
  const { app } = context;
  await writePeople(app, async (tx) => {
    const known = await personOf(app, tx, provider, profile);
    if (known !== null && known.id !== person_id) {
      throw refused('taken', 'Another person here already signs in with this account.');
    }
    const { people } = app.store.tables;
    const [person] = await tx.select().from(people).where(eq(people.id, person_id));
    if (person === undefined || !person.enabled)
      throw refused('disabled', 'This account is disabled. Ask an administrator to enable it.');
    if (known !== null) return;
    await remember(app, tx, provider, profile, person_id);
    await recordPerson(tx, context, person, { linked_account: null }, { linked_account: provider.name });
  });
  return null;
}

/**
 * Accepts an invitation with an account at a provider. If the person has no password, their groups and role follow the provider
 * from now on.
 * @returns the token of a session.
 */
export function accept(
  context: Context<WithSources & WithHosts>,
  provider: ProviderRow,
  profile: Profile,
  invite_digest: string,
): Promise<string> {
  const { app } = context;
  const { people } = app.store.tables;
  return writePeople(app, async (tx) => {
    // When two requests use the same link, the second finds no invitation.
    const invited = await invitedBy(context, tx, invite_digest);
    // A provider does not check our second factor, and accepting an invitation must not turn it off.
    if (invited.totp_enabled) {
      throw refused('second_factor', 'This account has a second factor. Accept the invitation with a password and a code.');
    }
    const known = await personOf(app, tx, provider, profile);
    if (known !== null && known.id !== invited.id) {
      throw refused('taken', 'Another person here already signs in with this account.');
    }
    if (profile.role === null && invited.password_hash === null) {
      throw refused('not_admitted', 'None of your groups may sign in here. Ask an administrator.');
    }
    if (known === null) await remember(app, tx, provider, profile, invited.id, invited.invited_by);
    const change = {
      sign_in: invited.password_hash === null ? ('oidc' as const) : invited.sign_in,
      ...NO_INVITATION,
      version: invited.version + 1,
      updated_at: app.clock().toISOString(),
    };
    await tx.update(people).set(change).where(eq(people.id, invited.id));
    const person = { ...invited, ...change };
    const as_them = { ...context, actor: { type: 'admin', id: person.id, name: person.username, scopes: [] } as const };
    const linked = { invitation_accepted: true, linked_account: provider.name };
    await recordPerson(tx, as_them, person, { invitation_accepted: false, linked_account: null }, linked);
    await signOut(context, tx, person.id);
    await follow(as_them, tx, provider, profile, person);
    return openSession(context, tx, person.id);
  });
}

async function personOf(app: Platform, tx: Db, { issuer }: ProviderRow, { subject }: Profile): Promise<PersonRow | null> {
  const { identities, people } = app.store.tables;
  const same = and(eq(identities.issuer, issuer), eq(identities.subject, subject));
  const [found] = await tx
    .select({ person: people })
    .from(identities)
    .innerJoin(people, eq(people.id, identities.person_id))
    .where(same);
  if (found === undefined) {
    // The identity of a person who was deleted.
    await tx.delete(identities).where(same);
    return null;
  }
  await tx.update(identities).set({ last_used_at: app.clock().toISOString() }).where(same);
  return found.person;
}

async function remember(
  app: Platform,
  tx: Db,
  { issuer }: ProviderRow,
  { subject }: Profile,
  person_id: string,
  invited_by: string | null = null,
): Promise<void> {
  const now = app.clock().toISOString();
  const row = { id: app.ids(), issuer, subject, person_id, invited_by, created_at: now, last_used_at: now };
  await tx.insert(app.store.tables.identities).values(row);
}

async function create(context: Context, tx: Db, provider: ProviderRow, profile: Profile): Promise<PersonRow> {
  const { app } = context;
  // If the person has too many groups for a token, none of them is known.
  const role = profile.role ?? provider.default_role;
  if (!provider.create_people || role === null) {
    throw refused('not_admitted', 'You have no account here. Ask an administrator to create one.');
  }
  await refuseTooMany(app, tx);
  const { username, display_name, email, groups } = profile;
  const id = app.ids();
  const person: PersonRow = {
    ...newPerson(id, await freeName(app, tx, id, username), role, app.clock().toISOString()),
    sign_in: 'oidc',
    display_name,
    email,
    groups: [...(groups ?? [])],
  };
  await tx.insert(app.store.tables.people).values(person);
  await recordPersonChange(tx, context, null, person);
  await remember(app, tx, provider, profile, id);
  return person;
}

/** Updates groups and role of people that the provider created. Owners stay owners, and people with a password keep theirs. */
async function follow(context: Context, tx: Db, provider: ProviderRow, profile: Profile, person: PersonRow): Promise<PersonRow> {
  if (person.sign_in !== 'oidc') return person;
  const { app } = context;
  const { people } = app.store.tables;
  const { display_name, email, groups, role } = profile;
  const mapped = Object.keys(provider.role_by_group).length > 0 && person.role !== 'owner' && role !== null && role !== undefined;
  const change = {
    display_name: display_name ?? person.display_name,
    email: email ?? person.email,
    ...(provider.groups_claim === null || groups === null ? {} : { groups: [...groups] }),
    ...(mapped ? { role } : {}),
  };
  const after: PersonRow = { ...person, ...change };
  if (canonical({ ...after }) === canonical({ ...person })) return person;
  const stored = { ...after, version: person.version + 1, updated_at: app.clock().toISOString() };
  await tx.update(people).set(stored).where(eq(people.id, person.id));
  await recordPersonChange(tx, context, person, stored);
  return stored;
}
