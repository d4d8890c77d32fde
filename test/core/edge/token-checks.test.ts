import { describe, expect, test } from 'bun:test';
import { importJWK } from 'jose';
import { checkToken, type TokenRules } from '#core/edge/token-checks.ts';
import { testKey } from '#test/support/signed-tokens.ts';

const NOW = Date.parse('2026-03-01T12:00:00.000Z');
const seconds = NOW / 1_000;
const key = await testKey('RS256');
const verifying = await importJWK(key.public_key, 'RS256');
if (verifying instanceof Uint8Array) throw new Error('The key is symmetric.');

/** Whoever looks for a key finds this one, whatever was asked for. */
const rules: TokenRules = {
  issuer: 'https://issuer.example.com',
  algorithms: ['RS256'],
  types: ['at+jwt'],
  keyOf: () => verifying,
  isAudience: (name) => name === 'shop',
};
const claims = { iss: rules.issuer, aud: 'shop', sub: 'u1', iat: seconds, exp: seconds + 60 };
const failed = async (token: string, more: Partial<TokenRules> = {}) => {
  const checked = await checkToken(token, { ...rules, ...more }, NOW);
  return 'failed' in checked ? checked.failed : null;
};

describe('each check stands alone', () => {
  test('a good token passes', async () => {
    expect(await failed(await key.sign(claims))).toBeNull();
    expect(await failed(await key.sign(claims, { typ: 'application/at+JWT' }))).toBeNull();
  });

  test('an algorithm that is not in the list is refused before any key is looked for', async () => {
    const keyOf = () => {
      throw new Error('A key was looked for.');
    };
    expect(await failed(await key.sign(claims), { algorithms: ['ES256'], keyOf })).toBe('algorithm');
  });

  test('another issuer is refused before any key is looked for', async () => {
    const keyOf = () => {
      throw new Error('A key was looked for.');
    };
    expect(await failed(await key.sign({ ...claims, iss: 'https://evil.example.com' }), { keyOf })).toBe('issuer');
  });

  test('a token that is longer than 16 kB is not looked at', async () => {
    expect(await failed(await key.sign({ ...claims, filler: 'x'.repeat(13_000) }))).toBe('form');
    expect(await failed(await key.sign({ ...claims, filler: 'x'.repeat(9_000) }))).toBeNull();
  });

  test('clocks may differ by a minute, and an end is an end', async () => {
    expect(await failed(await key.sign({ ...claims, iat: seconds + 60, nbf: seconds + 60 }))).toBeNull();
    expect(await failed(await key.sign({ ...claims, iat: seconds + 61 }))).toBe('times');
    expect(await failed(await key.sign({ ...claims, nbf: seconds + 61 }))).toBe('times');
    expect(await failed(await key.sign({ ...claims, exp: seconds }))).toBe('expiry');
  });
});
