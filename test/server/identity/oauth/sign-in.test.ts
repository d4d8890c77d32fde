import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { createLocalJWKSet, decodeJwt, jwtVerify } from 'jose';
import { isErrorBody, type TestApp, testApp } from '#test/support/app.ts';
import { connectHost } from '#test/support/host.ts';
import {
  asked,
  type Browser,
  CALLBACK,
  CLAUDE_CODE,
  createBrowser,
  exchanged,
  post,
  refreshed,
  tokens,
  toQuery,
} from '#test/support/sign-in.ts';

const ISSUER = 'http://localhost:3000';

let t: TestApp;
let ada: Browser;
beforeAll(async () => {
  t = await testApp();
  await t.signIn();
  ada = createBrowser(t);
  await ada.signIn();
});
afterAll(() => t.close());

describe('the metadata (RFC 8414)', () => {
  test('names what clients need, at the root and with the path of MCP', async () => {
    for (const path of ['', '/mcp']) {
      const { status, body, headers } = await t.request('GET', `/.well-known/oauth-authorization-server${path}`, {
        anonymous: true,
      });
      expect(status).toBe(200);
      expect(headers.get('content-type')).toContain('application/json');
      expect(body).toMatchObject({
        issuer: ISSUER,
        authorization_endpoint: `${ISSUER}/oauth/authorize`,
        token_endpoint: `${ISSUER}/oauth/token`,
        registration_endpoint: `${ISSUER}/oauth/register`,
        response_types_supported: ['code'],
        code_challenge_methods_supported: ['S256'],
        client_id_metadata_document_supported: true,
        authorization_response_iss_parameter_supported: true,
      });
      expect(body['token_endpoint_auth_methods_supported']).toContain('none');
      expect(body['scopes_supported']).toContain('offline_access');
    }
  });

  test('says nothing that a request says (CVE-2025-6514)', async () => {
    const { body } = await t.request('GET', '/.well-known/oauth-authorization-server', {
      anonymous: true,
      headers: {
        host: '127.0.0.1:9999',
        'x-forwarded-host': 'evil.example',
        'x-forwarded-proto': 'https',
        forwarded: 'host=evil.example',
      },
    });
    expect(body['issuer']).toBe(ISSUER);
  });

  test('is no openid-configuration', async () => {
    for (const path of ['/.well-known/openid-configuration', '/.well-known/openid-configuration/mcp']) {
      expect((await t.request('GET', path, { anonymous: true })).status).toBe(404);
    }
  });

  test('and the endpoints of clients are open to pages of any origin, without cookies', async () => {
    const headers = { origin: 'https://inspector.example' };
    for (const path of ['/.well-known/oauth-authorization-server', '/oauth/jwks']) {
      const answer = await t.request('GET', path, { headers });
      expect([answer.status, answer.headers.get('access-control-allow-origin')]).toEqual([200, '*']);
      expect(answer.headers.has('access-control-allow-credentials')).toBe(false);
    }
    const preflight = await t.request('OPTIONS', '/oauth/token', { anonymous: true, headers });
    expect([preflight.status, preflight.headers.get('access-control-allow-origin')]).toEqual([204, '*']);
    expect(preflight.headers.get('access-control-allow-headers')).toContain('MCP-Protocol-Version');
    for (const path of ['/oauth/authorize', '/oauth/consent']) {
      expect((await t.request('GET', path, { anonymous: true, headers })).status).toBe(403);
    }
  });
});

describe('a sign-in', () => {
  test('goes from the request over the consent to tokens, which refresh and can be revoked', async () => {
    const begun = await ada.authorize({ scope: 'openid email profile offline_access' });
    expect(begun.status).toBe(303);
    expect(begun.headers.get('cache-control')).toBe('no-store');
    const { status, body: shown } = await ada.send('GET', `/api/v1/oauth/requests/${begun.request}`);
    expect(status).toBe(200);
    expect(shown).toMatchObject({
      client: { client_id: CLAUDE_CODE, name: 'Claude Code', kind: 'known', host: 'claude.ai', trusted: false },
      resource: 'http://localhost:8080/mcp',
      agent: false,
      redirect_host: null,
      person: { username: 'ada' },
      scopes: [{ name: 'mcp', tools_total: 0, optional: false }],
      refused: null,
    });
    const decided = await ada.decide(begun.request);
    expect(decided.status).toBe(200);
    const to = new URL(String(decided.body['redirect_to']));
    expect(`${to.origin}${to.pathname}`).toBe(CALLBACK);
    expect(Object.fromEntries(to.searchParams)).toEqual({ code: expect.any(String), state: 'some-state', iss: ISSUER });

    const answer = await post(t, '/oauth/token', exchanged(to.searchParams.get('code') ?? ''));
    expect(answer.status).toBe(200);
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(answer.body).toMatchObject({ token_type: 'Bearer', expires_in: 3_600 });
    const { body: jwks } = await t.request('GET', '/oauth/jwks', { anonymous: true });
    expect(JSON.stringify(jwks)).not.toContain('"d"');
    const { payload, protectedHeader } = await jwtVerify(
      String(answer.body['access_token']),
      createLocalJWKSet(jwks as unknown as { keys: never[] }),
      { currentDate: t.app.clock() },
    );
    expect(protectedHeader).toMatchObject({ alg: 'ES256', typ: 'at+jwt' });
    expect(payload).toMatchObject({
      iss: ISSUER,
      aud: 'http://localhost:8080/mcp',
      client_id: CLAUDE_CODE,
      scope: '',
    });

    const again = await post(t, '/oauth/token', refreshed(String(answer.body['refresh_token'])));
    expect(again.status).toBe(200);
    expect(again.body['refresh_token']).not.toBe(answer.body['refresh_token']);
    const revoked = await post(t, '/oauth/revoke', { token: String(again.body['refresh_token']), client_id: CLAUDE_CODE });
    expect(revoked.status).toBe(200);
    const dead = await post(t, '/oauth/token', refreshed(String(again.body['refresh_token'])));
    expect([dead.status, dead.body['error']]).toEqual([400, 'invalid_grant']);
  });

  test('that is denied leads back with the reason, state and issuer', async () => {
    const { request } = await ada.authorize();
    const { body } = await ada.decide(request, { decision: 'deny' });
    const to = new URL(String(body['redirect_to']));
    expect(Object.fromEntries(to.searchParams)).toMatchObject({ error: 'access_denied', state: 'some-state', iss: ISSUER });
    expect(to.searchParams.has('code')).toBe(false);
  });

  test('can be denied without signing in, and not approved', async () => {
    const stranger = createBrowser(t);
    const first = await stranger.authorize();
    const refused = await stranger.decide(first.request);
    expect([refused.status, isErrorBody(refused.body)]).toEqual([401, true]);
    expect((await stranger.decide(first.request, { decision: 'deny' })).status).toBe(200);
  });

  test('without state, scope and resource is one for /mcp', async () => {
    const { body } = await tokens(t, ada, { state: undefined, resource: undefined }, { resource: undefined });
    const { payload } = await jwtVerify(
      String(body['access_token']),
      createLocalJWKSet((await t.request('GET', '/oauth/jwks')).body as { keys: never[] }),
      { currentDate: t.app.clock() },
    );
    expect(payload.aud).toBe('http://127.0.0.1:8080/mcp');
  });

  test('is one for /sse while that is served', async () => {
    const sse = { resource: 'http://localhost:8080/sse' };
    const refused = await ada.authorize(sse);
    expect(refused.location).toContain('error=invalid_target');
    const set = async (transport: string) => expect((await t.send('config.update', { transport })).status).toBe(200);
    await set('sse');
    const { access } = await tokens(t, ada, sse, sse);
    expect(decodeJwt(access).aud).toBe(sse.resource);
    await set('http');
  });

  test('keeps what the browser must not leak: no referrer, no frame, no cache, and its opener', async () => {
    const consent = await ada.send('GET', '/oauth/consent?request=x');
    const begun = await ada.authorize();
    const refused = await ada.send('GET', `/oauth/authorize?${toQuery(asked({ client_id: 'nobody' }))}`);
    for (const { headers } of [consent, begun, refused]) {
      expect(headers.get('cross-origin-opener-policy')).toBeNull();
      expect(headers.get('referrer-policy')).toBe('no-referrer');
      expect(headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
      expect(headers.get('cache-control')).toBe('no-store');
    }
    expect((await ada.send('GET', '/')).headers.get('cross-origin-opener-policy')).toBe('same-origin');
  });
});

test('a token has the name and the e-mail address of its person only where something deployed reads them', async () => {
  const { people } = t.app.store.tables;
  await t.app.store.write((tx) => tx.update(people).set({ email: 'ada@example.com' }));
  const saysOf = async (more: Record<string, string> = {}) => {
    const { name, email } = decodeJwt((await tokens(t, ada, more, more)).access);
    return { name, email };
  };
  const email = 'ada@example.com';
  connectHost(t.app);
  const deploy = async () => expect((await t.request('POST', '/api/v1/deploy', { body: {} })).status).toBe(200);
  const draft = { name: 'greet', description: 'Greets the caller', template: 'Hello {{ vars.who or "you" }}' };
  const { body: prompt } = await t.request('POST', '/api/v1/prompts', { body: draft });
  await deploy();
  expect(await saysOf()).toEqual({ name: undefined, email: undefined });
  const patch = { template: 'Hello {{ caller.email }}', version: prompt['version'] };
  expect((await t.request('PATCH', `/api/v1/prompts/${String(prompt['id'])}`, { body: patch })).status).toBe(200);
  // Saved, and not deployed.
  expect(await saysOf()).toEqual({ name: undefined, email: undefined });
  await deploy();
  expect(await saysOf()).toEqual({ name: 'ada', email });
  expect(await saysOf({ resource: 'http://localhost:3000/agent-mcp' })).toEqual({ name: undefined, email: undefined });
});
