import type { WithSources } from '#core/sources/source-pool.ts';
import type { WithHosts } from '#core/hosts/host-registry.ts';
import type { WithSnapshots } from '#core/versions/stored-snapshots.ts';
import type { Platform } from '#core/platform/platform.ts';
import { createHash } from 'node:crypto';
import { and, eq, isNull } from 'drizzle-orm';
import { afterCommit } from '#core/platform/after-commit.ts';
import { readSettings } from '#core/settings/settings.ts';
import type { Login } from '#core/edge/token-form.ts';
import { grantTokens, refuse, type TokenAnswer } from '#core/identity/agent-grants.ts';
import { digestOf, randomToken } from '#core/lib/random-token.ts';
import type { Context } from '#core/context/context.ts';
import type { Db } from '#core/store/store.ts';
import { endedSentence, secretOf } from '../ends/token-ends.ts';
import { ASSERTION_GRANT, byAssertion } from './assertions/by-assertion.ts';
import { noteAttempt, type NotedAnswer } from './attempts.ts';
import { boundClient, type Client } from './clients/clients.ts';
import { addGrant, endStolen, type GrantRow, recordGrant } from './grants.ts';
import { lockPerson } from './people.ts';
import { issuerOf } from '#core/settings/public-urls.ts';
import { issueTime } from './ended.ts';
import { issue, type TokenServices } from './issue.ts';
import { pushIdentity } from './published.ts';
import { noteRegistrationUse } from './clients/registrations.ts';
import { resourceOf, signInRefusal } from './resources.ts';
import { toScopes } from './scopes.ts';

/** A client that did not receive the response to a refresh may repeat it within this time. */
const GRACE_MS = 120_000;
const DAY_MS = 24 * 3_600_000;
const AGENT_CLIENT = 'svc_cl_';

const UNKNOWN_CLIENT = refuse('invalid_client', 'The client is not known here, or its secret is wrong. Register again.', 401);
const BAD_CODE = refuse(
  'invalid_grant',
  'The code is not valid: it was used, has expired, or belongs to another client or request.',
);
const OLD_GRANT = refuse(
  'invalid_grant',
  'The sign-in has reached the longest lifetime that the administrator allows. Sign in again.',
);
const OTHER_RESOURCE = refuse('invalid_grant', 'The person granted access to another resource. Sign in again.');
const BAD_REFRESH = refuse(
  'invalid_grant',
  'The refresh token is not valid: it was used, has expired, or its grant was revoked.',
);

/**
 * Handles the grants authorization_code and refresh_token (RFC 6749 sections 4.1.3 and 6), identity assertions (RFC 7523), and the
 * grants of the clients of the agent endpoint.
 */
export async function answerTokenRequest(
  context: Context<TokenServices>,
  form: URLSearchParams,
  logins: readonly Login[],
): Promise<TokenAnswer> {
  const { app, ip } = context;
  const client_id = logins[0]?.client_id ?? form.get('client_id') ?? '';
  if (client_id.startsWith(AGENT_CLIENT)) return forAgentClient(app, form, logins, ip);
  const grant_type = form.get('grant_type');
  if (grant_type === null || grant_type === '') return refuse('invalid_request', 'grant_type is missing.');
  const step = Object.hasOwn(GRANTS, grant_type) ? GRANTS[grant_type] : undefined;
  if (step === undefined) {
    return refuse('unsupported_grant_type', `grant_type must be authorization_code, refresh_token or ${ASSERTION_GRANT}.`);
  }
  const unsafe = signInRefusal(await issuerOf(app));
  if (unsafe !== null) return refuse('invalid_request', unsafe);
  const { client, refused } = await authenticated(app, client_id, logins);
  const answer: NotedAnswer =
    client === null || refused !== null ? (refused ?? UNKNOWN_CLIENT) : await step.answer(context, client, form);
  const failed = answer.status === 200 ? null : String(answer.body['detail']);
  // Successful refreshes are not recorded.
  if (failed !== null || step.name !== 'refresh') {
    const attempt = { client: client?.facts.name ?? null, client_id, step: step.name, reason: failed, ip };
    await noteAttempt(app, { ...attempt, ...answer.noted });
  }
  return answer;
}

interface GrantHandler {
  readonly name: 'token' | 'refresh' | 'assertion';
  readonly answer: (context: Context<TokenServices>, client: Client, form: URLSearchParams) => Promise<NotedAnswer>;
}
const GRANTS: Readonly<Record<string, GrantHandler>> = {
  authorization_code: { name: 'token', answer: byCode },
  refresh_token: { name: 'refresh', answer: byRefresh },
  [ASSERTION_GRANT]: { name: 'assertion', answer: byAssertion },
};

const forAgentClient = (
  app: Platform,
  form: URLSearchParams,
  logins: readonly Login[],
  ip: string | null,
): Promise<TokenAnswer> => {
  const [login] = logins;
  const text = (name: string) => form.get(name) ?? undefined;
  const named = { grant_type: text('grant_type'), refresh_token: text('refresh_token'), scope: text('scope') };
  return grantTokens(app, { ...named, client_id: text('client_id'), ...login }, ip);
};

/** A client, or why it is refused. A client whose secret has ended is named. */
type Authenticated =
  | { readonly client: Client; readonly refused: null }
  | { readonly client: Client | null; readonly refused: TokenAnswer };

const UNKNOWN: Authenticated = { client: null, refused: UNKNOWN_CLIENT };

/** Authenticates a client, with its secret if it has one. Secrets are random, so the time that comparing digests takes says nothing. */
export async function authenticated(app: Platform, client_id: string, logins: readonly Login[]): Promise<Authenticated> {
  const client = client_id === '' ? null : await boundClient(app, client_id);
  if (client === null) return UNKNOWN;
  const { secret_digest, ends } = client;
  if (secret_digest === null) return { client, refused: null };
  const now = app.clock();
  const secrets = logins.flatMap(({ client_secret }) => secretOf(ends, secret_digest, digestOf(client_secret), now) ?? []);
  const [secret] = secrets;
  if (secret === undefined) return UNKNOWN;
  if (secrets.some(({ ended_at }) => ended_at === null)) return { client, refused: null };
  return { client, refused: refuse('invalid_client', endedSentence('The client secret', secret.ended_at ?? ''), 401) };
}

async function byCode(
  context: Context<WithSources & WithHosts & WithSnapshots>,
  client: Client,
  form: URLSearchParams,
): Promise<TokenAnswer> {
  const { app } = context;
  const { oauth_codes: table } = app.store.tables;
  const code = form.get('code');
  const verifier = form.get('code_verifier');
  if (code === null) return refuse('invalid_request', 'code is missing.');
  if (verifier === null) return refuse('invalid_request', 'code_verifier is missing.');
  const digest = digestOf(code);
  const now = app.clock();
  // The first use marks the code as used, even if it fails. Of concurrent uses one succeeds.
  const [row] = await app.store.write((tx) =>
    tx
      .update(table)
      .set({ spent: true })
      .where(and(eq(table.digest, digest), eq(table.spent, false)))
      .returning(),
  );
  if (row === undefined) {
    // The code was used twice. The first caller may be the attacker (RFC 6749 section 4.1.2). Waits for a first use in progress.
    const [used] = await app.store.write((tx) => tx.delete(table).where(eq(table.digest, digest)).returning());
    if (used !== undefined) await endStolen(app, used.grant_id);
    return BAD_CODE;
  }
  const fits =
    Date.parse(row.expires_at) > now.getTime() &&
    row.client.client_id === client.facts.client_id &&
    row.redirect_uri === form.get('redirect_uri') &&
    isVerifier(verifier, row.code_challenge);
  if (!fits) return BAD_CODE;
  if (!(await isSameResource(app, form.get('resource'), row.resource)))
    return refuse('invalid_target', 'resource is not the one that the person granted access to.');
  const grant: GrantRow = {
    id: row.grant_id,
    kind: null,
    person_id: row.person_id,
    client_id: row.client.client_id,
    client: row.client,
    resource: row.resource,
    scopes: row.scopes,
    created_at: now.toISOString(),
    last_used_at: now.toISOString(),
  };
  const refresh_token = randomToken('svc_or_');
  const { oauth_refresh } = app.store.tables;
  const expires_at = await refreshEnd(app, grant);
  const stored = await app.store.write(async (tx) => {
    const person = await lockPerson(app, tx, row.person_id);
    if (person === null) return null;
    // A second use deletes the code, and then waits here for the grant that it has to end.
    const held = await tx.update(table).set({ spent: true }).where(eq(table.digest, digest)).returning({ digest: table.digest });
    if (held.length === 0) return null;
    const full = await addGrant(app, tx, grant);
    await tx.insert(oauth_refresh).values({ digest: digestOf(refresh_token), grant_id: grant.id, expires_at });
    const issued = await issueTime(app, tx, grant);
    const actor = { type: 'admin' as const, id: person.id, name: person.username, scopes: [], role: person.role };
    await recordGrant({ ...context, actor }, tx, 'create', grant, person.username);
    return { full, person, refresh_token, ...issued };
  });
  if (stored === null) return BAD_CODE;
  if (stored.full) await pushIdentity(app);
  await afterCommit(app, 'noting the use of a registration', () => noteRegistrationUse(app, grant.client_id));
  return issue(app, grant, stored, { requested: null });
}

const isVerifier = (verifier: string, challenge: string): boolean =>
  /^[\w.~-]{43,128}$/.test(verifier) && createHash('sha256').update(verifier).digest('base64url') === challenge;

async function byRefresh(
  context: Context<WithSources & WithHosts & WithSnapshots>,
  client: Client,
  form: URLSearchParams,
): Promise<TokenAnswer> {
  const { app } = context;
  const { oauth_refresh: table, oauth_grants } = app.store.tables;
  const token = form.get('refresh_token');
  if (token === null) return refuse('invalid_request', 'refresh_token is missing.');
  const digest = digestOf(token);
  const [found] = await app.store.db
    .select({ refresh: table, grant: oauth_grants })
    .from(table)
    .innerJoin(oauth_grants, eq(oauth_grants.id, table.grant_id))
    .where(eq(table.digest, digest));
  const now = app.clock();
  if (found === undefined || found.grant.client_id !== client.facts.client_id) return BAD_REFRESH;
  const { grant } = found;
  if ((await grantEnd(app, grant)) <= now.getTime()) return OLD_GRANT;
  if (Date.parse(found.refresh.expires_at) <= now.getTime()) return BAD_REFRESH;
  // Clients sign in again after invalid_grant, but repeat the same request forever after invalid_target.
  if (!(await isSameResource(app, form.get('resource'), grant.resource))) return OTHER_RESOURCE;
  const scopes = form.has('scope') ? toScopes(form.get('scope')) : null;
  const fresh = { refresh_token: randomToken('svc_or_'), expires_at: await refreshEnd(app, grant) };
  const renewed = await app.store.write(async (tx) => {
    const person = await lockPerson(app, tx, grant.person_id);
    if (person === null) return 'nobody';
    const refresh_token = await rotate(app, tx, digest, grant.id, fresh);
    if (refresh_token === null) return 'stolen';
    return { person, refresh_token, ...(await issueTime(app, tx, grant)) };
  });
  if (renewed === 'stolen') await endStolen(app, grant.id);
  if (typeof renewed === 'string') return BAD_REFRESH;
  await afterCommit(app, 'noting the use of a registration', () => noteRegistrationUse(app, grant.client_id));
  return issue(app, grant, renewed, { requested: scopes });
}

const pathOf = (digest: string): string => `oauth_refresh/${digest}/successor`;

/** The successor of a refresh token, also for a repeated request within the grace period. Null: the token was reused. */
async function rotate(
  app: Platform,
  tx: Db,
  digest: string,
  grant_id: string,
  { refresh_token, expires_at }: { readonly refresh_token: string; readonly expires_at: string },
): Promise<string | null> {
  const { oauth_refresh: table } = app.store.tables;
  const now = app.clock();
  const successor_digest = digestOf(refresh_token);
  const rotated = await tx
    .update(table)
    .set({
      rotated_at: now.toISOString(),
      successor: app.keyring.seal(refresh_token, pathOf(digest)),
      successor_digest,
    })
    .where(and(eq(table.digest, digest), isNull(table.rotated_at)))
    .returning({ digest: table.digest });
  if (rotated.length > 0) {
    await tx.insert(table).values({ digest: successor_digest, grant_id, expires_at });
    return refresh_token;
  }
  const [old] = await tx.select().from(table).where(eq(table.digest, digest));
  if (old?.rotated_at == null || old.successor === null || old.successor_digest === null) return null;
  if (Date.parse(old.rotated_at) + GRACE_MS <= now.getTime()) return null;
  // Only if the successor is unused. Otherwise the client already received it.
  const [next] = await tx.select().from(table).where(eq(table.digest, old.successor_digest));
  return next !== undefined && next.rotated_at === null ? app.keyring.open(old.successor, pathOf(digest)) : null;
}

/**
 * The latest end of a grant, regardless of refreshes (RFC 9700 section 4.14.2). Lowering the setting also ends existing grants.
 */
async function grantEnd(app: Platform, { created_at }: GrantRow): Promise<number> {
  const { oauth_grant_days } = (await readSettings(app)).settings;
  return Date.parse(created_at) + oauth_grant_days * DAY_MS;
}

async function refreshEnd(app: Platform, grant: GrantRow): Promise<string> {
  const { oauth_refresh_days } = (await readSettings(app)).settings;
  const unused = app.clock().getTime() + oauth_refresh_days * DAY_MS;
  return new Date(Math.min(unused, await grantEnd(app, grant))).toISOString();
}

/** A token is valid for the resource of its grant. A request without a resource means the same one (RFC 8707 section 2.2). */
const isSameResource = async (app: Platform, requested: string | null, granted: string): Promise<boolean> =>
  requested === null || (await resourceOf(app, requested))?.url === granted;
