import { hkdfSync } from 'node:crypto';
import { jwtVerify, SignJWT } from 'jose';
import type { Claims, Identity } from '#core/query/identity.ts';

/** The administrator's session that calls from the playground. */
export interface PlaygroundClaims {
  readonly session_id: string;
  readonly username: string;
  /** The caller of the messages: the person, or a caller that the person pretends to be. */
  readonly caller: PlaygroundCaller;
}

export interface PlaygroundCaller {
  readonly identity: Identity;
  readonly claims: Claims;
  /** Names of the toolsets that the caller sees; null: everything. */
  readonly toolsets: readonly string[] | null | typeof BY_GROUPS;
}

/** The toolsets that a signed-in person with the groups of this identity sees. */
export const BY_GROUPS = 'by_groups';

/** Prefix by which hosts recognise these tokens. */
export const PLAYGROUND_PREFIX = 'svc_playground_';
const SCOPE = 'playground';
const LIFETIME_MS = 15 * 60_000;
const HEADER = { alg: 'HS256', typ: 'playground+jwt' } as const;

const keyOf = (secret: string): Uint8Array => new Uint8Array(hkdfSync('sha256', secret, 'sluice', 'playground-token/1', 32));

/**
 * Signs a token for one message of the playground. The server adds it to a signed-in administrator's request, so browsers never
 * receive it. It ends with the session.
 * @param keys `SVC_ENCRYPTION_KEY`; the first one signs.
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

/** @returns null unless the token is valid at `now`; `ends` in milliseconds since 1970. */
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
    // Trusted, because this server signed it.
    const caller = verified.payload['caller'] as PlaygroundClaims['caller'];
    return { session_id: sub, username: String(username), caller, ends: exp * 1_000 };
  }
  return null;
}
