import type { WithSources } from '#core/sources/source-pool.ts';
import type { WithHosts } from '#core/hosts/host-registry.ts';
import type { Platform } from '#core/platform/platform.ts';
import { and, asc, eq } from 'drizzle-orm';
import { readSettings } from '#core/settings/settings.ts';
import { AppError } from '#core/errors.ts';
import type { Context, Handlers } from '#core/context/context.ts';
import type { Db } from '#core/store/store.ts';
import { currentPerson, type PersonRow, recordPerson } from '../account.ts';
import { removeGrant } from '../oauth/grants.ts';
import { writePeople } from '../people-rules.ts';

const MISSING = () => new AppError('not_found', 'You have no linked account with this id.');

/** The accounts of the caller at identity providers. */
export const identityHandlers: Pick<Handlers<WithSources & WithHosts>, 'auth.identities' | 'auth.unlink_identity'> = {
  'auth.identities': async (context) => {
    const { app } = context;
    const person = await currentPerson(context);
    const [rows, providers] = await Promise.all([
      identitiesOf(app, app.store.db, person.id),
      providersByIssuer(app, app.store.db),
    ]);
    const items = rows.map(({ id, issuer, created_at, last_used_at }) => {
      const provider = providers.get(issuer);
      return { id, issuer, provider: provider?.name ?? null, enabled: provider?.enabled ?? false, created_at, last_used_at };
    });
    return { items, total: items.length };
  },
  'auth.unlink_identity': async (context, { id }) => {
    const { app } = context;
    const { id: person_id } = await currentPerson(context);
    await writePeople(app, async (tx) => {
      const { people, identities } = app.store.tables;
      const [person] = await tx.select().from(people).where(eq(people.id, person_id));
      const rows = await identitiesOf(app, tx, person_id);
      const row = rows.find((candidate) => candidate.id === id);
      if (person === undefined || row === undefined) throw MISSING();
      const providers = await providersByIssuer(app, tx);
      const others = rows.some((other) => other.id !== id && providers.get(other.issuer)?.enabled === true);
      if (!others && !(await hasPassword(app, tx, person))) {
        throw new AppError(
          'conflict',
          'This is the only way you can sign in. Link another account first, or ask an administrator for an invitation to set a password.',
        );
      }
      await tx.delete(identities).where(and(eq(identities.id, id), eq(identities.person_id, person_id)));
      const provider = providers.get(row.issuer)?.name ?? row.issuer;
      await recordPerson(tx, context, person, { linked_account: provider }, { linked_account: null });
    });
    return {};
  },
};

/**
 * For a person who becomes an owner: unlinks accounts that were linked through the invitation of a person who is not an owner and
 * may have used it themselves, and ends the grants of clients. The only way to sign in stays.
 * @returns whether an account was unlinked.
 */
export async function unlinkInvited(context: Context, tx: Db, person: PersonRow): Promise<boolean> {
  const { app } = context;
  const { people, identities } = app.store.tables;
  const rows = await identitiesOf(app, tx, person.id);
  const providers = await providersByIssuer(app, tx);
  const owners = await tx.select({ id: people.id }).from(people).where(eq(people.role, 'owner'));
  const theirs = rows.filter(({ invited_by }) => invited_by !== null && !owners.some(({ id }) => id === invited_by));
  const stays = rows.some((row) => !theirs.includes(row) && providers.get(row.issuer)?.enabled === true);
  if (theirs.length === 0 || !(stays || (await hasPassword(app, tx, person)))) return false;
  for (const { id, issuer } of theirs) {
    await tx.delete(identities).where(eq(identities.id, id));
    const linked_account = providers.get(issuer)?.name ?? issuer;
    await recordPerson(tx, context, person, { linked_account }, { linked_account: null });
  }
  const { oauth_grants: grants } = app.store.tables;
  const granted = await tx.select({ id: grants.id }).from(grants).where(eq(grants.person_id, person.id));
  for (const { id } of granted) await removeGrant(app, tx, id);
  return true;
}

const identitiesOf = ({ store: { tables } }: Platform, tx: Db, person_id: string) =>
  tx.select().from(tables.identities).where(eq(tables.identities.person_id, person_id)).orderBy(asc(tables.identities.id));

/** When several providers have the same issuer, an enabled one. */
async function providersByIssuer({ store: { tables } }: Platform, tx: Db) {
  const { identity_providers: table } = tables;
  const rows = await tx.select({ issuer: table.issuer, name: table.name, enabled: table.enabled }).from(table);
  return new Map(rows.sort((a, b) => Number(a.enabled) - Number(b.enabled)).map((row) => [row.issuer, row]));
}

const hasPassword = async (app: Platform, tx: Db, { password_hash }: PersonRow): Promise<boolean> =>
  password_hash !== null && (await readSettings(app, tx)).settings.password_sign_in;
