import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { operations } from '#core/contract/index.ts';
import { fullPath } from '#core/contract/paths.ts';
import type { Operation } from '#core/contract/operation.ts';
import { isErrorBody, type TestApp, testApp } from '#test/support/app.ts';

const SCOPES = ['read', 'write', 'deploy'] as const;

let t: TestApp;
let tokens: Record<string, string>;
beforeAll(async () => {
  t = await testApp();
  await t.signIn();
  tokens = {};
  for (const scope of SCOPES) {
    const body = { name: scope, duration_minutes: 60, scopes: [scope] };
    tokens[scope] = String((await t.request('POST', '/api/v1/agent-tokens', { body })).body['token']);
  }
});
// Calls of a minute are counted.
beforeEach(() => t.advance(61_000));
afterAll(() => t.close());

const bearer = (token: string | undefined) => ({ authorization: `Bearer ${token}` });
/** A request that its operation refuses at the latest for the field that it does not know. */
const requestWith = (definition: Operation, headers: Record<string, string>, anonymous = true) => {
  const path = fullPath(definition.path).replaceAll(/\{\w+\}/g, '1');
  const with_body = definition.method === 'POST' || definition.method === 'PATCH';
  return t.request(definition.method, with_body ? path : `${path}?nonsense_field=1`, {
    anonymous,
    headers,
    ...(with_body ? { body: { nonsense_field: 1 } } : {}),
  });
};

const closed = (Object.entries(operations) as [string, Operation][]).filter(([, { access }]) => access !== 'public');

describe.each([...SCOPES])('a token with the scope %s alone', (scope) => {
  test('gets as far as the body where its scope reaches, and nowhere else', async () => {
    const before = (await t.request('GET', '/api/v1/history')).body['total'];
    for (const [index, [name, definition]] of closed.entries()) {
      if (index % 50 === 0) t.advance(61_000);
      const answer = await requestWith(definition, bearer(tokens[scope]));
      const expected = definition.access === scope ? 'reached' : 403;
      expect([name, [404, 422].includes(answer.status) ? 'reached' : answer.status]).toEqual([name, expected]);
      expect(isErrorBody(answer.body)).toBe(true);
    }
    expect((await t.request('GET', '/api/v1/history')).body['total']).toBe(before as number);
  });
});

test('a request that shows a token is judged by it, whatever cookie comes along', async () => {
  const tools = operations['tools.list'];
  for (const authorization of ['Bearer svc_nonsense', 'Bearer', 'Bearer  ', `Bearer ${tokens['read']} x`]) {
    expect([authorization, (await requestWith(tools, { authorization }, false)).status]).toEqual([authorization, 401]);
  }
  // Another scheme is for a proxy in front of us: with a cookie it changes nothing, without one it is nobody.
  for (const authorization of ['Basic YTpi', `Token ${tokens['read']}`]) {
    expect((await requestWith(tools, { authorization }, false)).status).toBe(422);
    expect((await requestWith(tools, { authorization }, true)).status).toBe(401);
  }
  // An administrator's cookie lends a token nothing.
  expect((await requestWith(operations['tools.create'], bearer(tokens['read']), false)).status).toBe(403);
  expect((await requestWith(operations['mcp_tokens.create'], bearer(tokens['write']), false)).status).toBe(403);
});

test('a token works in no other place than its header', async () => {
  const token = tokens['read'] ?? '';
  const places: readonly [string, Record<string, string>][] = [
    [`/api/v1/tools?access_token=${token}`, {}],
    ['/api/v1/tools', { cookie: `svc_session=${token}` }],
    ['/api/v1/tools', { 'x-service-token': token }],
    ['/api/v1/tools', { 'proxy-authorization': `Bearer ${token}` }],
  ];
  for (const [path, headers] of places) {
    const answer = await t.request('GET', path, { anonymous: true, headers });
    expect([answer.status, JSON.stringify(answer.body).includes(token)]).toEqual([401, false]);
  }
});

test('the service token of our own programs opens no endpoint of the API by itself', async () => {
  const headers = { 'x-service-token': t.app.env.SVC_AGENT_SERVICE_TOKEN };
  for (const [name, definition] of closed) expect([name, (await requestWith(definition, headers)).status]).toEqual([name, 401]);
});

test('a token that was revoked or has ended is nobody’s, at once', async () => {
  const make = async () =>
    (await t.request('POST', '/api/v1/agent-tokens', { body: { name: 'short', duration_minutes: 15 } })).body;
  const status = async (token: unknown) =>
    (await t.request('GET', '/api/v1/tools', { anonymous: true, headers: bearer(String(token)) })).status;
  const revoked = await make();
  expect(await status(revoked['token'])).toBe(200);
  expect((await t.request('DELETE', `/api/v1/agent-tokens/${String(revoked['id'])}`)).status).toBe(204);
  expect(await status(revoked['token'])).toBe(401);
  const ending = await make();
  t.advance(15 * 60_000 - 1_000);
  expect(await status(ending['token'])).toBe(200);
  t.advance(1_001);
  expect(await status(ending['token'])).toBe(401);
});
