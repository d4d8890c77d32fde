import type { Platform } from '#core/platform/platform.ts';
import { and, eq, inArray, lt } from 'drizzle-orm';
import type { Scope } from '#core/contract/operation.ts';
import type { Db } from '#core/store/store.ts';
import type { Schema } from '#core/store/schema.ts';
import { isFamilyLive } from './agent-bearers.ts';
import { endedSentence, hasEnded, secretOf } from './ends/token-ends.ts';
import { digestOf, randomToken, shownPrefix } from '#core/lib/random-token.ts';

const ACCESS_MS = 3_600_000;
/** Longer than the longest idle timeout, so families that were last used before have expired. */
const FORGET_MS = 25 * 3_600_000;

export interface TokenRequest {
  readonly grant_type?: string | undefined;
  readonly refresh_token?: string | undefined;
  readonly scope?: string | undefined;
  readonly client_id?: string | undefined;
  readonly client_secret?: string | undefined;
  /** The client authenticated with the header Authorization. */
  readonly basic?: boolean;
}

/** A response of the token endpoint: RFC 6749 sections 5.1 and 5.2. */
export interface TokenAnswer {
  readonly status: 200 | 400 | 401 | 503;
  readonly body: Readonly<Record<string, unknown>>;
}

type ClientRow = Schema['agent_clients']['$inferSelect'];
type FamilyRow = Schema['agent_families']['$inferSelect'];

/** An error response of the token endpoint (RFC 6749 section 5.2). */
export const refuse = (error: string, detail: string, status: 400 | 401 | 503 = 400): TokenAnswer => ({
  status,
  body: { error, error_description: detail, detail },
});
const UNKNOWN_CLIENT = refuse('invalid_client', 'client_id or client_secret is wrong, or the client was revoked.', 401);
const BAD_REFRESH = refuse('invalid_grant', 'The refresh token is not valid: it was already used, has expired or was revoked.');
const BAD_SCOPE = refuse(
  'invalid_scope',
  'scope contains a value that this client does not have. The scopes are read, write, deploy and propose.',
);

/**
 * Handles the grants client_credentials and refresh_token. A refused request stores nothing, except that a reused token revokes
 * its family.
 */
export async function grantTokens(app: Platform, request: TokenRequest, ip: string | null): Promise<TokenAnswer> {
  const { grant_type } = request;
  if (grant_type === undefined || grant_type === '') return refuse('invalid_request', 'grant_type is missing.');
  if (grant_type === 'client_credentials') return byCredentials(app, request, ip);
  if (grant_type === 'refresh_token') return byRefresh(app, request);
  return refuse('unsupported_grant_type', 'grant_type must be client_credentials or refresh_token.');
}

async function byCredentials(app: Platform, request: TokenRequest, ip: string | null): Promise<TokenAnswer> {
  if (request.client_id === undefined || request.client_secret === undefined) {
    return refuse('invalid_client', 'Send client_id and client_secret in the form, or as HTTP Basic.', 401);
  }
  const client = await findClient(app, request.client_id, request.client_secret);
  if (client === null) return UNKNOWN_CLIENT;
  if ('body' in client) return client;
  const scopes = narrow(client.scopes, request.scope);
  if (scopes === null) return BAD_SCOPE;
  const { agent_families, agent_clients } = app.store.tables;
  const last_used_at = app.clock().toISOString();
  const family: FamilyRow = { id: app.ids(), client_row: client.id, scopes, revoked: false, last_used_at };
  return app.store.write(async (tx) => {
    await forgetFamilies(app, tx);
    const [live] = await tx
      .update(agent_clients)
      .set({ last_used_at, last_ip: ip })
      .where(and(eq(agent_clients.id, client.id), eq(agent_clients.revoked, false)))
      .returning({ id: agent_clients.id });
    if (live === undefined) return UNKNOWN_CLIENT;
    await tx.insert(agent_families).values(family);
    return issue(app, tx, family);
  });
}

/**
 * The client with this secret, or the refusal of one whose secret has ended; null: there is none. The secret has 238 random bits, so
 * the timing of comparing digests reveals nothing useful.
 */
async function findClient(app: Platform, client_id: string, client_secret: string): Promise<ClientRow | TokenAnswer | null> {
  const { agent_clients } = app.store.tables;
  const [row] = await app.store.db.select().from(agent_clients).where(eq(agent_clients.client_id, client_id));
  if (row === undefined || row.revoked) return null;
  const secret = secretOf(row, row.secret_digest, digestOf(client_secret), app.clock());
  if (secret === null) return null;
  return secret.ended_at === null ? row : refuse('invalid_client', endedSentence('The client secret', secret.ended_at), 401);
}

async function byRefresh(app: Platform, request: TokenRequest): Promise<TokenAnswer> {
  const { refresh_token, client_id, client_secret } = request;
  if (refresh_token === undefined || refresh_token === '') return refuse('invalid_request', 'refresh_token is missing.');
  const { agent_grants: grants, agent_families: families, agent_clients: clients } = app.store.tables;
  const digest = digestOf(refresh_token);
  const now = app.clock();
  return app.store.write(async (tx) => {
    const [found] = await tx
      .select({ grant: grants, family: families, client: clients })
      .from(grants)
      .innerJoin(families, eq(families.id, grants.family_id))
      .innerJoin(clients, eq(clients.id, families.client_row))
      .where(eq(grants.digest, digest));
    if (found === undefined || found.grant.kind !== 'refresh') return BAD_REFRESH;
    const { family, client } = found;
    // If client credentials are sent, they must be those of the client that received the token.
    const shown = client_id !== undefined || client_secret !== undefined;
    const secret = client_secret === undefined ? null : secretOf(client, client.secret_digest, digestOf(client_secret), now);
    const fits = client_id === client.client_id && (client_secret === undefined || secret !== null);
    if (shown && !fits) return UNKNOWN_CLIENT;
    const ended_at = secret?.ended_at ?? (hasEnded(client, now) ? client.expires_at : null);
    if (ended_at !== null) return refuse('invalid_grant', endedSentence('The client secret', ended_at));
    if (!isFamilyLive(family, client, now)) return BAD_REFRESH;
    const scopes = narrow(family.scopes, request.scope);
    if (scopes === null) return BAD_SCOPE;
    const spent = await tx
      .update(grants)
      .set({ spent: true })
      .where(and(eq(grants.digest, digest), eq(grants.spent, false)))
      .returning({ digest: grants.digest });
    if (spent.length === 0) {
      // The token was used twice, so somebody has a copy. Revokes the whole family (RFC 9700, section 4.14.2).
      await tx.update(families).set({ revoked: true }).where(eq(families.id, family.id));
      return BAD_REFRESH;
    }
    const last_used_at = now.toISOString();
    await tx.update(families).set({ last_used_at, scopes }).where(eq(families.id, family.id));
    return issue(app, tx, { ...family, scopes });
  });
}

/** The requested scopes, or all granted ones when none is requested. Null when a requested scope was not granted. */
function narrow(had: readonly Scope[], requested: string | undefined): Scope[] | null {
  if (requested === undefined || requested.trim() === '') return [...had];
  const names = requested.trim().split(/ +/);
  return names.every((name) => had.some((scope) => scope === name)) ? had.filter((scope) => names.includes(scope)) : null;
}

async function issue(app: Platform, tx: Db, { id: family_id, scopes }: FamilyRow): Promise<TokenAnswer> {
  const { agent_grants } = app.store.tables;
  const access = randomToken('svc_at_');
  const refresh = randomToken('svc_rt_');
  const row = (kind: 'access' | 'refresh', token: string, expires_at: string | null) => ({
    digest: digestOf(token),
    family_id,
    kind,
    token_prefix: shownPrefix(token),
    spent: false,
    expires_at,
  });
  const ends = new Date(app.clock().getTime() + ACCESS_MS).toISOString();
  await tx.insert(agent_grants).values([row('access', access, ends), row('refresh', refresh, null)]);
  return {
    status: 200,
    body: {
      access_token: access,
      token_type: 'Bearer',
      expires_in: ACCESS_MS / 1_000,
      refresh_token: refresh,
      scope: scopes.join(' '),
    },
  };
}

async function forgetFamilies(app: Platform, tx: Db): Promise<void> {
  const { agent_families, agent_grants } = app.store.tables;
  const dead = lt(agent_families.last_used_at, new Date(app.clock().getTime() - FORGET_MS).toISOString());
  const ids = tx.select({ id: agent_families.id }).from(agent_families).where(dead);
  await tx.delete(agent_grants).where(inArray(agent_grants.family_id, ids));
  await tx.delete(agent_families).where(dead);
}
