import { afterEach, describe, expect, test } from 'bun:test';
import { isErrorBody, type TestApp, testApp } from '#test/support/app.ts';
import { connectHost } from '#test/support/host.ts';

let t: TestApp;
const begin = async (variables: Record<string, string> = {}) => {
  t = await testApp(variables);
  await t.signIn();
};
afterEach(() => t.close());
const patch = (body: object) => t.send('config.update', body);
const dryRun = () => t.send('deploy.run', { dry_run: true });
const ISSUER = { issuer: 'https://login.example.com/realms/shop', audience: 'api://shop' };

describe('auth_type oauth', () => {
  test.each([
    ['http://sluice.example.com', false],
    ['http://10.0.0.5:3000', false],
    ['https://sluice.example.com', true],
    ['http://localhost:3000', true],
    ['http://127.0.0.1:3000', true],
    ['http://[::1]:3000', true],
  ])('with the public URL %s: may be deployed is %p', async (url, allowed) => {
    await begin({ SVC_PUBLIC_URL: url });
    const { status, body } = await patch({ auth_type: 'oauth' });
    expect(status).toBe(200);
    expect(body.warnings.some((text) => text.includes('needs HTTPS'))).toBe(!allowed);
    connectHost(t.app);
    const answer = await dryRun();
    expect(JSON.stringify(answer.body).includes('needs HTTPS')).toBe(!allowed);
    if (!allowed) expect([answer.status, isErrorBody(answer.body)]).toEqual([422, true]);
  });

  test('may be deployed behind a certificate of our own', async () => {
    await begin({ SVC_PUBLIC_URL: 'http://sluice.example.com' });
    const { body } = await patch({ auth_type: 'oauth', ui_domain: 'sluice.example.com', ssl_enabled: true });
    expect(body.warnings).toEqual([]);
  });
});

describe('jwt_issuers', () => {
  test('have defaults, are read back and leave a snapshot as it was while there are none', async () => {
    await begin();
    expect(await t.call('config.get', {})).toMatchObject({ accept_mcp_tokens: true, jwt_issuers: [] });
    const { status, body } = await patch({ auth_type: 'jwt', jwt_issuers: [ISSUER], accept_mcp_tokens: false });
    expect(status).toBe(200);
    expect(body).toMatchObject({
      accept_mcp_tokens: false,
      jwt_issuers: [
        {
          ...ISSUER,
          jwks_url: null,
          algorithms: [],
          scope_claim: null,
          groups_claim: 'groups',
          name_claim: 'name',
          required_claims: {},
        },
      ],
      warnings: [],
    });
  });

  test.each<[string, unknown]>([
    ['a symmetric algorithm', [{ ...ISSUER, algorithms: ['HS256'] }]],
    ['none as an algorithm', [{ ...ISSUER, algorithms: ['none'] }]],
    ['no audience', [{ issuer: ISSUER.issuer }]],
    ['an empty audience', [{ ...ISSUER, audience: '' }]],
    ['an issuer with a query', [{ ...ISSUER, issuer: 'https://login.example.com/?a' }]],
    ['an issuer that is no URL', [{ ...ISSUER, issuer: 'login' }]],
    ['a key set that is no URL', [{ ...ISSUER, jwks_url: 'file:///etc/passwd' }]],
    ['an issuer twice', [ISSUER, ISSUER]],
    ['eleven issuers', Array.from({ length: 11 }, (_, n) => ({ ...ISSUER, issuer: `https://login${n}.example.com` }))],
    ['a field that is unknown', [{ ...ISSUER, secret: 'x' }]],
    ['required claims that are no texts', [{ ...ISSUER, required_claims: { tid: { a: 1 } } }]],
  ])('with %s are refused', async (_, jwt_issuers) => {
    await begin();
    const { status, body } = await patch({ jwt_issuers });
    expect([status, isErrorBody(body)]).toEqual([422, true]);
    expect((await t.call('config.get', {})).jwt_issuers).toEqual([]);
  });

  test('at an address that is never allowed are refused', async () => {
    await begin();
    for (const url of ['http://169.254.169.254/keys', 'http://[fe80::1]/keys']) {
      const { status, body } = await patch({ jwt_issuers: [{ ...ISSUER, jwks_url: url }] });
      expect(status).toBeGreaterThanOrEqual(400);
      expect(String(body.detail)).toContain('never allowed');
    }
  });

  test('are needed with auth_type jwt: a warning, and no deploy', async () => {
    await begin();
    const { body } = await patch({ auth_type: 'jwt' });
    expect(String(body.warnings)).toContain('jwt_issuers needs at least one issuer');
    connectHost(t.app);
    expect(String((await dryRun()).body.detail)).toContain('jwt_issuers');
  });
});
