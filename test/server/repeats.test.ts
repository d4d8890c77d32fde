import { afterAll, beforeAll, expect, test } from 'bun:test';
import { Redis } from 'ioredis';
import { reachable, redisUrl, testDatabase } from '#test/support/databases.ts';
import { type ListeningServer, listeningServer } from '#test/support/server.ts';

let server: ListeningServer;
let cookie = '';
beforeAll(async () => {
  server = await listeningServer();
  cookie = await server.signIn();
});
afterAll(() => server.stop());

interface Made {
  readonly id: string;
  readonly token: string;
}

async function postWithKey(path: string, key: string | null, body: object, headers: Record<string, string> = { cookie }) {
  const answer = await fetch(`${server.url}/api/v1${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers, ...(key === null ? {} : { 'idempotency-key': key }) },
    body: JSON.stringify(body),
  });
  return { status: answer.status, body: (await answer.json()) as Made };
}
const countOf = async (path: string) => (await server.api('GET', path)).body['total'];

test('what is sent twice with the same key is made once, and answered alike, with its secret', async () => {
  const first = await postWithKey('/mcp-tokens', 'press-1', { name: 'laptop', all_toolsets: true });
  const second = await postWithKey('/mcp-tokens', 'press-1', { name: 'laptop', all_toolsets: true });
  expect(first).toMatchObject({ status: 201, body: { token: expect.stringMatching(/^svc_mcp_/) } });
  expect(second).toEqual(first);
  expect(await countOf('/mcp-tokens')).toBe(1);

  const both = await Promise.all(
    [1, 2, 3].map(() => postWithKey('/mcp-tokens', 'press-2', { name: 'at once', all_toolsets: true })),
  );
  expect(new Set(both.map(({ body }) => body.id)).size).toBe(1);
  expect(await countOf('/mcp-tokens')).toBe(2);
  expect(await countOf('/history?entity_type=mcp_token')).toBe(2);
});

test('another key, another input, another noun, another caller or no key makes another one', async () => {
  const before = Number(await countOf('/mcp-tokens'));
  const one = await postWithKey('/mcp-tokens', 'press-3', { name: 'one', all_toolsets: true });
  const others = [
    await postWithKey('/mcp-tokens', 'press-4', { name: 'one', all_toolsets: true }),
    await postWithKey('/mcp-tokens', 'press-3', { name: 'two', all_toolsets: true }),
    await postWithKey('/mcp-tokens', null, { name: 'one', all_toolsets: true }),
    await postWithKey('/mcp-tokens', null, { name: 'one', all_toolsets: true }),
  ];
  expect(new Set([one, ...others].map(({ body }) => body.id)).size).toBe(5);
  expect(await countOf('/mcp-tokens')).toBe(before + 5);
  const toolset = await postWithKey('/toolsets', 'press-3', { name: 'one' });
  expect(toolset.status).toBe(201);

  await server.call('config.update', { agent_enabled: true });
  const draft = { name: 'nightly', scopes: ['read', 'write'], duration_minutes: 60 };
  const [mine, theirs] = [await postWithKey('/agent-tokens', 'a', draft), await postWithKey('/agent-tokens', 'b', draft)];
  const by = ({ body }: { body: Made }, name: string) =>
    postWithKey('/toolsets', 'press-5', { name, enabled: false }, { authorization: `Bearer ${body.token}` });
  expect(await by(mine, 'nightly')).toMatchObject({ status: 201 });
  expect(await by(mine, 'nightly')).toMatchObject({ status: 201 });
  expect(await by(theirs, 'nightly')).toMatchObject({ status: 409 });
});

test('another proposal, or another reason for it, is another creation', async () => {
  await server.call('config.update', { agent_enabled: true });
  const draft = { name: 'proposing', scopes: ['propose'], duration_minutes: 60 };
  const { body } = await postWithKey('/agent-tokens', 'p', draft);
  const authorization = `Bearer ${body.token}`;
  const propose = async (key: string | null, name: string, headers: Record<string, string> = {}) => {
    const answer = await postWithKey('/toolsets', key, { name, enabled: false }, { authorization, ...headers });
    expect(answer.status).toBe(202);
    return String(Reflect.get(answer.body, 'proposal_id'));
  };
  const first = await propose('press-8', 'proposed', { 'x-proposal-id': 'new' });
  expect(await propose('press-8', 'proposed', { 'x-proposal-id': 'new' })).toBe(first);
  const why = { 'x-proposal-id': 'new', 'x-proposal-note': 'Another reason' };
  expect(await propose('press-8', 'proposed', why)).not.toBe(first);
  const gathering = await propose(null, 'begins');
  expect(await propose('press-8', 'proposed', { 'x-proposal-id': gathering })).toBe(gathering);
});

test('what was refused is tried again, and nobody without a session is answered', async () => {
  const taken = await postWithKey('/toolsets', 'press-6', { name: 'taken' });
  const refused = await postWithKey('/toolsets', 'press-7', { name: 'taken' });
  expect(refused.status).toBe(409);
  await server.call('toolsets.delete', { id: taken.body.id });
  expect((await postWithKey('/toolsets', 'press-7', { name: 'taken' })).status).toBe(201);
  expect((await postWithKey('/toolsets', 'press-7', { name: 'taken' }, {})).status).toBe(401);
});

/** A database of Redis that no other test uses. */
const REDIS = `${redisUrl}/10`;

test.skipIf(!reachable.postgres || !reachable.redis)('of several servers, too, one makes it, and all answer alike', async () => {
  const database = await testDatabase('postgresql');
  const redis = new Redis(REDIS);
  await redis.flushdb();
  const started = () => listeningServer(database.url, { SVC_KV: 'redis', SVC_REDIS_URL: REDIS });
  const [one, other] = [await started(), await started()];
  try {
    const own = await one.signIn();
    const send = async ({ url }: ListeningServer, key: string) => {
      const headers = { 'content-type': 'application/json', cookie: own, 'idempotency-key': key };
      const body = JSON.stringify({ name: key, all_toolsets: true });
      const answer = await fetch(`${url}/api/v1/mcp-tokens`, { method: 'POST', headers, body });
      return { status: answer.status, body: (await answer.json()) as Made };
    };
    for (const key of ['first', 'second', 'third']) {
      const answers = await Promise.all([send(one, key), send(other, key), send(one, key), send(other, key)]);
      expect(answers.map(({ status }) => status)).toEqual([201, 201, 201, 201]);
      expect(new Set(answers.map(({ body }) => body.token)).size).toBe(1);
    }
    expect((await one.call('mcp_tokens.list', {})).total).toBe(3);
  } finally {
    await Promise.all([one.stop(), other.stop()]);
    redis.disconnect();
    await database.drop();
  }
});
