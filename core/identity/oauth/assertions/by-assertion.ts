import { and, eq } from 'drizzle-orm';
import { AppError, asFault } from '#core/errors.ts';
import type { Context } from '#core/context/context.ts';
import { EVERYTHING } from '#core/edge/identity.ts';
import { withoutEndSlashes } from '#core/edge/requested-address.ts';
import { refuse } from '#core/identity/agent-grants.ts';
import { writePeople } from '#core/identity/people-rules.ts';
import { toAssertedProfile } from '#core/identity/providers/claims.ts';
import { admit } from '#core/identity/providers/entry.ts';
import { withFewerGroups } from '#core/identity/providers/sign-in.ts';
import { digestOf } from '#core/lib/random-token.ts';
import type { Platform } from '#core/platform/platform.ts';
import { inTransaction } from '#core/records/batch.ts';
import type { Db } from '#core/store/store.ts';
import type { WithSnapshots } from '#core/versions/stored-snapshots.ts';
import type { NotedAnswer } from '../attempts.ts';
import type { Client } from '../clients/clients.ts';
import { issueTime } from '../ended.ts';
import { addGrant, type GrantRow, recordGrant } from '../grants.ts';
import { issue, type TokenServices } from '../issue.ts';
import { lockPerson, type Person } from '../people.ts';
import { CLOCKS_MS, pushIdentity } from '../published.ts';
import { type Resource, resourceOf } from '../resources.ts';
import { namedScopes, scopesFor, toScopes } from '../scopes.ts';
import { type Assertion, trustedProvider, verifyAssertion } from './verify.ts';

/** RFC 7523 section 2.1. */
export const ASSERTION_GRANT = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
/** The profile of the grant in the server's metadata (draft-ietf-oauth-identity-assertion-authz-grant section 7.2). */
export const ASSERTION_PROFILE = 'urn:ietf:params:oauth:grant-profile:id-jag';

/** Only by refusing the next assertion can the provider end access. */
const ACCESS_MINUTES = 10;

/** @param reason the error code of the response, unless it is `invalid_grant`. */
const refused = (detail: string, reason?: 'invalid_request' | 'invalid_target' | 'invalid_scope') =>
  new AppError('forbidden', detail, reason === undefined ? {} : { reason });

/**
 * Handles an identity assertion (RFC 7523 section 2.1, draft-ietf-oauth-identity-assertion-authz-grant section 4.4): instead of the
 * person's consent, an identity provider says that they use this client. There is no refresh token, so the provider decides again.
 */
export async function byAssertion(context: Context<TokenServices>, client: Client, form: URLSearchParams): Promise<NotedAnswer> {
  const noted: { provider?: string; person?: string; listed?: boolean } = {};
  const { client_id } = client.facts;
  const { app } = context;
  try {
    const text = form.get('assertion') ?? '';
    if (text === '') throw refused('assertion is missing.', 'invalid_request');
    const provider = await trustedProvider(app, text, client_id);
    noted.provider = provider.name;
    const assertion = await verifyAssertion(app, provider, text, client_id);
    const resource = await resourceFor(app, form, assertion);
    const opened = await openSession(context, client, { assertion, resource, scope: form.get('scope') });
    noted.person = opened.person.username;
    noted.listed = opened.is_new;
    return { ...(await issue(app, opened.grant, opened, { requested: [], most_minutes: ACCESS_MINUTES })), noted };
  } catch (error) {
    const { code, detail, reason } = asFault(error);
    const of_request = reason?.startsWith('invalid_') === true ? reason : 'invalid_grant';
    if (code === 'forbidden' || code === 'conflict') return { ...refuse(of_request, detail), noted };
    if (code === 'internal') throw error;
    // The provider's keys could not be read, so nothing is known of the assertion.
    return { ...refuse('temporarily_unavailable', detail, 503), noted };
  }
}

/** The resource of the token: the requested one, if the assertion is not for others. The agent endpoint needs a person's consent. */
async function resourceFor(app: Platform, form: URLSearchParams, { claims }: Assertion): Promise<Resource> {
  const [requested = null, another] = form.getAll('resource');
  if (another !== undefined) throw refused('resource is sent more than once. Request one token for each.', 'invalid_target');
  const named = claims['resource'];
  const claimed = named === undefined ? null : [named].flat().filter((url) => typeof url === 'string');
  if (requested === null && claimed !== null) {
    for (const url of claimed) {
      const found = await resourceOf(app, url);
      if (found?.kind === 'mcp') return found;
    }
    throw refused('The assertion is for another resource.');
  }
  const resource = await resourceOf(app, requested);
  if (resource === null) throw refused('resource is not an address of this server.', 'invalid_target');
  if (resource.kind === 'agent') {
    throw refused('The agent endpoint does not accept assertions, because only a person can approve an agent.', 'invalid_target');
  }
  const is_claimed = claimed === null || claimed.some((url) => withoutEndSlashes(url) === resource.url);
  if (!is_claimed) throw refused('The assertion is for another resource.');
  return resource;
}

interface Exchange {
  readonly assertion: Assertion;
  readonly resource: Resource;
  readonly scope: string | null;
}

/**
 * Opens or renews the session of a person in a client, and uses the assertion up: of concurrent requests with the same one, one
 * succeeds. A refusal changes nothing.
 */
async function openSession(context: Context<TokenServices>, client: Client, { assertion, resource, scope }: Exchange) {
  const { app } = context;
  const { provider, claims, jti, until } = assertion;
  const email = await storedEmail(app, provider.issuer, claims.sub);
  const profile = await withFewerGroups(app, provider, toAssertedProfile(provider, claims, email));
  const opened = await writePeople(app, async (tx, endAccess) => {
    if (!(await isFirstUse(app, tx, `${provider.issuer}\n${jti}`, until))) {
      throw refused('The assertion was used before. Request another one from the identity provider.');
    }
    const { id } = await admit(context, tx, endAccess, provider, profile);
    const person = await lockPerson(app, tx, id);
    if (person === null) throw refused('This account is disabled. Ask an administrator to enable it.');
    const scopes = await scopesOf(inTransaction(context, tx).app, resource, person, claims['scope'], scope);
    const session = await writeSession(context, tx, { person, client: client.facts, resource: resource.url, scopes });
    return { ...session, person, refresh_token: null, ...(await issueTime(app, tx, session.grant)) };
  });
  if (opened.is_full) await pushIdentity(app);
  return opened;
}

/** Null: the person has no address, or has not signed in before. */
async function storedEmail({ store: { db, tables } }: Platform, issuer: string, subject: string): Promise<string | null> {
  const { identities, people } = tables;
  const [row] = await db
    .select({ email: people.email })
    .from(identities)
    .innerJoin(people, eq(people.id, identities.person_id))
    .where(and(eq(identities.issuer, issuer), eq(identities.subject, subject)));
  return row?.email ?? null;
}

/** One row for all servers of the database. It stays while any server could still accept the assertion by its clock. */
async function isFirstUse({ store }: Platform, tx: Db, name: string, until: number): Promise<boolean> {
  const { used_assertions: table } = store.tables;
  const row = { digest: digestOf(name), expires_at: new Date(until + CLOCKS_MS).toISOString() };
  const stored = await tx.insert(table).values(row).onConflictDoNothing().returning({ digest: table.digest });
  return stored.length > 0;
}

/**
 * The scopes that the assertion, the request and the person's rights allow. Empty: everything that the person can use, also what is
 * added later. An assertion without scopes leaves them to this server.
 */
async function scopesOf(
  app: Platform & WithSnapshots,
  resource: Resource,
  person: Person,
  claimed: unknown,
  requested: string | null,
): Promise<string[]> {
  const offered = await scopesFor(app, resource, person);
  if (offered.length === 0)
    throw refused('Nothing that is deployed here is open to the person. Ask an administrator for access.');
  const claims = claimed === undefined ? [EVERYTHING] : toScopes(typeof claimed === 'string' ? claimed : null);
  const [limits, wishes] = [namedScopes(claims, resource), namedScopes(toScopes(requested), resource)];
  const is_limited = limits.length > 0 || !claims.includes(EVERYTHING);
  const allowed = is_limited ? offered.filter(({ name }) => limits.includes(name)) : offered;
  if (allowed.length === 0) throw refused('The assertion allows no scope that the person can use here.');
  const granted = wishes.length > 0 ? allowed.filter(({ name }) => wishes.includes(name)) : allowed;
  if (granted.length === 0) {
    throw refused('scope has nothing that both the assertion and the rights of the person allow.', 'invalid_scope');
  }
  return is_limited || wishes.length > 0 ? granted.map(({ name }) => name) : [];
}

/** One session of a person and a client for each resource, so that revoking it ends all its tokens. */
async function writeSession(
  context: Context<TokenServices>,
  tx: Db,
  { person, ...about }: Pick<GrantRow, 'client' | 'resource' | 'scopes'> & { readonly person: Person },
): Promise<{ grant: GrantRow; is_new: boolean; is_full: boolean }> {
  const { app } = context;
  const { oauth_grants: table } = app.store.tables;
  const whose = { person_id: person.id, client_id: about.client.client_id, kind: 'assertion' } as const;
  const same = and(
    eq(table.person_id, whose.person_id),
    eq(table.client_id, whose.client_id),
    eq(table.resource, about.resource),
    eq(table.kind, whose.kind),
  );
  const [known] = await tx.update(table).set({ client: about.client, scopes: about.scopes }).where(same).returning();
  if (known !== undefined) return { grant: known, is_new: false, is_full: false };
  const now = app.clock().toISOString();
  const grant: GrantRow = { id: app.ids(), ...whose, ...about, created_at: now, last_used_at: now };
  const is_full = await addGrant(app, tx, grant);
  const actor = { type: 'admin' as const, id: person.id, name: person.username, scopes: [], role: person.role };
  await recordGrant({ ...context, actor }, tx, 'create', grant, person.username);
  return { grant, is_new: true, is_full };
}
