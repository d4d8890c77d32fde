import { expect, test } from 'bun:test';
import { toProfile } from '#core/identity/providers/claims.ts';
import type { ProviderRow } from '#core/identity/providers/stored.ts';
import { fc } from '#test/support/chance.ts';

const GOOGLE = 'https://accounts.google.com';
/** Only Google's own issuer is compared, so what it says is read here without asking it. */
const provider = (more: Partial<ProviderRow> = {}): ProviderRow => ({
  id: 'p1',
  name: 'Google',
  issuer: GOOGLE,
  client_id: 'sluice',
  client_secret: null,
  scopes: ['openid', 'email'],
  groups_claim: null,
  allowed_domains: ['example.com'],
  create_people: true,
  default_role: 'viewer',
  role_by_group: {},
  accept_assertions: false,
  assertion_clients: [],
  assertion_algorithms: [],
  enabled: true,
  version: 1,
  created_at: '2026-01-01T00:00:00.000Z',
  updated_at: '2026-01-01T00:00:00.000Z',
  ...more,
});
const claims = (more: object = {}) => ({
  sub: '110169484474386276334',
  email: 'grace@example.com',
  email_verified: true,
  hd: 'example.com',
  ...more,
});
const comesIn = (said: object, row = provider()): boolean => {
  try {
    return toProfile(row, claims(said)).subject !== '';
  } catch {
    return false;
  }
};

test('a member of the Workspace comes in', () => {
  expect(toProfile(provider(), claims())).toMatchObject({ email: 'grace@example.com', role: 'viewer' });
  expect(comesIn({ email: 'Grace@EXAMPLE.com', hd: 'Example.COM' })).toBe(true);
});

test.each([
  ['an account with an address of the domain that is no Workspace account', { hd: undefined }],
  ['a Workspace account of another domain with an address of this one', { hd: 'other.example' }],
  ['a sub-domain', { hd: 'evil.example.com', email: 'grace@evil.example.com' }],
  ['a claim that is no text', { hd: ['example.com'] }],
  ['hd alone, without a verified address', { email_verified: false }],
  ['hd alone, with an address elsewhere', { email: 'grace@gmail.com' }],
])('%s does not', (_, said) => {
  expect(comesIn(said)).toBe(false);
});

test('gmail.com has no hosted domain, and other issuers need none', () => {
  const gmail = provider({ allowed_domains: ['gmail.com'] });
  expect(comesIn({ email: 'grace@gmail.com', hd: undefined }, gmail)).toBe(true);
  expect(comesIn({ email: 'grace@gmail.com', email_verified: false, hd: undefined }, gmail)).toBe(false);
  expect(comesIn({ hd: undefined }, provider({ issuer: 'https://login.example.net' }))).toBe(true);
  expect(comesIn({ email: undefined, email_verified: undefined, hd: undefined }, provider({ allowed_domains: [] }))).toBe(true);
});

test('whatever hd says, nobody comes in whose domain differs from it', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.constantFrom('example.com', ' example.com', 'example.com.', 'EXAMPLE.com')), (hd) => {
      expect(comesIn({ hd })).toBe(hd.trim().toLowerCase() === 'example.com');
    }),
  );
});
