import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from 'bun:test';
import { Redis } from 'ioredis';
import { createMemoryKv } from '#core/cluster/memory.ts';
import { namespaceOf } from '#core/cluster/redis-state.ts';
import { createRedisKv } from '#core/cluster/redis.ts';
import { createHttp } from '#server/http/http.ts';
import { type TestApp, testApp } from '#test/support/app.ts';
import { reachable, redisUrl } from '#test/support/databases.ts';
import { until } from '#test/support/until.ts';

const account = { username: 'ada', password: 'correct horse' };
const PROXY = { SVC_TRUSTED_PROXIES: '192.0.2.1' };
const from = (address: string) => ({ 'x-forwarded-for': address });

/** Passwords are slow to check, on purpose. */
setDefaultTimeout(60_000);

let t: TestApp;
beforeAll(async () => {
  t = await testApp(PROXY);
  await t.signIn();
});
afterAll(() => t.close());

const login = async (address: string, body: object = account) =>
  (await t.send('auth.login', body, { anonymous: true, headers: from(address) })).status;
const wrong = { ...account, password: 'wrong' };

describe('50 wrong passwords from elsewhere', () => {
  const KNOWN = '203.0.113.7';
  const session = async (current_password: string, body: object, address: string) =>
    (await t.send('auth.update_me', { current_password, ...body }, { headers: from(address) })).status;

  beforeAll(async () => {
    expect([await login(KNOWN), await login('2001:db8:1:2::7')]).toEqual([200, 200]);
    const attempts = Array.from({ length: 50 }, (_, n) => login(`198.51.100.${n % 10}`, wrong));
    expect(await Promise.all(attempts)).toEqual(Array.from({ length: 50 }, () => 401));
  });

  test('close the account to strangers', async () => {
    expect(await login('203.0.113.1')).toBe(429);
  });

  test('lock out no address that signed in before, which has its five attempts still', async () => {
    expect(await login(KNOWN)).toBe(200);
    const guesses = [];
    for (let n = 0; n < 6; n++) guesses.push(await login(KNOWN, wrong));
    expect(guesses).toEqual([401, 401, 401, 401, 401, 429]);
  });

  test('lock out no machine of an IPv6 network that signed in before', async () => {
    expect(await login('2001:db8:1:2:aaaa::1')).toBe(200);
    expect(await login('2001:db8:1:3::7')).toBe(429);
  });

  test('do not keep a live session from changing the account, wherever it is used', async () => {
    expect(await session('wrong', { username: 'eve' }, '203.0.113.9')).toBe(403);
    expect(await session(account.password, { password: 'a new password' }, '203.0.113.9')).toBe(200);
    expect(await session('a new password', { password: account.password }, '203.0.113.9')).toBe(200);
  });

  test('in a session close that session to guesses, from whatever addresses', async () => {
    const guesses = Array.from({ length: 51 }, (_, n) => session('wrong', { username: 'eve' }, `192.0.3.${n}`));
    const statuses = await Promise.all(guesses);
    expect(statuses.toSorted((a, b) => a - b)).toEqual([...Array.from({ length: 50 }, () => 403), 429]);
    t.advance(15 * 60_000 + 1);
    expect(await session(account.password, { username: account.username }, '203.0.113.9')).toBe(200);
  });
});

test('an IPv6 /64 is one address: its sixth failure waits, from whatever machine of it', async () => {
  const statuses = await Promise.all(Array.from({ length: 8 }, (_, n) => login(`2001:db8:1:2::${n + 1}`, wrong)));
  expect(statuses.filter((status) => status === 401)).toHaveLength(5);
  expect(await login('2001:db8:1:2:3::1')).toBe(429);
  expect(await login('2001:db8:1:3::1')).toBe(200);
});

test('attempts that are refused for one account leave the rest of the address its own', async () => {
  const OFFICE = '203.0.113.40';
  const statuses = [];
  for (let n = 0; n < 30; n++) statuses.push(await login(OFFICE, { username: 'locked', password: 'wrong' }));
  expect(statuses.filter((status) => status === 401)).toHaveLength(5);
  expect(await login(OFFICE, { username: 'colleague', password: 'wrong' })).toBe(401);
});

test.skipIf(!reachable.redis)('an address that has used up its attempts adds no counters, whatever names it tries', async () => {
  const space = crypto.randomUUID();
  const kv = createRedisKv({ url: redisUrl, space, fallback: createMemoryKv(), onChange: () => undefined });
  const redis = new Redis(redisUrl);
  const http = createHttp({ ...t.app, kv });
  const attempt = async (n: number) => {
    const request = new Request('http://localhost/api/v1/auth/login', {
      method: 'POST',
      headers: { host: 'localhost', 'content-type': 'application/json', ...from('203.0.113.5') },
      body: JSON.stringify({ username: `stranger ${n}`, password: 'wrong' }),
    });
    return (await http.fetch(request, { address: '192.0.2.1' })).status;
  };
  try {
    const stored = (name: string) => redis.keys(`${namespaceOf(space)}${name}`);
    const keys = () => stored('login:*');
    // Until its first connection a server counts in memory.
    await until(async () => {
      await kv.set('connected', '1');
      return (await stored('connected')).length === 1;
    });
    const statuses = await Promise.all(Array.from({ length: 60 }, (_, n) => attempt(n)));
    expect(statuses.filter((status) => status === 401)).toHaveLength(20);
    expect(await keys()).toHaveLength(1 + 20 + 20);
    await redis.del(...(await keys()));
  } finally {
    await kv.close();
    redis.disconnect();
  }
});
