import { createHash, hkdfSync } from 'node:crypto';
import { errors, type JWTPayload, jwtVerify, SignJWT } from 'jose';
import type { Addresses } from '#core/edge/asked-address.ts';
import { fingerprintOf, keyIdOf } from '#core/lib/secrets.ts';
import type { FrozenServer } from '#snapshots/format.ts';
import { createExpiring } from './expiring.ts';
import { type Caller, callerName, type Credential, INVALID, type Refusal, type Scheme } from './scheme.ts';

/** The one scope there is: to use the server. */
export const SCOPE = 'mcp';

/** Access tokens of `auth_type` oauth_credentials: signed, so that every host with the same encryption key accepts them. */
export interface AccessTokens extends Scheme {
  /** @param audience addresses of the MCP endpoint that the token is for. */
  issue(client_id: string, server: FrozenServer, issuer: string, audience: readonly string[]): Promise<string>;
}

export interface AccessTokensOptions {
  /** `SVC_ENCRYPTION_KEY`: the first one signs, every one verifies. */
  readonly keys: readonly string[];
  /** Of the MCP endpoint: the audiences that count. */
  readonly addresses: Addresses;
  readonly isIssuer: (url: string) => boolean;
  readonly now: () => number;
}

const VERIFIED = 10_000;

type Client = FrozenServer['oauth_clients'][number];
interface Claims {
  readonly client_id: string;
  readonly edition: string;
}

const ownerOf = ({ client_id, edition }: Claims): string => `client:${edition}:${client_id}`;

export const clientOf = ({ oauth_clients }: FrozenServer, client_id: unknown): Client | undefined =>
  oauth_clients.find((client) => client.client_id === client_id);

/** Changes with the client's secret: a token ends with the secret that it was bought with. */
const edition = ({ client_secret }: Client): string =>
  createHash('sha256').update(fingerprintOf(client_secret.$sealed)).digest('base64url').slice(0, 22);

export function createAccessTokens({ keys, addresses, isIssuer, now }: AccessTokensOptions): AccessTokens {
  const ring = new Map(keys.map((key) => [keyIdOf(key), toSigningKey(key)]));
  const [current] = ring;
  const verified = createExpiring<Claims>(now, VERIFIED);
  /** Who was let in, until the last of their tokens ends: for sessions and streams. */
  const owners = createExpiring<Claims>(now, VERIFIED);

  const isCurrent = (claims: Claims, server: FrozenServer): boolean => {
    const client = clientOf(server, claims.client_id);
    return client !== undefined && edition(client) === claims.edition;
  };
  const admit = (claims: Claims | undefined, server: FrozenServer): Caller | null =>
    claims === undefined || !isCurrent(claims, server)
      ? null
      : { owner: ownerOf(claims), token_prefix: callerName(claims.client_id) };
  const check = async ({ token, digest }: Credential, server: FrozenServer): Promise<Caller | Refusal> => {
    try {
      const { payload } = await jwtVerify(token, ({ kid }) => keyOf(ring, kid), {
        algorithms: ['HS256'],
        typ: 'at+jwt',
        requiredClaims: ['exp', 'iss', 'aud', 'client_id', 'edition'],
        currentDate: new Date(now()),
      });
      if (!isIssuer(payload.iss ?? '') || !isForUs(payload, addresses)) return INVALID;
      const claims = { client_id: String(payload['client_id']), edition: String(payload['edition']) };
      const caller = admit(claims, server);
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
    recall: ({ digest }, server) => admit(verified.get(digest), server),
    check,
    holds(owner, server) {
      const claims = owners.get(owner);
      return claims !== undefined && isCurrent(claims, server);
    },
    issue(client_id, server, issuer, audience) {
      const client = clientOf(server, client_id);
      if (client === undefined || current === undefined) throw new Error('A token can only be issued with a client and a key.');
      const issued_at = Math.floor(now() / 1_000);
      return new SignJWT({ client_id, scope: SCOPE, edition: edition(client) })
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

const isForUs = ({ aud = [] }: JWTPayload, addresses: Addresses): boolean =>
  (typeof aud === 'string' ? [aud] : aud).some((name) => addresses.include(name));

function keyOf(ring: ReadonlyMap<string, Uint8Array>, kid: string | undefined): Uint8Array {
  const key = ring.get(kid ?? '');
  if (key === undefined) throw new errors.JWSSignatureVerificationFailed();
  return key;
}

const toSigningKey = (key: string): Uint8Array => new Uint8Array(hkdfSync('sha256', key, 'sluice', 'mcp-access-token/1', 32));
