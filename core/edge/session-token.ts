import { jwtVerify, SignJWT } from 'jose';

export interface SessionClaims {
  /** IDs of the administrator and of the session. */
  readonly sub: string;
  readonly sid: string;
}

const key = (secret: string): Uint8Array => new TextEncoder().encode(secret);

/** Signs a session as a JWT (HS256) with `sub`, `sid`, `iat` and `exp` in seconds. */
export function signSession(secret: string, claims: SessionClaims, now: Date, expires: Date): Promise<string> {
  return new SignJWT({ sid: claims.sid })
    .setProtectedHeader({ alg: 'HS256' })
    .setSubject(claims.sub)
    .setIssuedAt(Math.floor(now.getTime() / 1_000))
    .setExpirationTime(Math.floor(expires.getTime() / 1_000))
    .sign(key(secret));
}

/** @returns null unless the token is a session token of this installation that is valid at `now`. */
export async function verifySession(secret: string, token: string, now: Date): Promise<SessionClaims | null> {
  try {
    const { payload } = await jwtVerify(token, key(secret), { algorithms: ['HS256'], currentDate: now });
    return typeof payload.sub === 'string' && typeof payload['sid'] === 'string'
      ? { sub: payload.sub, sid: payload['sid'] }
      : null;
  } catch {
    return null;
  }
}
