import { hkdfSync } from 'node:crypto';
import { jwtVerify, SignJWT } from 'jose';
import { type Claims, type Identity, NO_CLAIMS, NO_IDENTITY } from '#core/query/identity.ts';

/** Who calls from the playground: an administrator's session. */
export interface PlaygroundClaims {
  readonly session_id: string;
  readonly username: string;
  /** Who the messages are sent as: the person, or whom the person chose to pretend to be. */
  readonly caller: PlaygroundCaller;
}

export interface PlaygroundCaller {
  readonly identity: Identity;
  readonly claims: Claims;
  /** Names of the toolsets that it sees; null, or nothing as in an earlier release: everything. */
  readonly toolsets?: readonly string[] | null | typeof BY_GROUPS;
}

/** The toolsets that a signed-in person in the groups of the identity has. */
export const BY_GROUPS = 'by_groups';

/** Before the signed part, so that a host knows it at sight. */
export const PLAYGROUND_PREFIX = 'svc_playground_';
const SCOPE = 'playground';
const NO_CALLER = { identity: NO_IDENTITY, claims: NO_CLAIMS };
const LIFETIME_MS = 15 * 60_000;
const HEADER = { alg: 'HS256', typ: 'playground+jwt' } as const;

const keyOf = (secret: string): Uint8Array => new Uint8Array(hkdfSync('sha256', secret, 'sluice', 'playground-token/1', 32));

/**
 * A credential for one message of the playground. The server adds it to what a signed-in administrator sends, so no browser ever
 * holds it, and it ends with the session.
 * @param keys `SVC_ENCRYPTION_KEY`: the first one signs.
 */
export async function signPlaygroundToken(
  keys: readonly string[],
  { session_id, username, caller }: PlaygroundClaims,
  now: Date,
): Promise<string> {
  const [newest = ''] = keys;
  const signed = await new SignJWT({ scope: SCOPE, username, caller })
    .setProtectedHeader(HEADER)
    .setSubject(session_id)
    .setIssuedAt(Math.floor(now.getTime() / 1_000))
    .setExpirationTime(Math.floor((now.getTime() + LIFETIME_MS) / 1_000))
    .sign(keyOf(newest));
  return PLAYGROUND_PREFIX + signed;
}

/** @returns null for whatever is not such a token that is valid now; `ends` in ms. */
export async function verifyPlaygroundToken(
  keys: readonly string[],
  token: string,
  now: Date,
): Promise<(PlaygroundClaims & { readonly ends: number }) | null> {
  if (!token.startsWith(PLAYGROUND_PREFIX)) return null;
  for (const key of keys) {
    const verified = await jwtVerify(token.slice(PLAYGROUND_PREFIX.length), keyOf(key), {
      algorithms: [HEADER.alg],
      typ: HEADER.typ,
      requiredClaims: ['exp', 'sub'],
      currentDate: now,
    }).catch(() => null);
    if (verified === null || verified.payload['scope'] !== SCOPE) continue;
    const { sub = '', exp = 0, username } = verified.payload;
    // Our own server signed it. One of an earlier release says no caller.
    const caller = (verified.payload['caller'] ?? NO_CALLER) as PlaygroundClaims['caller'];
    return { session_id: sub, username: String(username), caller, ends: exp * 1_000 };
  }
  return null;
}
