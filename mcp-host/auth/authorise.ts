import type { LiveToken } from '#core/deploy/hosts.ts';
import type { Log } from '#core/log.ts';
import { createAddresses } from '#core/edge/asked-address.ts';
import { refuseRegistration, REGISTER_PATH } from '#core/edge/registration.ts';
import type { FrozenServer } from '#snapshots/format.ts';
import { createAccessTokens } from './access-tokens.ts';
import { createAttempts, tooMany } from './attempts.ts';
import { createBearer, type TokenUse } from './bearer.ts';
import { createIntrospection, type IntrospectionOptions } from './introspection.ts';
import { metadataAt, resourceMetadataUrl, scopesOf } from './metadata.ts';
import { type Caller, type Credential, INVALID, isCaller, type Refusal, type Scheme } from './scheme.ts';
import { createTokenEndpoint } from './token-endpoint.ts';
import type { TokenFile } from './token-file.ts';

/** What authorising needs of the installation. */
export interface AuthSettings {
  readonly tokens: TokenFile;
  /** `SVC_ENCRYPTION_KEY`: signs and verifies access tokens. */
  readonly keys: readonly string[];
  /** The host as clients see it (`SVC_MCP_PUBLIC_URL`). */
  readonly public_url: string | null;
  /** The front port as clients see it, where it hands MCP on (`SVC_PUBLIC_URL`). */
  readonly front_url?: string | null;
  readonly ask: IntrospectionOptions['ask'];
  /** Failed attempts of one address a minute. */
  readonly attempts?: number;
}

export interface AuthOptions extends AuthSettings {
  readonly openSecret: (sealed: string, place: string) => string;
  /** Origin of the host on its own machine, for want of a public one. */
  readonly local_url: () => string;
  /** Names under which clients reach the host, beside those of its URLs. */
  readonly names: () => ReadonlySet<string>;
  readonly log: Log;
  readonly now: () => number;
  /** Monotonic, in ms. */
  readonly ticks: () => number;
}

/** Where a request comes from and went to; asked for only when needed. */
export interface Way {
  readonly address: () => string;
  /** The origin that the client asked for; null when that is not known. */
  readonly origin: () => string | null;
}

/** Says who may call: every `auth_type`, and the documents around it. */
export interface Auth {
  /** The caller of one exchange; a Response is the refusal. */
  authorise(request: Request, server: FrozenServer, way: Way): Caller | Response | Promise<Caller | Response>;
  /** The answer of a path that needs no credential: metadata and the token endpoint. */
  answer(path: string, request: Request, server: FrozenServer, way: Way): Response | Promise<Response>;
  /** Whether a caller that was let in would be let in now. */
  holds(owner: string, server: FrozenServer): boolean;
  useTokens(tokens: readonly LiveToken[]): Promise<void>;
  /** Takes the list that is on disk. */
  load(): Promise<void>;
  /** Keeps on disk what is not there yet. */
  keep(): Promise<void>;
  takeUses(): TokenUse[];
  /** When the server told the list of access tokens. */
  tokens_as_of(): string | null;
}

const NOBODY: Caller = { owner: '', token_prefix: null };
const MISSING: Refusal = { status: 401, message: 'Unauthorized: this server accepts no calls without a valid access token.' };

/** Paths that `answer` knows, beside those of the metadata. */
const TOKEN_PATHS: ReadonlySet<string> = new Set(['/oauth/token', '/mcp/oauth/token']);
const AUTHORIZE_PATH = '/mcp/oauth/authorize';
export const isAuthPath = (path: string): boolean =>
  TOKEN_PATHS.has(path) || path === AUTHORIZE_PATH || path === REGISTER_PATH || path.startsWith('/.well-known/oauth-');

const BEARER = 'Bearer ';
const toCredential = (token: string): Credential => ({ token, digest: Bun.SHA256.hash(token, 'hex') });

export function createAuth(options: AuthOptions): Auth {
  const { openSecret, log, now, public_url, front_url = null, local_url, names } = options;
  const addresses = createAddresses({
    path: '/mcp',
    public_urls: [public_url, front_url].filter((url) => url !== null),
    names,
    otherwise: () => public_url ?? local_url(),
  });
  /** Tokens come from the public URL; without one, from where the client asks. */
  const public_issuer = public_url === null ? null : `${public_url}/mcp`;
  const isIssuer = (url: string) => (public_issuer === null ? addresses.include(url) : url === public_issuer);
  const attempts = createAttempts(options.ticks, options.attempts);
  const bearer = createBearer({ file: options.tokens, openSecret, log, now });
  const access_tokens = createAccessTokens({ keys: options.keys, addresses, isIssuer, now });
  const schemes: Readonly<Record<Exclude<FrozenServer['auth_type'], 'none'>, Scheme>> = {
    bearer,
    oauth_credentials: access_tokens,
    oauth_introspection: createIntrospection({ ask: options.ask, openSecret, addresses, log, now, ticks: options.ticks }),
  };
  const tokenEndpoint = createTokenEndpoint({ tokens: access_tokens, attempts, openSecret, addresses, log });

  /** Credentials on their way to a verdict: a client that sends many requests at once makes one attempt. */
  const checking = new Map<string, { readonly server: FrozenServer; readonly verdict: Promise<Caller | Refusal> }>();

  /** A credential that nothing is remembered of. */
  const check = (scheme: Scheme, credential: Credential, server: FrozenServer, address: string) => {
    const { digest } = credential;
    const running = checking.get(digest);
    if (running?.server === server) return running.verdict;
    const verdict = attempt(scheme, credential, server, address).finally(() => {
      if (checking.get(digest)?.verdict === verdict) checking.delete(digest);
    });
    checking.set(digest, { server, verdict });
    return verdict;
  };
  const attempt = async (scheme: Scheme, credential: Credential, server: FrozenServer, address: string) => {
    const refused = scheme.costly ? await attempts.enter(address) : null;
    if (refused !== null) return refused;
    try {
      const verdict = await scheme.check(credential, server);
      if (isCaller(verdict) || verdict.status !== 401) return verdict;
      const blocked = scheme.costly ? 0 : attempts.blocked(address);
      attempts.note(address);
      return blocked > 0 ? tooMany(blocked) : verdict;
    } finally {
      if (scheme.costly) attempts.leave(address);
    }
  };

  const toResponse = (
    { status, message, retry_after }: Refusal,
    is_missing: boolean,
    server: FrozenServer,
    { origin }: Way,
  ): Response => {
    const headers = new Headers({ 'content-type': 'application/json' });
    if (retry_after !== undefined) headers.set('retry-after', String(retry_after));
    if (status === 401) {
      // RFC 6750 section 3.1: no error code for a request without any credential.
      const error = is_missing ? '' : ', error="invalid_token"';
      const scopes = scopesOf(server);
      const scope = scopes.length === 0 ? '' : `, scope="${scopes.join(' ')}"`;
      headers.set(
        'www-authenticate',
        `Bearer resource_metadata="${resourceMetadataUrl(addresses.at(origin()))}"${scope}${error}`,
      );
    }
    return new Response(JSON.stringify({ jsonrpc: '2.0', id: null, error: { code: -32_000, message } }), { status, headers });
  };

  return {
    authorise(request, server, way) {
      if (server.auth_type === 'none') return NOBODY;
      const header = request.headers.get('authorization');
      if (header === null) return toResponse(MISSING, true, server, way);
      const scheme = schemes[server.auth_type];
      // As nearly everybody writes it; what is remembered had the form of a token.
      const known = header.startsWith(BEARER) ? scheme.recall(toCredential(header.slice(BEARER.length)), server) : null;
      if (known !== null) return known;
      const token = /^bearer +([A-Za-z0-9._~+/-]+=*)$/i.exec(header.trim())?.[1];
      if (token === undefined) return toResponse(INVALID, false, server, way);
      const credential = toCredential(token);
      const remembered = scheme.recall(credential, server);
      if (remembered !== null) return remembered;
      return check(scheme, credential, server, way.address()).then((verdict) =>
        isCaller(verdict) ? verdict : toResponse(verdict, false, server, way),
      );
    },
    answer(path, request, server, way) {
      const resource = addresses.at(way.origin());
      const issuer = public_issuer ?? resource;
      if (TOKEN_PATHS.has(path)) return tokenEndpoint(request, server, way.address(), { resource, issuer });
      if (path === REGISTER_PATH && request.method === 'POST') return refuseRegistration();
      if (path === AUTHORIZE_PATH) {
        const detail = 'There is no sign-in here. A client gets its token from the token endpoint, with its id and secret.';
        return Response.json({ error: 'unsupported_response_type', error_description: detail, detail }, { status: 400 });
      }
      const document = metadataAt(path, server, resource, issuer);
      if (document === null) return Response.json({ detail: 'There is no document at this address.' }, { status: 404 });
      if (request.method !== 'GET') return Response.json({ detail: 'Use GET.' }, { status: 405, headers: { allow: 'GET' } });
      return Response.json(document, { headers: { 'cache-control': 'no-cache' } });
    },
    holds: (owner, server) => (server.auth_type === 'none' ? owner === '' : schemes[server.auth_type].holds(owner, server)),
    useTokens: (tokens) => bearer.use(tokens),
    load: () => bearer.load(),
    keep: () => bearer.keepUses(),
    takeUses: () => bearer.takeUses(),
    tokens_as_of: () => bearer.as_of(),
  };
}
