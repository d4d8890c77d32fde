import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { Redis } from 'ioredis';
import type { Kv } from '#core/cluster/kv.ts';
import { createMemoryKv } from '#core/cluster/memory.ts';
import { createRedisKv } from '#core/cluster/redis.ts';
import { openRedisLimits, type RedisLimits } from '#core/cluster/redis-limits.ts';
import { createHttp } from '#server/http/http.ts';
import { testApp } from '#test/support/app.ts';
import { reachable, redisUrl } from '#test/support/databases.ts';
import { openTcpProxy } from '#test/support/tcp-proxy.ts';
import { until } from '#test/support/until.ts';

const WINDOW_MS = 60_000;

describe.skipIf(!reachable.redis)('Redis', () => {
  const ends: (() => unknown)[] = [];
  let admin: Redis;
  beforeAll(() => {
    admin = new Redis(redisUrl);
  });
  // Tests run at the same time: each has a space of its own.
  afterAll(async () => {
    for (const end of ends.splice(0).toReversed()) await end();
    admin.disconnect();
  });

  const open = (space: string, url = redisUrl): Kv & { readonly changes: string[] } => {
    const changes: string[] = [];
    const onChange = (up: boolean, reason: string) => void changes.push(up ? 'up' : `down: ${reason}`);
    const kv = createRedisKv({ url, space, fallback: createMemoryKv(), onChange });
    ends.push(() => kv.close());
    return { ...kv, changes };
  };
  const share = (space: string, url = redisUrl): RedisLimits & { readonly changes: string[] } => {
    const changes: string[] = [];
    const limits = openRedisLimits(url, space, (up, reason) => void changes.push(up ? 'up' : `down: ${reason}`));
    ends.push(() => limits.close());
    return { ...limits, changes };
  };
  /** A user of this Redis that may do all but what is taken away. */
  const restricted = async (...taken: string[]): Promise<{ readonly url: string; readonly give: () => Promise<unknown> }> => {
    const name = `sluice-test-${crypto.randomUUID()}`;
    await admin.call('ACL', 'SETUSER', name, 'on', '>secret', '~*', '&*', '+@all', ...taken);
    ends.push(() => admin.call('ACL', 'DELUSER', name));
    const url = new URL(redisUrl);
    url.username = name;
    url.password = 'secret';
    return { url: url.href, give: () => admin.call('ACL', 'SETUSER', name, '~*', '&*', '+@all') };
  };

  test('keeps the counters, values and messages of two installations apart, and shares those of one', async () => {
    const [one, other] = [crypto.randomUUID(), crypto.randomUUID()];
    const [first, second, stranger] = [open(one), open(one), open(other)];
    const heard: string[] = [];
    for (const [name, kv] of Object.entries({ second, stranger })) {
      await kv.subscribe('news', (message) => void heard.push(`${name}: ${message}`));
    }
    await until(() => first.changes.includes('up') && second.changes.includes('up') && stranger.changes.includes('up'));
    expect((await first.increment('login:account:ada', WINDOW_MS)).count).toBe(1);
    expect((await second.increment('login:account:ada', WINDOW_MS)).count).toBe(2);
    expect((await stranger.increment('login:account:ada', WINDOW_MS)).count).toBe(1);
    await first.set('answer', 'mine', WINDOW_MS);
    expect([await second.get('answer'), await stranger.get('answer')]).toEqual(['mine', null]);
    await until(async () => {
      await first.publish('news', 'hello');
      return heard.length > 0;
    });
    await Bun.sleep(100);
    expect(new Set(heard)).toEqual(new Set(['second: hello']));
    const [limits, others] = [share(one), share(other)];
    await until(() => limits.up() && others.up());
    expect((await limits.permits('tool', 3, 3, WINDOW_MS)).granted).toBe(3);
    expect((await others.permits('tool', 3, 3, WINDOW_MS)).granted).toBe(3);
  });

  test('takes nothing back of a window that has ended', async () => {
    const kv = open(crypto.randomUUID());
    expect((await kv.increment('key', WINDOW_MS, -1)).count).toBe(0);
    expect((await kv.increment('key', WINDOW_MS)).count).toBe(1);
    expect((await kv.increment('key', WINDOW_MS, -1)).count).toBe(0);
  });

  test.concurrent.each([
    ['scripts', ['-eval', '-evalsha']],
    ['writes', ['-@write']],
    ['channels', ['resetchannels']],
  ])(
    'that answers PING and refuses %s is away until it allows them, without a flap',
    async (_, taken) => {
      const { url, give } = await restricted(...taken);
      const kv = open(crypto.randomUUID(), url);
      await kv.subscribe('news', () => undefined);
      await until(() => kv.changes.length > 0);
      for (let n = 1; n <= 8; n++) {
        await kv.increment('key', WINDOW_MS);
        await Bun.sleep(500);
      }
      expect(kv.up()).toBe(false);
      expect(kv.changes).toEqual([expect.stringMatching(/^down: (NOPERM|ERR .* can't run this command)/)]);
      expect((await kv.increment('key', WINDOW_MS)).count).toBe(9);
      await give();
      await until(() => kv.up());
      expect((await kv.increment('key', WINDOW_MS)).count).toBe(1);
    },
    60_000,
  );

  test.concurrent('that is lost during a probe is not reported as back', async () => {
    const { hostname, port, pathname } = new URL(redisUrl);
    let losing = false;
    // A channel is never confirmed, so a probe has its answers and still waits when the connections end.
    const proxy = await openTcpProxy(
      { host: hostname, port: Number(port) },
      {
        toServer: (bytes) => {
          if (losing && bytes.includes('probe')) setTimeout(() => void proxy.close(), 100);
          return bytes.includes('subscribe') ? Buffer.alloc(0) : bytes;
        },
      },
    );
    const kv = open(crypto.randomUUID(), `redis://127.0.0.1:${proxy.port}${pathname}`);
    await until(() => kv.changes.includes('up'));
    losing = true;
    await kv.subscribe('news', () => undefined);
    await until(() => kv.changes.length > 1);
    await Bun.sleep(300);
    expect(kv.changes).toEqual(['up', expect.stringContaining('down: ')]);
    expect(kv.up()).toBe(false);
  });

  test.concurrent('that refuses scripts leaves each host its own limits, without a flap', async () => {
    const { url, give } = await restricted('-eval', '-evalsha');
    const limits = share(crypto.randomUUID(), url);
    await until(() => limits.changes.length > 0);
    await Bun.sleep(3_500);
    expect(limits.changes).toEqual([expect.stringContaining('NOPERM')]);
    await give();
    await until(() => limits.up());
  }, 60_000);

  test.concurrent('that refuses scripts degrades the server, and heals', async () => {
    const { url, give } = await restricted('-eval', '-evalsha');
    const t = await testApp();
    ends.push(() => t.close());
    const http = createHttp({ ...t.app, kv: open(crypto.randomUUID(), url) });
    const headers = { 'x-service-token': t.app.env.SVC_AGENT_SERVICE_TOKEN, host: 'localhost' };
    const reasons = async () =>
      (await http.fetch(new Request('http://localhost/readyz', { headers }), { address: '192.0.2.1' })).text();
    await until(async () => (await reasons()).includes('refuses to run scripts'));
    for (let n = 0; n < 4; n++) {
      await Bun.sleep(1_000);
      expect(await reasons()).toContain('refuses to run scripts');
    }
    await give();
    await until(async () => !(await reasons()).includes('Redis'));
  }, 60_000);
});
