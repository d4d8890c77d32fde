import { expect, test } from 'bun:test';
import { Redis } from 'ioredis';
import { reachable, redisUrl, testDatabase } from '#test/support/databases.ts';
import { listeningServer } from '#test/support/server.ts';

/** A database of Redis that no other test uses. */
const REDIS = `${redisUrl}/13`;

test.skipIf(!reachable.postgres || !reachable.redis)(
  'two servers on one PostgreSQL and one Redis share credentials, the rate and the activity',
  async () => {
    const database = await testDatabase('postgresql');
    const redis = new Redis(REDIS);
    await redis.flushdb();
    const { host, port, username, database: name } = database.settings;
    const url = `postgres://${username}@${host}:${port}/${name}`;
    const variables = { SVC_KV: 'redis', SVC_REDIS_URL: REDIS, SVC_AGENT_RATE_LIMIT: '4' };
    const one = await listeningServer(url, variables);
    const other = await listeningServer(url, variables);
    try {
      await one.signIn();
      await other.signIn();
      const { id, token } = await one.call('agent_tokens.create', { name: 'Both', duration_minutes: 15 });
      const get = async (base: string): Promise<number> =>
        (await fetch(`${base}/api/v1/connections`, { headers: { authorization: `Bearer ${token}` } })).status;
      const statuses = await Promise.all([one.url, other.url, one.url, other.url, one.url, other.url].map(get));
      expect([200, 429].map((status) => statuses.filter((given) => given === status).length)).toEqual([4, 2]);
      for (const server of [one, other]) {
        const page = await server.call('agent_activity.list', { success: false });
        expect(page).toMatchObject({
          total: 2,
          items: [{ token_name: 'Both', tool_name: 'list_connections', error: 'rate_limited' }, {}],
        });
      }
      await other.call('agent_tokens.delete', { id });
      expect(await get(one.url)).toBe(401);
    } finally {
      await one.stop();
      await other.stop();
      await redis.flushdb();
      redis.disconnect();
      await database.drop();
    }
  },
  60_000,
);
