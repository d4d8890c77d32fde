import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { operations } from '#core/contract/index.ts';
import { fullPath } from '#core/contract/paths.ts';
import type { Operation } from '#core/contract/operation.ts';
import { STANDARD_WORK } from '#core/identity/passwords.ts';
import { createHttp } from '#server/http/http.ts';
import { isErrorBody, type TestApp, testApp } from '#test/support/app.ts';
import { testOnce } from '#test/support/metadata.ts';

let t: TestApp;
beforeAll(async () => {
  t = await testApp();
  await t.signIn();
});
afterAll(() => t.close());

const credentials = { username: 'ada', password: 'correct horse' };
const unsafe = (Object.entries(operations) as [string, Operation][]).filter(([, { method }]) => method !== 'GET');
const cookieOf = (headers: Headers): string => headers.get('set-cookie')?.split(';')[0] ?? '';

/** A request of one client: its socket has this address. */
const from = async (app: TestApp['app'], address: string, body: unknown, headers: Record<string, string> = {}) => {
  const request = new Request('http://localhost/api/v1/auth/login', {
    method: 'POST',
    headers: { host: 'localhost', 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
  return createHttp(app).fetch(request, { address });
};

describe('another site', () => {
  const FOREIGN: readonly Record<string, string>[] = [
    { origin: 'https://evil.example' },
    { origin: 'null' },
    { origin: 'http://localhost.evil.example' },
    { origin: 'http://localhost:81' },
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site' },
    // Listed for pages that bring a token of their own; the cookie is not theirs.
    { origin: 'http://localhost:5173' },
  ];

  test.each(unsafe)('cannot use the cookie for %s, and nothing happens', async (_, definition) => {
    const before = (await t.request('GET', '/api/v1/history')).body['total'];
    const path = fullPath(definition.path).replaceAll(/\{\w+\}/g, '0190b0c0-0000-7000-8000-000000000000');
    for (const headers of FOREIGN) {
      const body = definition.method === 'DELETE' ? {} : { body: {} };
      const answer = await t.request(definition.method, path, { headers, ...body });
      expect([answer.status, isErrorBody(answer.body)]).toEqual([403, true]);
      expect(answer.headers.get('set-cookie')).toBeNull();
    }
    expect((await t.request('GET', '/api/v1/history')).body['total']).toBe(before as number);
  });

  test('cannot send a form: only JSON is a body', async () => {
    for (const type of [
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
      'text/plain;application/json',
    ]) {
      const answer = await t.request('POST', '/api/v1/prompts', { raw: '{"name":"a"}', headers: { 'content-type': type } });
      expect(answer.status).toBe(415);
    }
  });

  test('reads nothing with the cookie, listed or not, and is sent no permission to try', async () => {
    const listed = await t.request('GET', '/api/v1/auth/me', { headers: { origin: 'http://localhost:5173' } });
    expect(listed.status).toBe(401);
    expect(listed.headers.get('access-control-allow-credentials')).toBeNull();
    const foreign = await t.request('OPTIONS', '/api/v1/tools', { headers: { origin: 'https://evil.example' } });
    expect([foreign.status, foreign.headers.get('access-control-allow-origin')]).toEqual([403, null]);
  });
});

describe('a session', () => {
  test('is never the one that somebody brought: every sign-in makes its own', async () => {
    const planted = cookieOf((await t.request('POST', '/api/v1/auth/login', { anonymous: true, body: credentials })).headers);
    const answer = await t.request('POST', '/api/v1/auth/login', {
      anonymous: true,
      body: credentials,
      headers: { cookie: planted },
    });
    const own = cookieOf(answer.headers);
    expect(own).toMatch(/^svc_session=./);
    expect(own).not.toBe(planted);
    await t.request('POST', '/api/v1/auth/logout', { anonymous: true, headers: { cookie: planted } });
    expect((await t.request('GET', '/api/v1/auth/me', { anonymous: true, headers: { cookie: own } })).status).toBe(200);
  });

  test('is nobody’s with another signature, another algorithm or another session in it', async () => {
    const token = cookieOf((await t.request('POST', '/api/v1/auth/login', { anonymous: true, body: credentials })).headers).slice(
      12,
    );
    const [head = '', body = '', signature = ''] = token.split('.');
    const claims = JSON.parse(atob(body)) as Record<string, unknown>;
    const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const forged = [
      `${head}.${body}.${signature.slice(0, -2)}AA`,
      `${head}.${body}.`,
      `${encode({ alg: 'none' })}.${body}.`,
      `${encode({ alg: 'HS512', typ: 'JWT' })}.${body}.${signature}`,
      `${head}.${encode({ ...claims, exp: 9_999_999_999 })}.${signature}`,
      `${head}.${encode({ ...claims, sid: 'other' })}.${signature}`,
    ];
    for (const value of [...forged, `${token}.x`, token.toUpperCase(), '"', '\t']) {
      const answer = await t.request('GET', '/api/v1/auth/me', { anonymous: true, headers: { cookie: `svc_session=${value}` } });
      expect([value, answer.status]).toEqual([value, 401]);
    }
  });

  test('goes with a revoked one, however often the same cookie comes', async () => {
    const me = () => t.request('GET', '/api/v1/auth/me');
    const { items } = (await t.request('GET', '/api/v1/auth/sessions')).body as { items: { id: string }[] };
    const cookie = cookieOf((await t.request('POST', '/api/v1/auth/login', { body: credentials })).headers);
    expect((await t.request('DELETE', `/api/v1/auth/sessions/${items[0]?.id}`)).status).toBe(204);
    expect((await me()).status).toBe(200);
    await t.request('POST', '/api/v1/auth/logout');
    const answers = await Promise.all(
      Array.from({ length: 5 }, () => t.request('GET', '/api/v1/auth/me', { anonymous: true, headers: { cookie } })),
    );
    expect(answers.map(({ status }) => status)).toEqual([401, 401, 401, 401, 401]);
  });
});

describe('guessing', () => {
  // What was guessed before is forgotten.
  beforeEach(() => t.advance(15 * 60_000 + 1));

  const wrong = { ...credentials, password: 'wrong' };
  const guess = async (app: TestApp['app'], address: string, username: string, headers: Record<string, string> = {}) =>
    (await from(app, address, { username, password: 'wrong' }, headers)).status;

  test('of one account from one address ends after five, other spellings of the name included', async () => {
    const names = ['ada', 'Ada', 'ADA', 'aDa', 'adA', 'ada', 'ADa'];
    const statuses = [];
    for (const name of names) statuses.push(await guess(t.app, '192.0.2.10', name));
    expect(statuses).toEqual([401, 401, 401, 401, 401, 429, 429]);
    // The right password waits too, or guessing would go on behind the limit.
    expect((await from(t.app, '192.0.2.10', credentials)).status).toBe(429);
    expect((await from(t.app, '192.0.2.11', credentials)).status).toBe(200);
  });

  test('from one address ends after twenty, whatever the accounts', async () => {
    const statuses = await Promise.all(Array.from({ length: 22 }, (_, n) => guess(t.app, '192.0.2.12', `user${n}`)));
    expect(statuses.filter((status) => status === 401)).toHaveLength(20);
    expect(statuses.filter((status) => status === 429)).toHaveLength(2);
  }, 60_000);

  test('of one account ends after fifty, wherever it comes from', async () => {
    const statuses = await Promise.all(Array.from({ length: 52 }, (_, n) => guess(t.app, `198.51.100.${n}`, 'ada')));
    expect(statuses.filter((status) => status === 401)).toHaveLength(50);
    expect(statuses.filter((status) => status === 429)).toHaveLength(2);
  }, 60_000);

  test('does not begin anew with a made-up X-Forwarded-For', async () => {
    const spoofed = (n: number) => ({
      'x-forwarded-for': `203.0.113.${n}`,
      'x-real-ip': `203.0.113.${n}`,
      forwarded: `for=203.0.113.${n}`,
    });
    const statuses = [];
    for (let n = 0; n < 7; n++) statuses.push(await guess(t.app, '192.0.2.13', 'ada', spoofed(n)));
    expect(statuses).toEqual([401, 401, 401, 401, 401, 429, 429]);
  });

  test('behind a trusted proxy counts for the client, and what the client puts before it counts for nothing', async () => {
    const p = await testApp({ SVC_TRUSTED_PROXIES: '10.0.0.0/8' });
    try {
      await p.signIn();
      const via = (client: string, made_up: string) =>
        guess(p.app, '10.0.0.1', 'ada', { 'x-forwarded-for': `${made_up}, ${client}` });
      const statuses = [];
      for (let n = 0; n < 6; n++) statuses.push(await via('203.0.113.50', `198.51.100.${n}`));
      expect(statuses).toEqual([401, 401, 401, 401, 401, 429]);
      expect(await via('203.0.113.51', '203.0.113.50')).toBe(401);
      // Not from the proxy: the header is a stranger's.
      const direct = [];
      for (let n = 0; n < 6; n++) direct.push(await guess(p.app, '192.0.2.14', 'ada', { 'x-forwarded-for': `198.51.100.${n}` }));
      expect(direct).toEqual([401, 401, 401, 401, 401, 429]);
    } finally {
      await p.close();
    }
  });

  testOnce()(
    'takes as long for a name that nobody has',
    async () => {
      const p = await testApp({}, undefined, { password_work: STANDARD_WORK });
      try {
        await p.signIn();
        const time = async (username: string, address: string) => {
          const started = performance.now();
          await from(p.app, address, { ...wrong, username });
          return performance.now() - started;
        };
        const median = (times: readonly number[]) => times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] ?? 0;
        const known: number[] = [];
        const unknown: number[] = [];
        for (let n = 0; n < 15; n++) {
          known.push(await time('ada', `192.0.2.${20 + n}`));
          unknown.push(await time('nobody', `192.0.2.${20 + n}`));
        }
        const ratio = median(known) / median(unknown);
        expect(ratio).toBeGreaterThan(0.5);
        expect(ratio).toBeLessThan(2);
      } finally {
        await p.close();
      }
    },
    120_000,
  );
});
