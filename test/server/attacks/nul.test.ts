import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type TestApp, testApp } from '#test/support/app.ts';
import { reachable, testDatabase } from '#test/support/databases.ts';

/** PostgreSQL keeps no NUL: what reaches a statement unread is a fault of the server there. */
describe.skipIf(!reachable.postgres)('a NUL character outside the operations of the contract, with PostgreSQL', () => {
  let t: TestApp;
  let database: Awaited<ReturnType<typeof testDatabase>>;
  beforeAll(async () => {
    database = await testDatabase('postgresql');
    const { host, port, username, database: name } = database.settings;
    t = await testApp({}, `postgres://${username}@${host}:${port}/${name}`);
    await t.signIn();
  });
  afterAll(async () => {
    await t.close();
    await database.drop();
  });

  const authorize = (query: string) =>
    `/oauth/authorize?response_type=code&client_id=x&redirect_uri=http%3A%2F%2F127.0.0.1%3A1%2Fcb&code_challenge=${'a'.repeat(43)}&code_challenge_method=S256&${query}`;

  test.each([
    ['the start of a sign-in', '/api/v1/auth/oidc/a%00/start'],
    ['the start of a sign-in, with a broken escape', '/api/v1/auth/oidc/a%00%E0/start'],
    ['where a sign-in returns to', '/api/v1/auth/oidc/a/start?return_to=%2F%00'],
    ['the return of a sign-in', `/api/v1/auth/oidc/callback?state=${'a'.repeat(42)}%00&code=%00`],
    ['authorize: the client', authorize('').replace('client_id=x', 'client_id=%00')],
    ['authorize: the state', authorize('state=%00')],
    ['authorize: the resource', authorize('resource=http%3A%2F%2Flocalhost%2Fmcp%00')],
    ['authorize: the scope', authorize('scope=a%00')],
    ['authorize: a name', authorize('%00=1')],
    ['a challenge', '/.well-known/acme-challenge/a%00'],
    ['metadata of a resource', '/.well-known/oauth-protected-resource/mcp/a%00'],
    ['the consent page', '/consent?request=%00'],
    ['a file of the interface', '/assets/%00.js'],
  ])('%s', async (_, path) => {
    const { status } = await t.request('GET', path, { anonymous: true });
    expect([400, 404]).toContain(status);
  });

  const form = (fields: Readonly<Record<string, string>>) => new URLSearchParams(fields).toString();
  const FORM = { 'content-type': 'application/x-www-form-urlencoded' };
  test.each([
    [
      '/oauth/token',
      { grant_type: 'authorization_code', code: 'svc_code_\0', client_id: 'x', code_verifier: 'a', redirect_uri: 'b' },
    ],
    ['/oauth/token', { grant_type: 'refresh_token', refresh_token: 'svc_rt_\0', client_id: 'x' }],
    ['/oauth/token', { grant_type: 'client_credentials', client_id: '\0', client_secret: '\0' }],
    ['/oauth/revoke', { token: '\0', client_id: 'x' }],
    ['/oauth/revoke', { token: 'x', client_id: '\0' }],
  ])('%s %o', async (path, fields) => {
    const { status, body } = await t.request('POST', path, { anonymous: true, headers: FORM, raw: form(fields) });
    expect([status, body]).toEqual([400, expect.objectContaining({ error: 'invalid_request' })]);
  });

  test('Basic with a NUL in the client, as it is and form-encoded', async () => {
    for (const login of ['a\0:b', 'a%00:b']) {
      const headers = { ...FORM, authorization: `Basic ${Buffer.from(login).toString('base64')}` };
      const raw = form({ grant_type: 'client_credentials' });
      const { status, body } = await t.request('POST', '/oauth/token', { anonymous: true, headers, raw });
      expect([status, body['error']]).toEqual([401, 'invalid_client']);
    }
  });

  test('a registration', async () => {
    const names = await t.request('POST', '/oauth/register', {
      anonymous: true,
      body: { client_name: 'a\0b\ud800', redirect_uris: ['https://client.example/cb'], software_id: '\0', '\0': 1 },
    });
    expect([names.status, names.body['client_name']]).toEqual([201, 'ab']);
    const addresses = await t.request('POST', '/oauth/register', {
      anonymous: true,
      body: { redirect_uris: ['https://client.example/cb\0'] },
    });
    expect(addresses.status).toBe(400);
  });
});
