import { createHash, hkdfSync } from 'node:crypto';
import { errors, type JWTPayload, jwtVerify, SignJWT } from 'jose';
import type { Addresses } from '#core/edge/requested-address.ts';
import { markOf, keyIdOf } from '#core/lib/secrets.ts';
import { endpointOf } from '#core/edge/mcp-endpoint.ts';
import type { FrozenServer } from '#snapshots/format/format.ts';
import { NO_CLAIMS, toIdentity } from '#core/query/identity.ts';
import { createExpiringMap } from '#core/lib/recent-map.ts';
import { callerName } from '#core/lib/text/caller-name.ts';
import { type Caller, createCaller } from './caller.ts';
import { type Rights, rightsOf } from './rights.ts';
import { type Credential, INVALID, type Refusal, type Scheme } from './scheme.ts';

/** The only scope: access to the server. */
export const SCOPE = 'mcp';

/** Access tokens of `auth_type` oauth_credentials: signed, so that every host with the same encryption key accepts them. */
export interface AccessTokens extends Scheme {
  /** @param audience addresses of the MCP endpoint that the token is valid for. */
  issue(client_id: string, server: FrozenServer, issuer: string, audience: readonly string[]): Promise<string>;
}

export interface AccessTokensOptions {
  /** `SVC_ENCRYPTION_KEY`: the first one signs, every one verifies. */
  readonly keys: readonly string[];
  /** Addresses of the MCP endpoint: the audiences that are accepted. */
  readonly addresses: Addresses;
  readonly isIssuer: (url: string) => boolean;
  readonly now: () => number;
}

const VERIFIED = 10_000;
/** The claim that carries the secret generation. */
const GENERATION_CLAIM = 'edition';

type Client = FrozenServer['oauth_clients'][number];
interface TokenClaims {
  readonly client_id: string;
  /** Changes with the client's secret: a token expires with the secret that it was issued for. */
  readonly secret_generation: string;
  /** The toolsets that the token is valid for; null: everything that its client may see. */
  readonly toolsets: readonly string[] | null;
  /** The paths that the token is valid for, if it was issued only for the read-only address or for tags. */
  readonly paths: readonly string[] | null;
}

const ownerOf = ({ client_id, secret_generation }: Pick<TokenClaims, 'client_id' | 'secret_generation'>): string =>
  `client:${secret_generation}:${client_id}`;

export const clientOf = ({ oauth_clients }: FrozenServer, client_id: unknown): Client | undefined =>
  oauth_clients.find((client) => client.client_id === client_id);

const secretGeneration = ({ client_secret }: Client): string =>
  createHash('sha256').update(markOf(client_secret)).digest('base64url').slice(0, 22);

export function createAccessTokens({ keys, addresses, isIssuer, now }: AccessTokensOptions): AccessTokens {
  const ring = new Map(keys.map((key) => [keyIdOf(key), toSigningKey(key)]));
  const [current] = ring;
  const verified = createExpiringMap<TokenClaims>(now, VERIFIED);
  /** Admitted owners, until their last token expires: sessions and streams depend on them. */
  const owners = createExpiringMap<TokenClaims>(now, VERIFIED);

  const isCurrent = (claims: TokenClaims, server: FrozenServer): boolean => {
    const client = clientOf(server, claims.client_id);
    return client !== undefined && secretGeneration(client) === claims.secret_generation;
  };
  const admit = (claims: TokenClaims | undefined, server: FrozenServer): Caller | null =>
    claims === undefined || !isCurrent(claims, server) ? null : toCaller(claims, server);
  const admitAt = (claims: TokenClaims | undefined, server: FrozenServer, path: string): Caller | null =>
    claims?.paths?.includes(path) === false ? null : admit(claims, server);
  const check = async ({ token, digest, path }: Credential, server: FrozenServer): Promise<Caller | Refusal> => {
    try {
      const { payload } = await jwtVerify(token, ({ kid }) => keyOf(ring, kid), {
        algorithms: ['HS256'],
        typ: 'at+jwt',
        requiredClaims: ['exp', 'iss', 'aud', 'client_id', GENERATION_CLAIM],
        currentDate: new Date(now()),
      });
      if (!isIssuer(payload.iss ?? '') || !isForUs(payload, addresses)) return INVALID;
      const claims = {
        client_id: String(payload['client_id']),
        secret_generation: String(payload[GENERATION_CLAIM]),
        ...issuedFor(payload, addresses),
      };
      const caller = admitAt(claims, server, path);
      if (caller === null) return INVALID;
      const ends = (payload.exp ?? 0) * 1_000;
      verified.set(digest, claims, ends);
      owners.set(caller.owner, claims, Math.max(ends, owners.until(caller.owner)));
      return caller;
    } catch (error) {
      if (error instanceof errors.JOSEError) return INVALID;
      throw error;
    }
  };

  return {
    costly: false,
    issuers: (_, local_issuer) => [local_issuer],
    scopes: () => [SCOPE],
    recall: ({ digest, path }, server) => admitAt(verified.get(digest), server, path),
    check,
    holds({ owner }, server) {
      const claims = owners.get(owner);
      return claims !== undefined && isCurrent(claims, server);
    },
    rights({ owner }, server) {
      const claims = owners.get(owner);
      return (claims && admit(claims, server)?.rights) ?? null;
    },
    passport({ owner }) {
      const claims = owners.get(owner);
      return claims === undefined ? null : { ...claims };
    },
    readmit({ owner }, server, passport) {
      // Every host seals and opens passports with the same key, so it has the form in which another one wrote it.
      const caller = admit(owners.get(owner) ?? ((passport ?? undefined) as TokenClaims | undefined), server);
      return caller?.owner === owner ? caller : null;
    },
    issue(client_id, server, issuer, audience) {
      const client = clientOf(server, client_id);
      if (client === undefined || current === undefined) throw new Error('A token can only be issued with a client and a key.');
      const issued_at = Math.floor(now() / 1_000);
      return new SignJWT({ client_id, scope: SCOPE, [GENERATION_CLAIM]: secretGeneration(client) })
        .setProtectedHeader({ alg: 'HS256', typ: 'at+jwt', kid: current[0] })
        .setIssuer(issuer)
        .setAudience(audience.length === 1 ? String(audience[0]) : [...audience])
        .setSubject(client_id)
        .setIssuedAt(issued_at)
        .setExpirationTime(issued_at + server.token_ttl_seconds)
        .setJti(crypto.randomUUID())
        .sign(current[1]);
    },
  };
}

/** The client itself is the subject (RFC 9068 section 2.2); an administrator may have added claims to it. */
function toCaller(claims: TokenClaims, server: FrozenServer): Caller {
  const { client_id } = claims;
  const client = clientOf(server, client_id);
  const written = client?.claims ?? NO_CLAIMS;
  const identity = toIdentity(written, { sub: client_id, client_id });
  return createCaller(
    ownerOf(claims),
    callerName(client_id),
    rightsWithin(client?.toolsets ?? null, claims.toolsets),
    written,
    identity,
  );
}

const rightsWithin = (granted: readonly string[] | null, requested: readonly string[] | null): Rights =>
  granted === null || requested === null
    ? rightsOf(granted ?? requested)
    : rightsOf(granted.filter((name) => requested.includes(name)));

/**
 * A token for a toolset's address is valid for that toolset only; a token for a part of the server, for that part only (RFC
 * 8707).
 */
function issuedFor({ aud = [] }: JWTPayload, addresses: Addresses): Pick<TokenClaims, 'toolsets' | 'paths'> {
  const rests = (typeof aud === 'string' ? [aud] : aud).map((name) => addresses.restOf(name)).filter((rest) => rest !== null);
  const endpoints = rests.map(endpointOf).filter((endpoint) => endpoint !== null);
  if (endpoints.some(({ path }) => path === '')) return { toolsets: null, paths: null };
  const toolsets = endpoints.flatMap(({ toolset }) => toolset ?? []);
  return toolsets.length > 0 ? { toolsets, paths: null } : { toolsets: null, paths: endpoints.map(({ path }) => path) };
}

const isForUs = ({ aud = [] }: JWTPayload, addresses: Addresses): boolean =>
  (typeof aud === 'string' ? [aud] : aud).some((name) => addresses.include(name));

function keyOf(ring: ReadonlyMap<string, Uint8Array>, kid: string | undefined): Uint8Array {
  const key = ring.get(kid ?? '');
  if (key === undefined) throw new errors.JWSSignatureVerificationFailed();
  return key;
}

const toSigningKey = (key: string): Uint8Array => new Uint8Array(hkdfSync('sha256', key, 'sluice', 'mcp-access-token/1', 32));
