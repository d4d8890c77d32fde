import type { Platform } from '#core/platform/platform.ts';
import type { WithHosts } from '#core/hosts/host-registry.ts';
import { and, eq, inArray, isNotNull, ne, or } from 'drizzle-orm';
import { MOST_PEOPLE } from '#core/contract/identity/people.ts';
import type { Role } from '#core/contract/roles.ts';
import { AppError, invalidField } from '#core/errors.ts';
import type { Actor, Context } from '#core/context/context.ts';
import { lockEntityWrites } from '#core/store/journal.ts';
import type { Db } from '#core/store/store.ts';
import { readSettings } from '#core/settings/settings.ts';
import type { PersonRow } from './account.ts';
import { recordEndedGrants } from './oauth/ended.ts';
import { pushIdentity } from './oauth/published.ts';
import { roleOf } from '#core/context/roles.ts';

export async function writePeople<T>(app: Platform & WithHosts, work: (tx: Db, endAccess: EndAccess) => Promise<T>): Promise<T> {
  let ended = false;
  const result = await app.store.write(async (tx) => {
    const endAccess: EndAccess = async (sub) => {
      await recordEndedGrants(app, tx, { sub });
      ended = true;
    };
    return requireRemainingOwner({ app }, tx, () => work(tx, endAccess));
  });
  if (ended) await pushIdentity(app);
  return result;
}

/** Invalidates the access tokens of a person in MCP clients. Every connected host receives the change after the commit. */
export type EndAccess = (person_id: string) => Promise<void>;

/**
 * Rolls a change back when it leaves no enabled owner who can sign in. Such changes run one at a time, so that the check is still
 * valid at the commit: call it before anything locks a row. In a batch, only the final state is checked.
 */
export async function requireRemainingOwner<T>(
  { app, batch }: Pick<Context<Platform>, 'app' | 'batch'>,
  tx: Db,
  work: () => Promise<T>,
): Promise<T> {
  if (batch?.cache.keeps_owner === true) return work();
  await lockEntityWrites(app.store, tx);
  const before = await ownersWhoCanSignIn(app, tx);
  const administrators_before = await countAdministrators(app, tx);
  if (batch !== undefined) batch.cache.keeps_owner = true;
  const result = await work().finally(() => batch !== undefined && (batch.cache.keeps_owner = false));
  if (before.length > 0 && (await ownersWhoCanSignIn(app, tx)).length === 0) {
    throw new AppError('conflict', 'At least one enabled owner who can sign in must remain. Make another person an owner first.');
  }
  if (administrators_before >= APPROVING && (await countAdministrators(app, tx)) < APPROVING) {
    const { approvals } = (await readSettings(app, tx)).settings;
    if (approvals > 0)
      throw new AppError('conflict', `${TWO_ADMINISTRATORS} Set approvals to 0 first, or make another person an administrator.`);
  }
  return result;
}

/** One proposes, one approves. */
const APPROVING = 2;
const TWO_ADMINISTRATORS = 'approvals needs two enabled administrators who can sign in: one who proposes, one who approves.';

async function countAdministrators({ store }: Platform, tx: Db): Promise<number> {
  const { people } = store.tables;
  const can_sign_in = or(isNotNull(people.password_hash), eq(people.sign_in, 'oidc'));
  return tx.$count(people, and(inArray(people.role, ['admin', 'owner']), eq(people.enabled, true), can_sign_in));
}

/** Throws if there is no second administrator to approve what the first one proposes. */
export async function requireApprovers(app: Platform): Promise<void> {
  if ((await countAdministrators(app, app.store.db)) < APPROVING) throw invalidField('approvals', TWO_ADMINISTRATORS);
}

/**
 * Ids of enabled owners who can sign in, with a password (unless password sign-in is off) or through an enabled identity
 * provider, and the issuers that they can use. A provider whose secret is missing does not count.
 */
export async function ownersWhoCanSignIn(
  app: Platform,
  tx: Db,
  password_sign_in?: boolean,
): Promise<{ id: string; issuer: string | null }[]> {
  const { people, identities, identity_providers } = app.store.tables;
  const by_password = password_sign_in ?? (await readSettings(app, tx)).settings.password_sign_in;
  const owners = and(eq(people.role, 'owner'), eq(people.enabled, true));
  const through = await tx
    .select({ id: people.id, issuer: identities.issuer, client_secret: identity_providers.client_secret })
    .from(people)
    .innerJoin(identities, eq(identities.person_id, people.id))
    .innerJoin(identity_providers, and(eq(identity_providers.issuer, identities.issuer), eq(identity_providers.enabled, true)))
    .where(owners);
  const with_password = by_password
    ? await tx
        .select({ id: people.id })
        .from(people)
        .where(and(owners, isNotNull(people.password_hash)))
    : [];
  return [
    ...with_password.map(({ id }) => ({ id, issuer: null })),
    ...through.filter(({ client_secret }) => client_secret !== 'missing'),
  ];
}

/** Only owners can add, change and remove owners. */
export function refuseOwner(actor: Actor | null, ...roles: readonly (Role | undefined)[]): void {
  if (!roles.includes('owner') || (actor !== null && roleOf(actor) === 'owner')) return;
  throw new AppError('role_required', 'Only an owner can create, change or remove an owner.');
}

/**
 * Refuses to change the caller's account, because a stolen session must not be enough to take it over. @param what the sentence.
 */
export function refuseSelf(actor: Actor | null, { id }: Pick<PersonRow, 'id'>, what: string): void {
  if (actor?.id === id) throw new AppError('conflict', what);
}

const LONGEST_NAME = 255;
const folded = (name: string): string => name.normalize('NFKC').toLowerCase();

/** Refuses a name that another person has, ignoring case, because readers of the history could not tell the two apart. */
export async function refuseTakenName(app: Platform, tx: Db, id: string, username: string): Promise<void> {
  if ((await takenNames(app, tx, id)).has(folded(username))) {
    throw invalidField('username', 'Another person already has this username. Choose another one.', 'conflict');
  }
}

/** The requested name, with a number appended when it is taken. */
export async function freeName(app: Platform, tx: Db, id: string, requested: string): Promise<string> {
  const taken = await takenNames(app, tx, id);
  for (let number = 1; ; number++) {
    const suffix = number === 1 ? '' : `-${number}`;
    const name = `${requested.slice(0, LONGEST_NAME - suffix.length)}${suffix}`;
    if (!taken.has(folded(name))) return name;
  }
}

async function takenNames({ store }: Platform, tx: Db, id: string): Promise<ReadonlySet<string>> {
  const { people } = store.tables;
  const others = await tx.select({ username: people.username }).from(people).where(ne(people.id, id));
  return new Set(others.map(({ username }) => folded(username)));
}

export async function refuseTooMany({ store }: Platform, tx: Db): Promise<void> {
  if ((await tx.$count(store.tables.people)) < MOST_PEOPLE) return;
  throw new AppError('conflict', `There are already ${MOST_PEOPLE} people, the most that Sluice keeps. Remove one first.`);
}
