import { NO_TOKEN } from '#core/contract/observe/refusal-sentences.ts';
import type { LiveToken, IdentityList } from '#core/contract/deploy/control.ts';
import type { SavedCopies } from '#core/lib/saved-copies.ts';
import { refuseReference, type SecretReader } from '#core/lib/secrets.ts';
import type { Log } from '#core/process/log.ts';
import { createAddresses } from '#core/edge/requested-address.ts';
import { refuseRegistration, REGISTER_PATH } from '#core/edge/registration.ts';
import type { FrozenServer } from '#snapshots/format/format.ts';
import { createAccessTokens } from './access-tokens.ts';
import { type Attempts, createAttempts, tooMany } from './attempts.ts';
import { createBearer, type TokenUse, withSideTokens } from './bearer.ts';
import { type Ask, createIntrospection } from './introspection.ts';
import { metadataAt, resourceMetadataUrl } from './metadata.ts';
import { type Admission, ANONYMOUS, type Caller } from './caller.ts';
import type { Rights, ToolsetAccess } from './rights.ts';
import { type Credential, INVALID, isCaller, type Passport, type Refusal, type RequestOrigin, type Scheme } from './scheme.ts';
import { PLAYGROUND_PREFIX } from '#core/edge/playground-token.ts';
import { createPlayground, isPlaygroundOwner, isPlaygroundToken } from './playground.ts';
import { createTokenEndpoint } from './token-endpoint.ts';
import { createSignedSchemes, type SignedFiles } from './signed/signed-schemes.ts';
import type { TokenFile } from './list-file.ts';
import { endpointOf, SSE_PATH } from '#core/edge/mcp-endpoint.ts';
import { noteRefusal } from '#mcp-host/protocol/refusal-notes.ts';
import { sha256 } from '#mcp-host/runtime/runtime.ts';

/** Settings of the installation that authorisation needs. */
export interface AuthSettings extends SignedFiles {
  readonly tokens: TokenFile;
  /** `SVC_ENCRYPTION_KEY`: signs and verifies access tokens. */
  readonly keys: readonly string[];
  /** URL of the host for clients (`SVC_MCP_PUBLIC_URL`). */
  readonly public_url: string | null;
  /** URL of the front port for clients, if it forwards MCP (`SVC_PUBLIC_URL`). */
  readonly front_url?: string | null;
  /** Ports of the installation's programs, besides the port of this host. */
  readonly own_ports?: readonly number[];
  readonly ask: Ask;
  /** Failed attempts that one address may make per minute. */
  readonly attempts?: number;
}

export interface AuthOptions extends AuthSettings {
  readonly openSecret: (sealed: string, path: string) => string;
  readonly copies: Pick<SavedCopies, 'save' | 'note'>;
  /** Reads the secret of a reference; absent: references are refused. */
  readonly resolveSecret?: SecretReader['resolve'];
  /** Origin of the host on this machine, used without a public URL. */
  readonly local_url: () => string;
  /** Names under which clients reach the host, besides those in its URLs. */
  readonly names: () => ReadonlySet<string>;
  /** The deployed toolsets; the same array until they change. */
  readonly toolsets: () => readonly ToolsetAccess[];
  readonly log: Log;
  readonly now: () => number;
  /** Monotonic, in ms. */
  readonly ticks: () => number;
}

/** Authenticates callers, for every `auth_type`, and serves the OAuth documents. */
export interface Auth {
  /** Returns the caller of one exchange, or the response that refuses it. */
  authenticate(request: Request, server: FrozenServer, from: RequestOrigin): Caller | Response | Promise<Caller | Response>;
  /** Answers a path that needs no credential: metadata and the token endpoint. */
  answer(path: string, request: Request, server: FrozenServer, from: RequestOrigin): Response | Promise<Response>;
  /** Whether an admitted caller would still be admitted now. */
  holds(admitted: Admission, server: FrozenServer): boolean;
  /** Returns what an admitted caller may see now; null: the same as when it was admitted. */
  rights(admitted: Admission, server: FrozenServer): Rights | null;
  /** What admits a caller again on another host (`Scheme`); null: its owner is enough, or nothing does. */
  passport(admitted: Admission, server: FrozenServer): Passport | null;
  /** The caller as it would be admitted now, without a credential; null: it would not be. */
  readmit(admitted: Admission, server: FrozenServer, passport: Passport | null): Caller | null;
  /** The URL of a path of this host at the origin that a client requested. */
  urlOf(path: string, origin: string | null): string;
  /** The `WWW-Authenticate` header that asks a signed-in person for scopes (RFC 6750 section 3.1). */
  challenge(scopes: readonly string[], from: RequestOrigin): string;
  useTokens(tokens: readonly LiveToken[]): Promise<void>;
  /** @param applied called when callers may no longer be admitted. */
  useIdentity(list: IdentityList, applied: () => void): Promise<void>;
  /** Called before a configuration is served. */
  prepare(server: FrozenServer): void;
  /** Loads the lists from disk. */
  load(): Promise<void>;
  /** Writes unsaved changes to disk. */
  keep(): Promise<void>;
  takeUses(): TokenUse[];
  /** Where people sign in to the server; null: not known yet. */
  issuer(): string | null;
  /** When the server sent the list of access tokens. */
  tokens_as_of(): string | null;
  /** Changes whenever the server sends credentials, because a token may have gained or lost a toolset or a claim. */
  edition(): number;
  /** Failed attempts, shared with other code that checks tokens. */
  readonly attempts: Attempts;
}

const MISSING: Refusal = { status: 401, message: NO_TOKEN };

/** Paths that `answer` serves, besides the metadata. */
const TOKEN_PATHS: ReadonlySet<string> = new Set(['/oauth/token', '/mcp/oauth/token']);
const AUTHORIZE_PATH = '/mcp/oauth/authorize';
export const isAuthPath = (path: string): boolean =>
  TOKEN_PATHS.has(path) || path === AUTHORIZE_PATH || path === REGISTER_PATH || path.startsWith('/.well-known/oauth-');

const BEARER = 'Bearer ';
const PLAYGROUND_BEARER = `${BEARER}${PLAYGROUND_PREFIX}`;
const toCredential = (token: string, { path }: RequestOrigin): Credential => ({ token, digest: sha256(token), path });

const readerOf = ({ openSecret, resolveSecret = refuseReference }: AuthOptions): SecretReader => ({
  open: openSecret,
  resolve: resolveSecret,
});

/** The scheme of each `auth_type`, and the parts that they share. */
function createSchemes(options: AuthOptions) {
  const { public_url, front_url = null, own_ports = [], local_url, names, now } = options;
  const addresses = createAddresses({
    path: '/mcp',
    aliases: [SSE_PATH],
    public_urls: [public_url, front_url].filter((url) => url !== null),
    names,
    installation_ports: () => new Set([...own_ports, Number(new URL(local_url()).port)]),
    issuer: () => identity.issuer(),
    otherwise: () => public_url ?? local_url(),
    below: (rest) => endpointOf(rest) !== null,
  });
  /** The issuer is the public URL; without one, the address that the client requested. */
  const public_issuer = public_url === null ? null : `${public_url}/mcp`;
  const isIssuer = (url: string) => (public_issuer === null ? addresses.include(url) : url === public_issuer);
  const bearer = createBearer({ ...options, file: options.tokens });
  const access_tokens = createAccessTokens({ keys: options.keys, addresses, isIssuer, now });
  const { people, foreign, identity, foreign_keys } = createSignedSchemes({ ...options, addresses });
  const schemes: Readonly<Record<Exclude<FrozenServer['auth_type'], 'none'>, Scheme>> = {
    bearer,
    oauth_credentials: access_tokens,
    oauth_introspection: createIntrospection({ ...options, secrets: readerOf(options), addresses }),
    oauth: people,
    jwt: foreign,
  };
  const beside: Partial<typeof schemes> = { oauth: withSideTokens(bearer, people), jwt: withSideTokens(bearer, foreign) };
  const schemeOf = ({ auth_type, accept_mcp_tokens = true }: FrozenServer): Scheme | null => {
    if (auth_type === 'none') return null;
    return (accept_mcp_tokens ? beside[auth_type] : undefined) ?? schemes[auth_type];
  };
  return { schemeOf, addresses, public_issuer, bearer, access_tokens, identity, foreign_keys };
}

export function createAuth(options: AuthOptions): Auth {
  const { log } = options;
  const { schemeOf, addresses, public_issuer, bearer, access_tokens, identity, foreign_keys } = createSchemes(options);
  const attempts = createAttempts(options.ticks, options.attempts);
  const playground = createPlayground(options.keys, options.now, options.toolsets);
  const tokenEndpoint = createTokenEndpoint({ tokens: access_tokens, attempts, secrets: readerOf(options), addresses, log });
  const check = createCheck(attempts, log);
  // Clients compare the resource with the address that they connect to.
  const metadataUrl = ({ origin, path, is_sse }: RequestOrigin) =>
    resourceMetadataUrl(is_sse ? addresses.at(origin(), SSE_PATH) : `${addresses.at(origin())}${path}`);

  const refuse = (refusal: Refusal, is_missing: boolean, scheme: Scheme | null, server: FrozenServer, from: RequestOrigin) => {
    if (refusal.status !== 401) return toResponse(refusal);
    // RFC 6750 section 3.1: no error code for a request without any credential.
    const error = is_missing ? '' : ', error="invalid_token"';
    const scopes = scheme?.scopes?.(server, from.path) ?? [];
    const scope = scopes.length === 0 ? '' : `, scope="${scopes.join(' ')}"`;
    return toResponse(refusal, `Bearer resource_metadata="${metadataUrl(from)}"${scope}${error}`);
  };

  /** Without authentication, a playground token still decides who calls. */
  const tryOut = async (header: string, server: FrozenServer, from: RequestOrigin): Promise<Caller | Response> => {
    const checked = await playground.check(header.slice(BEARER.length), from);
    return isCaller(checked) ? checked : refuse(checked, false, null, server, from);
  };

  return {
    authenticate(request, server, from) {
      const scheme = schemeOf(server);
      const header = request.headers.get('authorization');
      if (scheme === null) return header?.startsWith(PLAYGROUND_BEARER) === true ? tryOut(header, server, from) : ANONYMOUS;
      if (header === null) return refuse(MISSING, true, scheme, server, from);
      // Nearly every client writes the header like this. The form of a remembered token was checked before.
      const known = header.startsWith(BEARER) ? scheme.recall(toCredential(header.slice(BEARER.length), from), server) : null;
      if (known !== null) return known;
      const token = /^bearer +([A-Za-z0-9._~+/-]+=*)$/i.exec(header.trim())?.[1];
      if (token === undefined) return refuse(INVALID, false, scheme, server, from);
      const credential = toCredential(token, from);
      const remembered = scheme.recall(credential, server);
      if (remembered !== null) return remembered;
      const verdict = isPlaygroundToken(token) ? playground.check(token, from) : check(scheme, credential, server, from);
      return verdict.then((checked) => (isCaller(checked) ? checked : refuse(checked, false, scheme, server, from)));
    },
    answer(path, request, server, from) {
      const resource = addresses.at(from.origin());
      const issuer = public_issuer ?? resource;
      if (TOKEN_PATHS.has(path)) {
        const { request_id, address } = from;
        return log.during({ request_id }, () => tokenEndpoint(request, server, address(), { resource, issuer }));
      }
      if (path === REGISTER_PATH && request.method === 'POST') return refuseRegistration();
      if (path === AUTHORIZE_PATH) {
        const detail = 'There is no sign-in here. A client gets its token from the token endpoint, with its id and secret.';
        return Response.json({ error: 'unsupported_response_type', error_description: detail, detail }, { status: 400 });
      }
      const sse = addresses.at(from.origin(), SSE_PATH);
      const document = metadataAt(path, server, schemeOf(server), { resource, sse, issuer });
      if (document === null) return Response.json({ detail: 'There is no document at this address.' }, { status: 404 });
      if (request.method !== 'GET') return Response.json({ detail: 'Use GET.' }, { status: 405, headers: { allow: 'GET' } });
      return Response.json(document, { headers: { 'cache-control': 'no-cache' } });
    },
    holds(admitted, server) {
      const { owner } = admitted;
      if (isPlaygroundOwner(owner)) return playground.holds(owner);
      const scheme = schemeOf(server);
      return scheme === null ? owner === ANONYMOUS.owner : scheme.holds(admitted, server);
    },
    rights: (admitted, server) =>
      isPlaygroundOwner(admitted.owner)
        ? playground.rights(admitted.owner)
        : (schemeOf(server)?.rights?.(admitted, server) ?? null),
    passport: (admitted, server) => schemeOf(server)?.passport?.(admitted, server) ?? null,
    readmit(admitted, server, passport) {
      if (isPlaygroundOwner(admitted.owner)) return playground.readmit(admitted.owner);
      const scheme = schemeOf(server);
      if (scheme === null) return admitted.owner === ANONYMOUS.owner ? ANONYMOUS : null;
      return scheme.readmit(admitted, server, passport);
    },
    urlOf: (path, origin) => addresses.at(origin, path),
    challenge: (scopes, from) =>
      `Bearer resource_metadata="${metadataUrl(from)}", error="insufficient_scope", scope="${scopes.join(' ')}"`,
    useTokens: (tokens) => bearer.use(tokens),
    useIdentity: (list, applied) => identity.use(list, applied),
    prepare({ auth_type, jwt_issuers = [] }) {
      foreign_keys.prepare(auth_type === 'jwt' ? jwt_issuers : []);
    },
    async load() {
      await Promise.all([bearer.load(), identity.load(), foreign_keys.load()]);
    },
    async keep() {
      await Promise.all([bearer.keep(), identity.keep()]);
    },
    takeUses: () => bearer.takeUses(),
    issuer: () => identity.issuer(),
    tokens_as_of: () => bearer.as_of(),
    edition: () => bearer.edition() + identity.edition(),
    attempts,
  };
}

function toResponse({ status, message, noted = message, retry_after }: Refusal, challenge?: string): Response {
  const headers = new Headers({ 'content-type': 'application/json' });
  if (retry_after !== undefined) headers.set('retry-after', String(retry_after));
  if (challenge !== undefined) headers.set('www-authenticate', challenge);
  const body = JSON.stringify({ jsonrpc: '2.0', id: null, error: { code: -32_000, message } });
  return noteRefusal(new Response(body, { status, headers }), noted);
}

/** Checks a credential that its scheme does not remember. */
type Check = (scheme: Scheme, credential: Credential, server: FrozenServer, from: RequestOrigin) => Promise<Caller | Refusal>;

/** Requests that arrive together with the same credential count as one attempt. */
function createCheck(attempts: Attempts, log: Log): Check {
  const running = new Map<string, { readonly server: FrozenServer; readonly verdict: Promise<Caller | Refusal> }>();

  const checkOnce = async (scheme: Scheme, credential: Credential, server: FrozenServer, address: string) => {
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
  return (scheme, credential, server, { address, request_id }) => {
    // A token may be valid at one address only.
    const key = `${credential.digest} ${credential.path}`;
    const before = running.get(key);
    if (before?.server === server) return before.verdict;
    const verdict = log
      .during({ request_id }, () => checkOnce(scheme, credential, server, address()))
      .finally(() => {
        if (running.get(key)?.verdict === verdict) running.delete(key);
      });
    running.set(key, { server, verdict });
    return verdict;
  };
}
