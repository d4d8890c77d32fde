import type { Platform } from '#core/platform/platform.ts';
import type { WithDocuments } from '#core/identity/oauth/clients/documents.ts';
import type { WithHosts } from '#core/hosts/host-registry.ts';
import { lt } from 'drizzle-orm';
import { countMinute } from '#core/cluster/kv.ts';
import { networkOf, siteOf } from '#core/edge/client-address.ts';
import { lockRowCount } from '#core/store/journal.ts';
import { AppError } from '#core/errors.ts';
import { digestOf, randomToken } from '#core/lib/random-token.ts';
import { noteAttempt } from './attempts.ts';
import { type Client, findClient } from './clients/clients.ts';
import { makeRoom } from './fair-share.ts';
import { issuerOf } from '#core/settings/public-urls.ts';
import { prepareKeys } from './keys.ts';
import { redirectMatches, redirectKindOf } from './clients/redirects.ts';
import { resourceOf, signInRefusal } from './resources.ts';
import { toScopes } from './scopes.ts';

/** A request waits this long for the decision of the person. */
const WAITS_MS = 10 * 60_000;
const MAX_PER_NETWORK = 120;
const MOST_WAITING = 10_000;
const LONGEST_STATE = 4_096;

/** The response to the browser. */
export type Authorization =
  | { readonly kind: 'page'; readonly status: 400 | 429; readonly reason: string }
  | { readonly kind: 'redirect'; readonly to: string }
  | { readonly kind: 'consent'; readonly request: string };

interface Fault {
  /** RFC 6749 section 4.1.2.1, RFC 8707 section 2. */
  readonly error: string;
  readonly reason: string;
}

/**
 * The authorization endpoint (RFC 6749 section 4.1.1, RFC 7636, RFC 8707, RFC 9207). An unknown client or redirect address gets a
 * page, never a redirect.
 * @param browser secret in the browser's cookie. The request is bound to it.
 */
export async function authorize(
  app: Platform & WithDocuments & WithHosts,
  query: URLSearchParams,
  browser: string,
  ip: string | null,
): Promise<Authorization> {
  const client_id = query.get('client_id') ?? '';
  const page = async (reason: string, status: 400 | 429 = 400, client?: string): Promise<Authorization> => {
    await noteAttempt(app, { client: client ?? null, client_id, step: 'authorize', reason, ip });
    return { kind: 'page', status, reason };
  };
  const issuer = await issuerOf(app);
  const refused = signInRefusal(issuer);
  if (refused !== null) return page(refused);
  const { count } = await countMinute(app, `oauth:authorize:${networkOf(ip ?? '')}`);
  if (count > MAX_PER_NETWORK)
    return { kind: 'page', status: 429, reason: 'Too many sign-ins were started from your network. Wait a minute.' };
  const repeated = [...new Set(query.keys())].find((name) => query.getAll(name).length > 1);
  if (repeated !== undefined) return page('The client sent a parameter more than once.');
  const redirect_uri = query.get('redirect_uri');
  const client = client_id === '' ? null : await findClient(app, client_id, redirect_uri, ip).catch(limited);
  if (client instanceof AppError) return page(client.detail, 429);
  if (client === null) {
    return page('This client is not known here. Remove the server in your client, add it again, and sign in once more.');
  }
  const { name } = client.facts;
  if (redirect_uri === null || !redirectMatches(client.redirect_uris, redirect_uri)) {
    return page('The address that the answer should go to is not one that this client registered.', 400, name);
  }
  const state = query.get('state');
  const fault = await faultOf(app, query);
  if (fault !== null) {
    // Anyone can register an address, so people see a page before they are redirected there (RFC 9700 section 4.11.2).
    if (!isVouchedFor(client, redirect_uri)) return page(fault.reason, 400, name);
    await noteAttempt(app, { client: name, client_id, step: 'authorize', reason: fault.reason, ip });
    return { kind: 'redirect', to: errorAddress(redirect_uri, { ...fault, state, issuer }) };
  }
  const resource = await resourceOf(app, query.get('resource'));
  if (resource === null) return page('The resource is not at this server.', 400, name);
  const request = randomToken('');
  const { oauth_requests } = app.store.tables;
  const now = app.clock();
  await app.store.write(async (tx) => {
    await tx.delete(oauth_requests).where(lt(oauth_requests.expires_at, now.toISOString()));
    await lockRowCount(app.store, tx);
    if ((await tx.$count(oauth_requests)) >= MOST_WAITING) {
      const { id: key, network, expires_at: age } = oauth_requests;
      await makeRoom(tx, { table: oauth_requests, key, network, age });
    }
    await tx.insert(oauth_requests).values({
      id: digestOf(request),
      browser: digestOf(browser),
      client: client.facts,
      redirect_uri,
      state,
      scopes: toScopes(query.get('scope')),
      resource: resource.url,
      code_challenge: query.get('code_challenge') ?? '',
      network: siteOf(ip ?? ''),
      expires_at: new Date(now.getTime() + WAITS_MS).toISOString(),
    });
  });
  await prepareKeys(app);
  await noteAttempt(app, { client: name, client_id, step: 'authorize', reason: null, ip });
  return { kind: 'consent', request };
}

/** A lookup that a rate limit prevented does not mean that the client is unknown. */
function limited(error: unknown): AppError {
  if (error instanceof AppError && error.code === 'rate_limited') return error;
  throw error;
}

async function faultOf(app: Platform, query: URLSearchParams): Promise<Fault | null> {
  const invalid = (reason: string): Fault => ({ error: 'invalid_request', reason });
  if (query.get('response_type') !== 'code') {
    return { error: 'unsupported_response_type', reason: 'response_type must be code.' };
  }
  if ((query.get('response_mode') ?? 'query') !== 'query') return invalid('response_mode must be query.');
  if (query.has('request') || query.has('request_uri')) {
    return { error: 'request_not_supported', reason: 'Request objects are not supported.' };
  }
  if (query.get('code_challenge_method') !== 'S256') return invalid('code_challenge_method must be S256.');
  if (!/^[\w-]{43}$/.test(query.get('code_challenge') ?? '')) return invalid('code_challenge must be the SHA-256 of a verifier.');
  if ((query.get('state') ?? '').length > LONGEST_STATE) return invalid('state is too long.');
  if ((query.get('prompt') ?? '').split(' ').includes('none')) {
    return { error: 'interaction_required', reason: 'A person must approve the sign-in, so prompt cannot be none.' };
  }
  if ((await resourceOf(app, query.get('resource'))) === null) {
    return { error: 'invalid_target', reason: 'resource is not the address of an MCP endpoint of this server.' };
  }
  return null;
}

const isVouchedFor = ({ facts }: Client, redirect_uri: string): boolean =>
  facts.kind === 'app' || facts.kind === 'known' || redirectKindOf(redirect_uri) === 'loopback';

interface Answer {
  readonly state: string | null;
  readonly issuer: string;
}

/** RFC 9207: error responses contain `iss` too. */
export const errorAddress = (redirect_uri: string, { error, reason, state, issuer }: Answer & Fault): string =>
  withAnswer(redirect_uri, { error, error_description: reason, state, iss: issuer });

export const codeAddress = (redirect_uri: string, { code, state, issuer }: Answer & { readonly code: string }): string =>
  withAnswer(redirect_uri, { code, state, iss: issuer });

/** Appends to the address as it was registered. A parser would normalise it. */
function withAnswer(redirect_uri: string, answer: Readonly<Record<string, string | null>>): string {
  const given = Object.entries(answer).filter((entry): entry is [string, string] => entry[1] !== null);
  const separator = redirect_uri.includes('?') ? '&' : '?';
  return `${redirect_uri}${separator}${new URLSearchParams(given)}`;
}
