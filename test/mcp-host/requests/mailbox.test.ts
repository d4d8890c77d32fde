import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { openRedisLimits, type RedisLimits } from '#core/cluster/redis-limits.ts';
import { createMailboxes } from '#mcp-host/requests/mailbox.ts';
import { reachable, redisUrl } from '#test/support/databases.ts';
import { until } from '#test/support/until.ts';

describe.skipIf(!reachable.redis)('places in Redis', () => {
  let redis: RedisLimits;
  beforeAll(async () => {
    redis = openRedisLimits(redisUrl, crypto.randomUUID(), () => undefined);
    await until(() => redis.up());
  });
  afterAll(() => redis.close());
  let looks = 0;
  const looked: RedisLimits['takeMessage'] = async (key) => {
    const text = await redis.takeMessage(key);
    looks += 1;
    return text;
  };
  const hosts = (keys = ['k'.repeat(32)]) =>
    createMailboxes({ ...redis, takeMessage: looked }, { look_ms: 5, lasts_ms: 60_000, keys });

  test('a text that another host leaves at a place is taken there', async () => {
    const taken: string[] = [];
    const end = hosts().expect('a', (text) => taken.push(text));
    await until(() => {
      hosts().hand('a', 'yes');
      return taken.includes('yes');
    });
    end();
  });

  test('a text that somebody else writes into Redis, or moves from another place, is taken nowhere', async () => {
    const [here, there]: string[][] = [[], []];
    const ends = [hosts().expect('here', (text) => here?.push(text)), hosts().expect('there', (text) => there?.push(text))];
    await until(() => {
      hosts().hand('there', 'yes');
      return there?.includes('yes') === true;
    });
    const sealed = await redis.takeMessage('there');
    expect(sealed).not.toContain('yes');
    for (const text of [JSON.stringify({ place: 'here', text: 'yes' }), 'yes', sealed]) {
      await redis.putMessage('here', text);
      expect(await redis.takeMessage('here')).toBe(text);
      // One may have been under way.
      const before = looks;
      await until(() => looks > before + 4);
    }
    hosts(['another key'.repeat(3)]).hand('here', 'yes');
    hosts().hand('here', 'mine');
    await until(() => here?.includes('mine') === true);
    expect(new Set(here)).toEqual(new Set(['mine']));
    for (const end of ends) end();
  });
});
