import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { operations } from '#core/contract/index.ts';
import { fullPath } from '#core/contract/paths.ts';
import type { Operation } from '#core/contract/operation.ts';
import { isErrorBody, type RequestOptions, type TestApp, testApp } from '#test/support/app.ts';

const UNKNOWN = '0190b0c0-0000-7000-8000-000000000000';
const all = Object.entries(operations) as [string, Operation][];
const url = (path: string) =>
  fullPath(path)
    .replaceAll('{version}', '1')
    .replaceAll('{from}', '1')
    .replaceAll('{to}', '1')
    .replaceAll(/\{\w+\}/g, UNKNOWN);
const has_body = ({ method, file }: Operation) => (method === 'POST' || method === 'PATCH') && file !== true;

let t: TestApp;
beforeAll(async () => {
  t = await testApp();
  await t.signIn();
});
afterAll(() => t.close());

test('another method at an address of the API is refused with those that it answers', async () => {
  const tried: readonly (readonly [string, string, string])[] = [
    ['PUT', '/api/v1/tools', 'GET, HEAD, POST'],
    ['POST', `/api/v1/tools/${UNKNOWN}`, 'GET, HEAD, PATCH, DELETE'],
    ['DELETE', '/api/v1/server/config', 'GET, HEAD, PATCH'],
    ['GET', '/api/v1/deploy', 'POST'],
  ];
  for (const [method, path, allowed] of tried) {
    const { status, headers, body } = await t.request(method, path);
    expect([path, status, headers.get('allow'), body]).toEqual([
      path,
      405,
      allowed,
      { detail: `This address answers only ${allowed}.` },
    ]);
  }
  expect((await t.request('PUT', '/api/v1/nothing')).status).toBe(404);
});

describe('refuses a caller without credentials', () => {
  test.each(all.filter(([, { access }]) => access !== 'public'))('%s', async (_, definition) => {
    const answer = await t.request(definition.method, url(definition.path), {
      anonymous: true,
      ...(has_body(definition) ? { body: {} } : {}),
    });
    expect(answer.status).toBe(401);
    expect(isErrorBody(answer.body)).toBe(true);
  });
});

describe('refuses a body that it cannot read', () => {
  const UNREADABLE: readonly (readonly [status: number, request: RequestOptions])[] = [
    [400, { raw: '{"a":' }],
    [415, { raw: 'a=1', headers: { 'content-type': 'text/plain' } }],
    [422, { raw: '[]' }],
    [422, { raw: `{"a":${'['.repeat(100)}${']'.repeat(100)}}` }],
    [422, { raw: '{"a":{"__proto__":{"x":1}}}' }],
  ];
  test.each(all.filter(([name, definition]) => has_body(definition) && name !== 'auth.logout'))('%s', async (_, definition) => {
    const large = JSON.stringify({ a: 'x'.repeat(definition.max_body ?? 1024 * 1024) });
    for (const [status, options] of [...UNREADABLE, [413, { raw: large }] as const]) {
      const answer = await t.request(definition.method, url(definition.path), options);
      expect([answer.status, isErrorBody(answer.body)]).toEqual([status, true]);
    }
  });
});

describe('names an unknown field, and no known one that is nothing like it', () => {
  test.each(all)('%s', async (_, definition) => {
    const path = url(definition.path);
    // A name that looks like that of a read-only field is none.
    for (const field of ['nonsense_field', 'nonsense_set']) {
      const answer = has_body(definition)
        ? await t.request(definition.method, path, { body: { [field]: 1 } })
        : await t.request(definition.method, `${path}?${field}=1`);
      expect(answer.status).toBe(422);
      expect(answer.body.detail).toContain(`${field} is not a known field.`);
      expect(answer.body.detail).not.toContain('Did you mean');
      expect(isErrorBody(answer.body)).toBe(true);
    }
  });
});

describe('answers 404 for an unknown or malformed id', () => {
  test.each(all.filter(([, { path, access }]) => path.includes('{') && access !== 'public'))('%s', async (_, definition) => {
    for (const id of [UNKNOWN, 'not-an-id', '%00', "'%20or%20'1'%3D'1"]) {
      const path = fullPath(definition.path).replaceAll(/\{\w+\}/g, id);
      const answer = await t.request(definition.method, path, has_body(definition) ? { body: {} } : {});
      expect([answer.status, isErrorBody(answer.body)]).toEqual([404, true]);
    }
  });
});

test('an address that is not there is 404 with the one error body', async () => {
  const answer = await t.request('GET', '/api/v1/nowhere');
  expect([answer.status, isErrorBody(answer.body)]).toEqual([404, true]);
});

test('the other form of an error carries the code, the fields and the request id', async () => {
  const answer = await t.send(
    'connections.create',
    { name: 1 },
    { headers: { accept: 'application/problem+json', 'x-request-id': 'my-id' } },
  );
  expect(answer.headers.get('content-type')).toBe('application/problem+json');
  expect(answer.body).toMatchObject({ type: 'about:blank', status: 422, code: 'invalid', request_id: 'my-id' });
  expect(answer.body.errors).toContainEqual({ field: 'name', message: 'name must be a string.' });
  expect(answer.headers.get('x-request-id')).toBe('my-id');
});

test('a host name that is not ours and a foreign origin are refused everywhere', async () => {
  for (const path of ['/', '/api/health', '/api/v1/auth/status', '/api/openapi.json', '/api/internal/hosts/stream']) {
    const rebound = await t.request('GET', path, { headers: { host: 'evil.example' } });
    expect(rebound.status).toBe(403);
    expect(rebound.body.detail).toContain('SVC_ALLOWED_HOSTS');
    const foreign = await t.request('GET', path, { headers: { origin: 'https://evil.example' } });
    expect(foreign.status).toBe(403);
  }
});

test('the control channel wants the service token, whoever is signed in', async () => {
  const answer = await t.request('GET', '/api/internal/hosts/stream?id=h1');
  expect(answer.status).toBe(401);
  expect(answer.body.detail).toContain('SVC_AGENT_SERVICE_TOKEN');
});

test('the OpenAPI document names every operation and every reference resolves', async () => {
  const { body } = await t.request('GET', '/api/openapi.json', { anonymous: true });
  const ids = Object.values(body['paths'] as Record<string, Record<string, { operationId: string }>>).flatMap((item) =>
    Object.values(item).map(({ operationId }) => operationId),
  );
  // What is handed on or streamed is no operation.
  const streams = [
    'audit.export',
    'deploy.logs',
    'changes.follow',
    'playground.send',
    'playground.end',
    'auth.oidc_start',
    'auth.oidc_callback',
  ];
  expect(ids.sort()).toEqual([...Object.keys(operations), ...streams].sort());
  for (const [reference] of JSON.stringify(body).matchAll(/#\/[\w/]+/g)) {
    let node: unknown = body;
    for (const step of reference.slice(2).split('/')) node = (node as Record<string, unknown>)[step];
    expect(node).toBeDefined();
  }
});

test('answers carry the headers that keep a browser safe', async () => {
  const { headers } = await t.send('health.get', {}, { anonymous: true });
  expect(headers.get('content-security-policy')).toContain("default-src 'self'");
  expect(headers.get('x-content-type-options')).toBe('nosniff');
  expect(headers.get('x-frame-options')).toBe('DENY');
  expect(headers.get('referrer-policy')).toBe('no-referrer');
});
