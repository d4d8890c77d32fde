import { calculateJwkThumbprint, exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose';
import type { EndedGrant, IdentityList } from '#core/contract/deploy/control.ts';

type Members = Readonly<Record<string, unknown>>;

/** A key pair that signs tokens, as an issuer has one. */
export interface TestKey {
  readonly kid: string;
  readonly public_key: JWK;
  sign(payload: Members, header?: Members): Promise<string>;
}

export async function testKey(alg = 'ES256', named?: string): Promise<TestKey> {
  const pair = await generateKeyPair(alg, { extractable: true });
  const kid = named ?? (await calculateJwkThumbprint(pair.publicKey));
  const public_key = { ...(await exportJWK(pair.publicKey)), kid, alg, use: 'sig' };
  return {
    kid,
    public_key,
    sign: (payload, header = {}) =>
      new SignJWT(payload).setProtectedHeader({ alg, typ: 'at+jwt', kid, ...header }).sign(pair.privateKey),
  };
}

export const ISSUER = 'https://sluice.example.com';

/** The list that the server sends its hosts. */
export const identityOf = (keys: readonly TestKey[], ended: readonly EndedGrant[] = [], issuer = ISSUER): IdentityList => ({
  issuer,
  jwks: { keys: keys.map(({ public_key }) => public_key) },
  ended,
  as_of: new Date().toISOString(),
});

/** Claims of an access token of a signed-in person, for an hour. @param at in ms since 1970. */
export const personClaims = (audience: string, at: number, more: Members = {}): Members => ({
  iss: ISSUER,
  aud: audience,
  sub: 'person-1',
  client_id: 'client-1',
  scope: '',
  groups: ['emea'],
  grant: 'grant-1',
  seq: 0,
  name: 'Ada',
  iat: Math.floor(at / 1_000),
  exp: Math.floor(at / 1_000) + 3_600,
  jti: crypto.randomUUID(),
  ...more,
});

/** A token put together by hand: nothing is checked. */
export const handMade = (header: object, payload: object, signature = ''): string =>
  [JSON.stringify(header), JSON.stringify(payload)].map((text) => Buffer.from(text).toString('base64url')).join('.') +
  `.${signature}`;
