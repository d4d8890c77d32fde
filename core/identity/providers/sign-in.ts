import type { WithSources } from '#core/sources/source-pool.ts';
import type { WithProviders } from '#core/identity/providers/metadata.ts';
import type { Platform } from '#core/platform/platform.ts';
import type { WithHosts } from '#core/hosts/host-registry.ts';
import { createHash, randomBytes } from 'node:crypto';
import { CALLBACK_PATH } from '#core/contract/identity/identity-providers.ts';
import { invalidField, AppError, asFault } from '#core/errors.ts';
import type { Context } from '#core/context/context.ts';
import { keepInvitation, openTicket, pendingInvitation } from './invited.ts';
import { usableProvider, type ProviderRow } from './stored.ts';
import type { AuthorizationServer } from 'oauth4webapi';
import { secretMissing, exchange } from './exchange.ts';
import { refusesPkce } from './metadata.ts';
import { noteAttempt } from '#core/identity/oauth/attempts.ts';
import { toProfile, type Profile } from './claims.ts';
import { LONGEST_GROUP, MOST_GROUPS } from '#core/contract/identity/people.ts';
import { namedFirst } from '#core/identity/oauth/people.ts';
import { accept, enter, link } from './entry.ts';
import { justSignedIn } from '#core/identity/two-factor.ts';
import { countMinute } from '#core/cluster/kv.ts';
import { networkOf } from '#core/edge/client-address.ts';
import { lte, and, eq } from 'drizzle-orm';

/** The page that confirms a write has its question in its address, which has at most 3,800 characters. */
const LONGEST = 7_000;

/** The base for parsing a path, whatever the address of this server is. */
const HERE = 'http://here.invalid';

/** Timeout of a sign-in at the provider. */
export const SIGN_IN_MS = 600_000;

/** Maximum sign-ins that start from one network per minute. Each stores a row and may send a request to the provider. */
const STARTS_A_MINUTE = 60;

const SECRET_BYTES = 32;

const SECRET = /^[\w-]{43}$/;

export interface Start {
  readonly provider_id: string;
  readonly return_to: string | undefined;
  /** Links the provider's account to the signed-in person. */
  readonly link: boolean;
  /** Requests that the provider authenticates the person again, instead of reusing its session. */
  readonly fresh?: boolean;
  /** Ticket of an invitation that this sign-in accepts. */
  readonly invite?: string | undefined;
  /** The browser's secret, from its cookie. */
  readonly browser: string | undefined;
  /** The public URL of this server, without a trailing slash. */
  readonly base: string;
}

export interface Started {
  /** The address to redirect the browser to. */
  readonly location: string;
  /** The value of a cookie that lives for `SIGN_IN_MS`. */
  readonly browser: string;
  /** The value of a second cookie with the same lifetime; null when the sign-in accepts no invitation. */
  readonly invitation: string | null;
}

/** Starts a sign-in with an authorization request with PKCE, state and nonce (OpenID Connect Core 1.0, section 3.1.2.1). */
export async function startSignIn(context: Context<WithSources & WithProviders>, start: Start): Promise<Started> {
  const { app } = context;
  const return_to = localPath(start.return_to ?? '/');
  if (return_to === null) throw invalidField('return_to', 'return_to must be a path of this server, such as /tools.');
  await countStart(context);
  const provider = await usableProvider(app, start.provider_id);
  const invited = start.invite === undefined ? null : openTicket(app, start.invite);
  const person_id = start.link ? await linkingPerson(context) : null;
  const metadata = await metadataOf(context, provider);
  const browser = start.browser !== undefined && SECRET.test(start.browser) ? start.browser : newSecret();
  const state = newSecret();
  const redirect_uri = `${start.base}${CALLBACK_PATH}`;
  await storeStart(app, { id: hash(state), browser: hash(browser), provider, redirect_uri, return_to, person_id });
  const { verifier, nonce } = derived(browser, state);
  const location = new URL(metadata.authorization_endpoint ?? '');
  const query = {
    client_id: provider.client_id,
    redirect_uri,
    response_type: 'code',
    scope: provider.scopes.join(' '),
    state,
    nonce,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
    // Providers may ignore one of them (OpenID Connect Core 1.0, section 3.1.2.1).
    ...(start.fresh === true && { prompt: 'login', max_age: '0' }),
  };
  for (const [name, value] of Object.entries(query)) location.searchParams.set(name, value);
  const invitation = invited === null ? null : keepInvitation(app, invited, hash(state));
  return { location: location.href, browser, invitation };
}

async function metadataOf(
  { app, ip }: Context<WithSources & WithProviders>,
  provider: ProviderRow,
): Promise<AuthorizationServer> {
  try {
    if (provider.client_secret === 'missing') throw secretMissing(provider);
    const metadata = await app.providers.metadata(provider.issuer);
    if (refusesPkce(metadata)) throw new AppError('provider_failed', 'The identity provider does not support PKCE with S256.');
    return metadata;
  } catch (error) {
    await note(app, provider, ip, { reason: asFault(error).detail });
    throw error;
  }
}

/** Records a sign-in attempt, for administrators who look for failed sign-ins. */
const note = (
  app: Platform,
  { name, issuer }: ProviderRow,
  ip: string | null,
  outcome: { reason: string | null; person?: string | null },
) => noteAttempt(app, { client: name, client_id: issuer, step: 'provider', ip, ...outcome });

export interface Finished {
  readonly return_to: string;
  /** The token of the new session; null when an account was linked or the sign-in was refused. */
  readonly token: string | null;
  /** Why the sign-in was refused. */
  readonly refusal: AppError | null;
}

const EXPIRED = () =>
  new AppError('forbidden', 'This sign-in has expired, was already completed, or was started in another browser. Start again.', {
    reason: 'expired',
  });

/** Finishes a sign-in when the provider redirects the browser back. Works once. */
export async function finishSignIn(
  context: Context<WithSources & WithHosts & WithProviders>,
  params: URLSearchParams,
  browser: string | undefined,
  invitation: string | undefined,
): Promise<Finished> {
  const { app } = context;
  const state = params.get('state') ?? '';
  const started = await takeStart(app, state, browser);
  if (started === null) return { return_to: '/', token: null, refusal: EXPIRED() };
  const { return_to, person_id, redirect_uri, provider_id, issuer } = started.row;
  let provider: ProviderRow | null = null;
  try {
    provider = await usableProvider(app, provider_id);
    if (provider.issuer !== issuer) throw EXPIRED();
    const claims = await exchange(app, provider, { params, state, redirect_uri, ...derived(started.browser, state) });
    const profile = await withFewerGroups(app, provider, toProfile(provider, claims));
    const invited = pendingInvitation(app, invitation, hash(state));
    const token = await bring(context, provider, profile, person_id, invited);
    app.log.info('signed in through an identity provider', { provider: provider.name, linked: person_id !== null });
    await note(app, provider, context.ip, { reason: null, person: profile.username });
    return { return_to, token, refusal: null };
  } catch (error) {
    const refusal = asFault(error);
    app.log.warning('a sign-in through an identity provider failed', { issuer, reason: refusal.detail });
    if (provider !== null) await note(app, provider, context.ip, { reason: refusal.detail });
    return { return_to, token: null, refusal };
  }
}

/** Limits the number and length of groups. Groups with an effect stay, and the role was determined from all groups. */
export async function withFewerGroups(app: Platform, provider: ProviderRow, profile: Profile): Promise<Profile> {
  const { groups } = profile;
  const fit = (groups ?? []).filter(({ length }) => length <= LONGEST_GROUP);
  if (groups === null || (fit.length === groups.length && fit.length <= MOST_GROUPS)) return profile;
  const ordered = await namedFirst(app, fit, Object.keys(provider.role_by_group));
  const stored = ordered.slice(0, MOST_GROUPS);
  const counted = { groups: groups.length, remaining: stored.length };
  app.log.warning('groups of a person were left out: there are too many, or too long ones', {
    provider: provider.name,
    ...counted,
  });
  return { ...profile, groups: stored };
}

function bring(
  context: Context<WithSources & WithHosts>,
  provider: ProviderRow,
  profile: Profile,
  person_id: string | null,
  invited: string | null,
): Promise<string | null> {
  if (person_id !== null) return link(context, provider, profile, person_id);
  return invited === null ? enter(context, provider, profile) : accept(context, provider, profile, invited);
}

/** A stolen session must not be enough to add a permanent way to sign in. */
async function linkingPerson(context: Context): Promise<string> {
  if (context.actor === null) throw new AppError('unauthenticated', 'Sign in first, then link the account.');
  const { id } = await justSignedIn(context, 'You signed in more than ten minutes ago. Sign in again, then link the account.');
  return id;
}

async function countStart({ app, ip }: Context): Promise<void> {
  const { count, retry_after } = await countMinute(app, `oidc-start:${networkOf(ip ?? '')}`);
  if (count <= STARTS_A_MINUTE) return;
  throw new AppError('rate_limited', `Too many sign-ins were started. Wait ${retry_after} seconds.`, { retry_after });
}

const newSecret = (): string => randomBytes(SECRET_BYTES).toString('base64url');

const hash = (text: string): string => createHash('sha256').update(text).digest('hex');

/** Derived from a secret that only the browser has, so a copy of the database is not enough to finish a sign-in. */
function derived(browser: string, state: string): { verifier: string; nonce: string } {
  const of = (use: string) => createHash('sha256').update(`${use}\n${browser}\n${state}`).digest('base64url');
  return { verifier: of('verifier'), nonce: of('nonce') };
}

interface StartToStore {
  readonly id: string;
  readonly browser: string;
  readonly provider: ProviderRow;
  readonly redirect_uri: string;
  readonly return_to: string;
  readonly person_id: string | null;
}

async function storeStart({ store, clock }: Platform, { provider, ...start }: StartToStore): Promise<void> {
  const { provider_sign_ins: table } = store.tables;
  const now = clock().getTime();
  await store.write(async (tx) => {
    await tx.delete(table).where(lte(table.expires_at, new Date(now).toISOString()));
    const expires_at = new Date(now + SIGN_IN_MS).toISOString();
    await tx.insert(table).values({ ...start, provider_id: provider.id, issuer: provider.issuer, expires_at });
  });
}

/** Takes a started sign-in. The browser's first request deletes its row, so it works once. */
async function takeStart({ store, clock }: Platform, state: string, browser: string | undefined) {
  if (!SECRET.test(state) || browser === undefined || !SECRET.test(browser)) return null;
  const { provider_sign_ins: table } = store.tables;
  const [row] = await store.write((tx) =>
    tx
      .delete(table)
      .where(and(eq(table.id, hash(state)), eq(table.browser, hash(browser))))
      .returning(),
  );
  return row === undefined || row.expires_at <= clock().toISOString() ? null : { row, browser };
}

/**
 * The path on this server that a sign-in may return to; null for everything else. Browsers read `\` as `/`, drop tabs and line
 * ends, and resolve dots before they parse the host (URL Standard), so the text is checked the same way.
 */
export function localPath(text: string): string | null {
  if (text.length > LONGEST || !text.startsWith('/') || /[\p{Cc} \\]/u.test(text) || !URL.canParse(text, HERE)) return null;
  const { origin, pathname, search, hash } = new URL(text, HERE);
  const path = `${pathname}${search}${hash}`;
  // With its dots resolved, `/.//host` becomes an address of another host.
  if (origin !== HERE || path.startsWith('//')) return null;
  // Only pages: people cannot return to an operation.
  return /^\/(?:api|agent-mcp|mcp)(?:\/|$|[?#])/i.test(decoded(pathname)) ? null : path;
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}
