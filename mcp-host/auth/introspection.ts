import { createHash } from 'node:crypto';
import { AppError } from '#core/errors.ts';
import type { Log } from '#core/process/log.ts';
import { type Addresses, isSameAudience } from '#core/edge/requested-address.ts';
import { audiencePath } from '#core/edge/mcp-endpoint.ts';
import { fingerprintOf } from '#core/lib/secrets.ts';
import { boundedText } from '#core/engines/shared/bounded-text.ts';
import type { FrozenServer } from '#snapshots/format/format.ts';
import { isMembers, type Members } from '#mcp-host/protocol/messages.ts';
import { createExpiringMap } from '#core/lib/expiring-map.ts';
import { type Claims, toIdentity } from '#core/query/identity.ts';
import { callerName } from '#core/lib/text/caller-name.ts';
import { type Caller, createCaller } from './caller.ts';
import { rightsOfScopes, type ToolsetAccess } from './rights.ts';
import { type Credential, INVALID, isCaller, type Refusal, type Scheme } from './scheme.ts';

/** Asks another server, through the address guard; follows no redirect. */
export type Ask = (
  url: string,
  init: { method: 'GET' | 'POST'; headers: Record<string, string>; body?: string; signal: AbortSignal },
) => Promise<Response>;

export interface IntrospectionOptions {
  readonly ask: Ask;
  readonly openSecret: (sealed: string, place: string) => string;
  readonly addresses: Addresses;
  /** The toolsets that are deployed now: a caller has those that its scopes name. */
  readonly toolsets: () => readonly ToolsetAccess[];
  readonly log: Log;
  readonly now: () => number;
  /** Monotonic, in ms: setting the clock back keeps no verdict longer. */
  readonly ticks: () => number;
}

/** What was said of a token or an owner, and when by the clock it ends whatever the cache says. */
interface Known<V> {
  readonly value: V;
  readonly ends: number;
}

/** What an owner was let in by. */
interface Admitted {
  readonly scopes: readonly string[];
  /** Digests of its tokens that were active when they were last asked about. */
  readonly tokens: readonly string[];
}

const TIMEOUT_MS = 5_000;
const ANSWER_LIMIT = 64 * 1024;
const TOKENS = 10_000;
/** Of one owner: those before a renewal, too. */
const TOKENS_EACH = 20;
/** A token that is not active is asked about again after so long at the earliest. */
const NEGATIVE_MS = 5_000;
/** A failure that goes on is told again after so long. */
const TOLD_MS = 60_000;
/** Questions on their way at once. */
const ASKING = 64;
const OWNER = 'introspected:';
const UNANSWERED: Refusal = {
  status: 503,
  message:
    'The access token cannot be checked because the authorization server does not answer correctly. Try again in a moment.',
  retry_after: 5,
};

/** `auth_type` oauth_introspection: another server says whether a token is active (RFC 7662). Without its answer nobody is let in. */
export function createIntrospection(options: IntrospectionOptions): Scheme {
  const { ask, openSecret, addresses, toolsets, log, now, ticks } = options;
  const known = createExpiringMap<Known<Caller | Refusal>>(ticks, TOKENS);
  /** Owners that were let in, until their tokens end: for sessions and streams, which outlive the cache of tokens. */
  const owners = createExpiringMap<Known<Admitted>>(ticks, TOKENS);
  const owner_of = createExpiringMap<string>(ticks, TOKENS);
  /** Questions on their way to the source of now. */
  let asking = { count: 0 };
  const valueOf = <V>(entry: Known<V> | undefined): V | undefined =>
    entry !== undefined && entry.ends > now() ? entry.value : undefined;
  const failures = createFailures(log, ticks);
  /** Whom the answers are from. */
  let source = '';
  let followed: FrozenServer | null = null;

  const question = (token: string, server: FrozenServer, url: string): Promise<Response> => {
    const { introspection_client_id: id, introspection_client_secret: secret } = server;
    const plain = secret === null ? '' : openSecret(secret.$sealed, 'server_config/introspection_client_secret');
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
  };

  const introspect = async ({ token, digest }: Credential, server: FrozenServer): Promise<Caller | Refusal> => {
    const url = server.introspection_url;
    if (url === null) return UNANSWERED;
    const asked_of = source;
    let answer: Members;
    try {
      answer = await readAnswer(await question(token, server, url));
    } catch (error) {
      const reason = error instanceof AppError ? error.detail : error instanceof Error ? error.message : String(error);
      failures.tell(reason);
      return UNANSWERED;
    }
    failures.end();
    const ends = endOf(answer);
    const verdict =
      answer['active'] === true && ends > now() && isForUs(answer, server, () => true) ? toCaller(answer, url, digest) : INVALID;
    if (asked_of !== source) return verdict;
    const setting_ms = server.introspection_cache_ttl_seconds * 1_000;
    if (isCaller(verdict)) admit(verdict, digest, ends);
    else dismiss(digest);
    if (setting_ms > 0) {
      const kept_ms = isCaller(verdict) ? setting_ms : Math.min(setting_ms, NEGATIVE_MS);
      known.set(digest, { value: verdict, ends: isCaller(verdict) ? ends : Number.MAX_SAFE_INTEGER }, ticks() + kept_ms);
    }
    return verdict;
  };

  const admit = ({ owner, claims }: Caller, digest: string, ends: number) => {
    const before = valueOf(owners.get(owner))?.tokens ?? [];
    const tokens = [...before.filter((one) => one !== digest), digest].slice(-TOKENS_EACH);
    const last = Math.max(ends, owners.get(owner)?.ends ?? 0);
    const until = ticks() + last - now();
    owners.set(owner, { value: { scopes: scopesOf(claims), tokens }, ends: last }, until);
    owner_of.set(digest, owner, until);
  };
  /** What was opened with a token ends with the last one of its owner. */
  const dismiss = (digest: string) => {
    const owner = owner_of.get(digest);
    const known_owner = owner === undefined ? undefined : owners.get(owner);
    if (owner === undefined || known_owner === undefined) return;
    owner_of.delete(digest);
    const { value, ends } = known_owner;
    const tokens = value.tokens.filter((one) => one !== digest);
    if (tokens.length === 0) owners.delete(owner);
    else owners.set(owner, { value: { ...value, tokens }, ends }, ticks() + ends - now());
  };

  /** The token is for this server: it names the audience that is set, else the resource or the client that asks (RFC 7662 section 2.2). */
  const isForUs = (
    { aud }: Members,
    { introspection_client_id, introspection_audience: wanted }: FrozenServer,
    fits: (path: string) => boolean,
  ): boolean => {
    const named: readonly unknown[] = Array.isArray(aud) ? aud : [aud ?? null];
    if (wanted !== undefined) return named.some((name) => isSameAudience(name, wanted));
    if (aud === undefined || aud === null) return true;
    return named.some((name) => {
      const path = typeof name === 'string' ? audiencePath(addresses.restOf(name)) : null;
      return name === introspection_client_id || (path !== null && fits(path));
    });
  };

  /** A verdict is kept for longer than toolsets stay as they are, and for all endpoints: a token for one part is for no other, nor for the whole. */
  const at = (path: string, server: FrozenServer, verdict: Caller | Refusal): Caller | Refusal => {
    if (!isCaller(verdict)) return verdict;
    if (!isForUs(verdict.claims, server, (named) => named === '' || named === path)) return INVALID;
    return { ...verdict, rights: rightsOfScopes(toolsets(), scopesOf(verdict.claims)) };
  };

  /** Other settings, other verdicts. */
  const follow = (server: FrozenServer) => {
    if (server === followed) return;
    followed = server;
    const { introspection_url, introspection_client_id, introspection_client_secret, introspection_audience } = server;
    const secret = fingerprintOf(introspection_client_secret?.$sealed ?? '');
    const next = JSON.stringify([introspection_url, introspection_client_id, secret, introspection_audience]);
    if (next === source) return;
    source = next;
    known.clear();
    owners.clear();
    owner_of.clear();
    asking = { count: 0 };
  };

  return {
    costly: true,
    // Without a setting the best that is known of the issuer is where it answers introspection.
    issuers: ({ introspection_issuer, introspection_url: url }) =>
      [introspection_issuer ?? (url === null ? null : new URL(url).origin)].filter((issuer) => issuer !== null),
    scopes: ({ introspection_scopes = [] }) => introspection_scopes,
    recall({ digest, path }, server) {
      follow(server);
      if (server.introspection_cache_ttl_seconds === 0) return null;
      const verdict = valueOf(known.get(digest));
      const answer = verdict === undefined ? INVALID : at(path, server, verdict);
      return isCaller(answer) ? answer : null;
    },
    async check(credential, server) {
      follow(server);
      const { digest, path } = credential;
      const verdict = server.introspection_cache_ttl_seconds === 0 ? undefined : valueOf(known.get(digest));
      if (verdict !== undefined) return at(path, server, verdict);
      const mine = asking;
      if (mine.count >= ASKING) return UNANSWERED;
      mine.count++;
      return at(path, server, await introspect(credential, server).finally(() => mine.count--));
    },
    holds({ owner }, server) {
      follow(server);
      return owner.startsWith(OWNER) && valueOf(owners.get(owner)) !== undefined;
    },
    rights({ owner }) {
      const admitted = valueOf(owners.get(owner));
      return admitted === undefined ? null : rightsOfScopes(toolsets(), admitted.scopes);
    },
  };
}

/** At most one line a minute: while the other server is away, every call fails. */
function createFailures(log: Log, ticks: () => number): { tell(reason: string): void; end(): void } {
  let told_at: number | null = null;
  let untold = 0;
  return {
    tell(reason) {
      if (told_at !== null && ticks() - told_at < TOLD_MS) {
        untold++;
        return;
      }
      log.error('introspection_failed', { reason, ...(untold > 0 && { failures: untold + 1 }) });
      [told_at, untold] = [ticks(), 0];
    },
    end() {
      if (told_at !== null) log.info('introspection_answers', untold > 0 ? { failures: untold } : {});
      [told_at, untold] = [null, 0];
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

/** RFC 7662 section 2.2; some servers give a list. */
const scopesOf = ({ scope }: Claims): readonly string[] =>
  typeof scope === 'string' ? scope.split(' ') : Array.isArray(scope) ? scope.filter((one) => typeof one === 'string') : [];

/** In ms; without `exp` the token is asked about for ever. */
const endOf = ({ exp }: Members): number =>
  typeof exp === 'number' && Number.isFinite(exp) ? exp * 1_000 : Number.MAX_SAFE_INTEGER;

/** Bound to the person and the client where the answer names them, so that a renewed token keeps its session. */
function toCaller(answer: Members, url: string, digest: string): Caller {
  const { sub, client_id, iss } = answer;
  const bearer = typeof sub === 'string' ? JSON.stringify([iss ?? url, client_id ?? null, sub]) : digest;
  const owner = `${OWNER}${createHash('sha256').update(bearer).digest('hex')}`;
  // It came as JSON.
  const claims = answer as Claims;
  return createCaller(owner, callerName(client_id) ?? callerName(sub), undefined, claims, toIdentity(claims));
}
