import type { Platform } from '#core/platform/platform.ts';
import { eq } from 'drizzle-orm';
import { countMinute } from '#core/cluster/kv.ts';
import { AppError } from '#core/errors.ts';
import type { Actor } from '#core/context/context.ts';
import { agentPerson, looksLikeAccessToken } from './oauth/bearer.ts';
import { digestOf } from '#core/lib/random-token.ts';
import { readSettings } from '#core/settings/settings.ts';
import { endedSentence, hasEnded, type TokenEnds } from './ends/token-ends.ts';
import { noteUse } from './sessions.ts';

/** The identity behind a bearer token. */
export interface Bearer {
  readonly actor: Actor;
  readonly token_prefix: string;
}

/** Minimum interval between two writes of the last use. */
const SEEN_EVERY_MS = 15_000;
const MINUTE_MS = 60_000;

const refused = () =>
  new AppError('unauthenticated', 'The bearer token is not valid: it was revoked, has expired or was never issued.');

/** The caller has the token of a credential that has ended, so it may know when. */
const ended = (what: string, ended_at: string) => new AppError('unauthenticated', endedSentence(what, ended_at));

/**
 * The identity behind `svc_…` or `svc_at_…`, found by the digest of the token, or behind the access token of a signed-in person.
 * The lookup counts as a use, which restarts the idle timeout.
 * Throws `unauthenticated` for every invalid token, without the reason, except for one that has reached its end.
 * @param through_agent the request came through the agent endpoint, which sends its service token.
 */
export async function authenticateBearer(
  app: Platform,
  token: string,
  ip: string | null,
  through_agent: boolean,
): Promise<Bearer> {
  const person = looksLikeAccessToken(token) ? await agentPerson(app, token) : null;
  if (person !== null && !through_agent) throw new AppError('unauthenticated', FOR_AGENT_ENDPOINT);
  if (person !== null) return person;
  if (!/^svc_(?:at_)?[A-Za-z0-9]{40}$/.test(token)) throw refused();
  return token.startsWith('svc_at_') ? ofClient(app, token, ip) : ofToken(app, token, ip);
}

/** A token is valid only for the resource that its person consented to (RFC 8707). */
const FOR_AGENT_ENDPOINT =
  'This access token is for the agent endpoint, /agent-mcp, and opens no REST address. Use a token of an agent or the secret of an OAuth client for REST.';

async function ofToken(app: Platform, token: string, ip: string | null): Promise<Bearer> {
  const { agent_tokens: table } = app.store.tables;
  const now = app.clock();
  const [row] = await app.store.db
    .select()
    .from(table)
    .where(eq(table.digest, digestOf(token)));
  if (row === undefined || row.revoked) throw refused();
  if (hasEnded(row, now)) throw ended('The agent token', row.expires_at);
  if (isStale(row.last_used_at, now) || row.last_ip !== ip) {
    await noteUse(app, async (tx) => {
      await tx.update(table).set({ last_used_at: now.toISOString(), last_ip: ip }).where(eq(table.id, row.id));
    });
  }
  return {
    actor: { type: 'agent_token', id: row.id, name: row.name, scopes: row.scopes },
    token_prefix: row.token_prefix,
  };
}

async function ofClient(app: Platform, token: string, ip: string | null): Promise<Bearer> {
  const { agent_grants: grants, agent_families: families, agent_clients: clients } = app.store.tables;
  const now = app.clock();
  const [found] = await app.store.db
    .select({ grant: grants, family: families, client: clients })
    .from(grants)
    .innerJoin(families, eq(families.id, grants.family_id))
    .innerJoin(clients, eq(clients.id, families.client_row))
    .where(eq(grants.digest, digestOf(token)));
  if (found === undefined || found.grant.kind !== 'access') throw refused();
  const { grant, family, client } = found;
  if (!client.revoked && client.expires_at !== null && hasEnded(client, now)) throw ended('The OAuth client', client.expires_at);
  if (grant.expires_at === null || hasEnded(grant, now) || !isFamilyLive(family, client, now)) throw refused();
  if (isStale(family.last_used_at, now) || isStale(client.last_used_at, now) || client.last_ip !== ip) {
    const last_used_at = now.toISOString();
    await noteUse(app, async (tx) => {
      await tx.update(families).set({ last_used_at }).where(eq(families.id, family.id));
      await tx.update(clients).set({ last_used_at, last_ip: ip }).where(eq(clients.id, client.id));
    });
  }
  return {
    actor: { type: 'oauth_client', id: client.id, name: client.name, scopes: family.scopes },
    token_prefix: grant.token_prefix,
  };
}

const isStale = (last_used_at: string | null, now: Date): boolean =>
  last_used_at === null || now.getTime() - Date.parse(last_used_at) >= SEEN_EVERY_MS;

/** Each use of any token of the family restarts the idle timeout. */
export const isFamilyLive = (
  family: { readonly revoked: boolean; readonly last_used_at: string },
  client: { readonly revoked: boolean; readonly idle_timeout_minutes: number } & Pick<TokenEnds, 'expires_at'>,
  now: Date,
): boolean =>
  !family.revoked &&
  !client.revoked &&
  !hasEnded(client, now) &&
  Date.parse(family.last_used_at) + client.idle_timeout_minutes * MINUTE_MS > now.getTime();

/** Counts calls of a token. Throws `rate_limited` beyond `agent_rate_limit` per minute. */
export async function countCalls(app: Platform, { actor }: Bearer, calls: number): Promise<void> {
  if (calls === 0) return;
  const [{ settings }, { count, retry_after }] = await Promise.all([
    readSettings(app),
    countMinute(app, `agent-rate:${actor.id}`, calls),
  ]);
  if (count <= settings.agent_rate_limit) return;
  throw new AppError(
    'rate_limited',
    `This token made more than ${settings.agent_rate_limit} calls in a minute. Wait ${retry_after} seconds.`,
    { retry_after },
  );
}

/** Throws `forbidden` when the setting `agent_enabled` is off. */
export async function requireAgents(app: Platform): Promise<void> {
  if ((await readSettings(app)).settings.agent_enabled) return;
  throw new AppError(
    'forbidden',
    'Agents are turned off: agent_enabled of the server configuration is false, so their tokens work neither on the agent endpoint nor on the REST API.',
  );
}
