import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { type RequestOptions, type TestApp, testApp } from '#test/support/app.ts';

let t: TestApp;
beforeEach(async () => {
  t = await testApp();
  await t.signIn();
});
afterEach(() => t.close());

const PATH = '/api/v1/server/config';

describe('a page of a listed origin', () => {
  const origin = 'http://localhost:5173';
  const ask = (method: string, path: string, options: RequestOptions = {}) =>
    t.request(method, path, { ...options, headers: { origin, ...options.headers } });

  test('reads answers and faults, with a preflight and without credentials', async () => {
    const asked = { 'access-control-request-method': 'PATCH', 'access-control-request-headers': 'authorization' };
    const preflight = await ask('OPTIONS', PATH, { headers: asked, anonymous: true });
    expect(preflight.status).toBe(204);
    expect(preflight.headers.get('access-control-allow-methods')).toContain('PATCH');
    expect(preflight.headers.get('access-control-allow-headers')).toContain('Authorization');
    const fault = await ask('GET', PATH, { anonymous: true });
    expect(fault.status).toBe(401);
    for (const { headers } of [preflight, fault]) {
      expect(headers.get('access-control-allow-origin')).toBe(origin);
      expect(headers.get('vary')).toContain('Origin');
      expect(headers.has('access-control-allow-credentials')).toBe(false);
    }
  });

  test('has no use of the session cookie', async () => {
    expect((await ask('GET', PATH)).status).toBe(401);
    expect((await ask('PATCH', PATH, { body: { server_name: 'B' } })).status).toBe(403);
    expect(await t.call('config.get', {})).toMatchObject({ server_name: 'Sluice' });
  });

  test('is refused when the list lacks its scheme, host or port, and at the control channel always', async () => {
    for (const other of ['https://localhost:5173', 'http://localhost:5174', 'http://localhost:5173.evil.com', 'null']) {
      const answer = await t.request('OPTIONS', PATH, { headers: { origin: other }, anonymous: true });
      expect([answer.status, answer.headers.get('access-control-allow-origin')]).toEqual([403, null]);
    }
    const internal = await ask('GET', '/api/internal/hosts/stream?id=h1', { anonymous: true });
    expect([internal.status, internal.headers.get('access-control-allow-origin')]).toEqual([403, null]);
  });
});
