import { createHash } from 'node:crypto';
import { AppError } from '#core/errors.ts';
import type { Log } from '#core/process/log.ts';
import { type Addresses, isSameAudience } from '#core/edge/requested-address.ts';
import { audiencePath } from '#core/edge/mcp-endpoint.ts';
import { isReference } from '#core/lib/sealed-values.ts';
import { markOf, readSecret, type SecretReader } from '#core/lib/secrets.ts';
import { boundedText } from '#core/engines/shared/bounded-text.ts';
import type { FrozenServer } from '#snapshots/format/format.ts';
import { isMembers, type Members } from '#mcp-host/protocol/messages.ts';
import { createExpiringMap, type ExpiringMap } from '#core/lib/recent-map.ts';
import { type Claims, toIdentity } from '#core/query/identity.ts';
import { callerName } from '#core/lib/text/caller-name.ts';
import { type Caller, createCaller } from './caller.ts';
import { rightsOfScopes, type ToolsetAccess } from './rights.ts';
import { type Credential, INVALID, isCaller, type Refusal, type Scheme } from './scheme.ts';

/** Sends a request to another server, through the address guard; follows no redirect. */
export type Ask = (
  url: string,
  init: { method: 'GET' | 'POST'; headers: Record<string, string>; body?: string; signal: AbortSignal },
) => Promise<Response>;

export interface IntrospectionOptions {
  readonly ask: Ask;
  readonly secrets: SecretReader;
  readonly addresses: Addresses;
  /** The deployed toolsets: a caller gets the ones that its scopes name. */
  readonly toolsets: () => readonly ToolsetAccess[];
  readonly log: Log;
  readonly now: () => number;
  /** Monotonic, in ms: setting the clock back does not extend a cached verdict. */
  readonly ticks: () => number;
}

/** A cached value, and the wall-clock time in ms at which it expires even if it is still in the cache. */
interface Known<V> {
  readonly value: V;
  readonly ends: number;
}

/** How an owner was admitted. */
interface Admitted {
  readonly scopes: readonly string[];
  /** Digests of its tokens that were active at their last check. */
  readonly tokens: readonly string[];
  /** From its last token. */
  readonly caller: Caller;
}

const TIMEOUT_MS = 5_000;
const ANSWER_LIMIT = 64 * 1024;
const TOKENS = 10_000;
/** Most remembered tokens of one owner, including tokens before a renewal. */
const TOKENS_EACH = 20;
/** An inactive token is checked again only after this time. */
const NEGATIVE_MS = 5_000;
/** A lasting failure is logged again after this time. */
const LOG_AGAIN_MS = 60_000;
/** Most requests in flight at once. */
const ASKING = 64;
const OWNER = 'introspected:';
const UNANSWERED: Refusal = {
  status: 503,
  message:
    'The access token cannot be checked because the authorization server does not answer correctly. Try again in a moment.',
  retry_after: 5,
};

/**
 * `auth_type` oauth_introspection: another server says whether a token is active (RFC 7662). Without its answer every caller is
 * refused.
 */
export function createIntrospection(options: IntrospectionOptions): Scheme {
  const { addresses, toolsets, log, now, ticks } = options;
  const verdicts = new Verdicts(now, ticks);
  const failures = createFailures(log, ticks);

  const introspect = async ({ token, digest }: Credential, server: FrozenServer): Promise<Caller | Refusal> => {
    const url = server.introspection_url;
    if (url === null) return UNANSWERED;
    const { source } = verdicts;
    let answer: Members;
    try {
      answer = await readAnswer(await question(options, token, server, url));
    } catch (error) {
      const reason = error instanceof AppError ? error.detail : error instanceof Error ? error.message : String(error);
      failures.tell(reason);
      return UNANSWERED;
    }
    failures.end();
    const ends = endOf(answer);
    const is_admitted = answer['active'] === true && ends > now() && isForUs(answer, server, addresses, () => true);
    const verdict = is_admitted ? toCaller(answer, url, digest) : INVALID;
    if (source === verdicts.source) verdicts.store(digest, verdict, ends, server.introspection_cache_ttl_seconds * 1_000);
    return verdict;
  };

  /**
   * Checks a cached verdict for one endpoint, because toolsets may have changed: a token for one part of the server is valid for
   * that part only.
   */
  const at = (path: string, server: FrozenServer, verdict: Caller | Refusal): Caller | Refusal => {
    if (!isCaller(verdict)) return verdict;
    if (!isForUs(verdict.claims, server, addresses, (named) => named === '' || named === path)) return INVALID;
    return { ...verdict, rights: rightsOfScopes(toolsets(), scopesOf(verdict.claims)) };
  };

  return {
    costly: true,
    // Without the setting, the origin of the introspection endpoint is the best guess for the issuer.
    issuers: ({ introspection_issuer, introspection_url: url }) =>
      [introspection_issuer ?? (url === null ? null : new URL(url).origin)].filter((issuer) => issuer !== null),
    scopes: ({ introspection_scopes = [] }) => introspection_scopes,
    recall({ digest, path }, server) {
      verdicts.follow(server);
      if (server.introspection_cache_ttl_seconds === 0) return null;
      const verdict = verdicts.of(digest);
      const answer = verdict === undefined ? INVALID : at(path, server, verdict);
      return isCaller(answer) ? answer : null;
    },
    async check(credential, server) {
      verdicts.follow(server);
      const { digest, path } = credential;
      const verdict = server.introspection_cache_ttl_seconds === 0 ? undefined : verdicts.of(digest);
      if (verdict !== undefined) return at(path, server, verdict);
      const { asking } = verdicts;
      if (asking.count >= ASKING) return UNANSWERED;
      asking.count++;
      return at(path, server, await introspect(credential, server).finally(() => asking.count--));
    },
    holds({ owner }, server) {
      verdicts.follow(server);
      return owner.startsWith(OWNER) && verdicts.admitted(owner) !== undefined;
    },
    rights({ owner }) {
      const admitted = verdicts.admitted(owner);
      return admitted === undefined ? null : rightsOfScopes(toolsets(), admitted.scopes);
    },
    readmit({ owner }, server) {
      verdicts.follow(server);
      const admitted = owner.startsWith(OWNER) ? verdicts.admitted(owner) : undefined;
      return admitted === undefined ? null : { ...admitted.caller, rights: rightsOfScopes(toolsets(), admitted.scopes) };
    },
  };
}

/** What the configured server has said of tokens. */
class Verdicts {
  /** Identifies the settings under which the cached answers were received. */
  source = '';
  /** Requests in flight to the current source. */
  asking = { count: 0 };
  readonly #now: () => number;
  readonly #ticks: () => number;
  readonly #known: ExpiringMap<Known<Caller | Refusal>>;
  /** Admitted owners, until their tokens expire: for sessions and streams, which outlive the token cache. */
  readonly #owners: ExpiringMap<Known<Admitted>>;
  readonly #owner_of: ExpiringMap<string>;
  #followed: FrozenServer | null = null;

  constructor(now: () => number, ticks: () => number) {
    this.#now = now;
    this.#ticks = ticks;
    this.#known = createExpiringMap(ticks, TOKENS);
    this.#owners = createExpiringMap(ticks, TOKENS);
    this.#owner_of = createExpiringMap(ticks, TOKENS);
  }

  /** Forgets all verdicts when the settings change. */
  follow(server: FrozenServer): void {
    if (server === this.#followed) return;
    this.#followed = server;
    const { introspection_url, introspection_client_id, introspection_client_secret, introspection_audience } = server;
    const secret = introspection_client_secret === null ? '' : markOf(introspection_client_secret);
    const next = JSON.stringify([introspection_url, introspection_client_id, secret, introspection_audience]);
    if (next === this.source) return;
    this.source = next;
    this.#known.clear();
    this.#owners.clear();
    this.#owner_of.clear();
    this.asking = { count: 0 };
  }

  of(digest: string): Caller | Refusal | undefined {
    return this.#valueOf(this.#known.get(digest));
  }

  admitted(owner: string): Admitted | undefined {
    return this.#valueOf(this.#owners.get(owner));
  }

  /** @param ends when the token expires. @param ttl_ms how long an active token is cached; 0: not at all. */
  store(digest: string, verdict: Caller | Refusal, ends: number, ttl_ms: number): void {
    const is_active = isCaller(verdict);
    if (is_active) this.#admit(verdict, digest, ends);
    else this.#dismiss(digest);
    if (ttl_ms === 0) return;
    const cache_ms = is_active ? ttl_ms : Math.min(ttl_ms, NEGATIVE_MS);
    this.#known.set(digest, { value: verdict, ends: is_active ? ends : Number.MAX_SAFE_INTEGER }, this.#ticks() + cache_ms);
  }

  #valueOf<V>(entry: Known<V> | undefined): V | undefined {
    return entry !== undefined && entry.ends > this.#now() ? entry.value : undefined;
  }

  #admit(caller: Caller, digest: string, ends: number): void {
    const { owner, claims } = caller;
    const before = this.admitted(owner)?.tokens ?? [];
    const tokens = [...before.filter((one) => one !== digest), digest].slice(-TOKENS_EACH);
    const last = Math.max(ends, this.#owners.get(owner)?.ends ?? 0);
    const until = this.#ticks() + last - this.#now();
    this.#owners.set(owner, { value: { scopes: scopesOf(claims), tokens, caller }, ends: last }, until);
    this.#owner_of.set(digest, owner, until);
  }

  /** Ends the sessions and streams of an owner with its last token. */
  #dismiss(digest: string): void {
    const owner = this.#owner_of.get(digest);
    const known_owner = owner === undefined ? undefined : this.#owners.get(owner);
    if (owner === undefined || known_owner === undefined) return;
    this.#owner_of.delete(digest);
    const { value, ends } = known_owner;
    const tokens = value.tokens.filter((one) => one !== digest);
    if (tokens.length === 0) this.#owners.delete(owner);
    else this.#owners.set(owner, { value: { ...value, tokens }, ends }, this.#ticks() + ends - this.#now());
  }
}

/** A client secret that the endpoint refuses is read again, if it is a reference. */
async function question(options: IntrospectionOptions, token: string, server: FrozenServer, url: string): Promise<Response> {
  const { introspection_client_secret: secret } = server;
  const path = 'server_config/introspection_client_secret';
  const plain = secret === null ? '' : await readSecret(secret, path, options.secrets);
  const answer = await send(options, token, server, url, plain);
  if (answer.status !== 401 || !isReference(secret)) return answer;
  const fresh = await options.secrets.resolve(secret.ref, plain);
  if (fresh === plain) return answer;
  await answer.body?.cancel();
  return send(options, token, server, url, fresh);
}

function send(
  { ask }: IntrospectionOptions,
  token: string,
  { introspection_client_id: id }: FrozenServer,
  url: string,
  plain: string,
): Promise<Response> {
  const login = Buffer.from(`${encodeURIComponent(id ?? '')}:${encodeURIComponent(plain)}`).toString('base64');
  return ask(url, {
    method: 'POST',
    headers: {
      accept: 'application/json',
      'content-type': 'application/x-www-form-urlencoded',
      ...(id === null ? {} : { authorization: `Basic ${login}` }),
    },
    body: new URLSearchParams({ token, token_type_hint: 'access_token' }).toString(),
    signal: AbortSignal.timeout(TIMEOUT_MS),
  });
}

/**
 * Whether the token is for this server: its audience is the configured one, or else the resource or the introspecting client
 * (RFC 7662 section 2.2).
 */
function isForUs(
  { aud }: Members,
  { introspection_client_id, introspection_audience: audience }: FrozenServer,
  addresses: Addresses,
  fits: (path: string) => boolean,
): boolean {
  const named: readonly unknown[] = Array.isArray(aud) ? aud : [aud ?? null];
  if (audience !== undefined) return named.some((name) => isSameAudience(name, audience));
  if (aud === undefined || aud === null) return true;
  return named.some((name) => {
    const path = typeof name === 'string' ? audiencePath(addresses.restOf(name)) : null;
    return name === introspection_client_id || (path !== null && fits(path));
  });
}

/** Logs at most one line per minute: while the other server is down, every call fails. */
function createFailures(log: Log, ticks: () => number): { tell(reason: string): void; end(): void } {
  let logged_at: number | null = null;
  let unlogged = 0;
  return {
    tell(reason) {
      if (logged_at !== null && ticks() - logged_at < LOG_AGAIN_MS) {
        unlogged++;
        return;
      }
      log.error('introspection_failed', { reason, ...(unlogged > 0 && { failures: unlogged + 1 }) });
      [logged_at, unlogged] = [ticks(), 0];
    },
    end() {
      if (logged_at !== null) log.info('introspection_answers', unlogged > 0 ? { failures: unlogged } : {});
      [logged_at, unlogged] = [null, 0];
    },
  };
}

async function readAnswer(response: Response): Promise<Members> {
  if (response.status !== 200) {
    await response.body?.cancel();
    throw new Error(`The introspection endpoint answered ${response.status}.`);
  }
  const answer = JSON.parse(await boundedText(response, ANSWER_LIMIT)) as unknown;
  if (!isMembers(answer) || typeof answer['active'] !== 'boolean')
    throw new Error('The introspection endpoint did not say `active`.');
  return answer;
}

/** Reads the scopes as a string (RFC 7662 section 2.2), or as the list that some servers send. */
const scopesOf = ({ scope }: Claims): readonly string[] =>
  typeof scope === 'string' ? scope.split(' ') : Array.isArray(scope) ? scope.filter((one) => typeof one === 'string') : [];

/** In ms; a token without `exp` never expires. */
const endOf = ({ exp }: Members): number =>
  typeof exp === 'number' && Number.isFinite(exp) ? exp * 1_000 : Number.MAX_SAFE_INTEGER;

/** Binds the caller to the person and client that the answer names, if any, so that a renewed token continues its session. */
function toCaller(answer: Members, url: string, digest: string): Caller {
  const { sub, client_id, iss } = answer;
  const bearer = typeof sub === 'string' ? JSON.stringify([iss ?? url, client_id ?? null, sub]) : digest;
  const owner = `${OWNER}${createHash('sha256').update(bearer).digest('hex')}`;
  // The claims were parsed from JSON.
  const claims = answer as Claims;
  return createCaller(owner, callerName(client_id) ?? callerName(sub), undefined, claims, toIdentity(claims));
}
