import { expect, test } from 'bun:test';
import { Redis } from 'ioredis';
import { reachable, redisUrl, testDatabase } from '#test/support/databases.ts';
import { pebble_is_here, startPebble } from '#test/support/pebble.ts';
import { freePort } from '#test/support/free-port.ts';
import { listeningServer } from '#test/support/server.ts';
import { httpsClient } from './client.ts';
import { until } from '#test/support/until.ts';

/** A database of Redis that no other test uses. */
const REDIS = `${redisUrl}/11`;
const NAME = 'ui.example.com';

test.skipIf(!pebble_is_here || !reachable.postgres || !reachable.redis)(
  'of two servers one orders, either answers the challenge, and both show every certificate',
  async () => {
    const opened: (() => Promise<unknown>)[] = [];
    const database = await testDatabase('postgresql');
    opened.push(() => database.drop());
    const redis = new Redis(REDIS);
    opened.push(async () => redis.disconnect());
    await redis.flushdb();
    try {
      const { host, port, username, database: name } = database.settings;
      const url = `postgres://${username}@${host}:${port}/${name}`;
      const front = freePort();
      // The authority knows the first server alone; the second one orders as well.
      const pebble = await startPebble(front);
      opened.push(() => pebble.stop());
      const variables = { SVC_KV: 'redis', SVC_REDIS_URL: REDIS, SVC_SSL_PORT: '0', SVC_ACME_DIRECTORY_URL: pebble.directory };
      const options = { certificates: { ask: pebble.ask } };
      const one = await listeningServer(url, { ...variables, SVC_PORT: String(front) }, options);
      opened.push(() => one.stop());
      const other = await listeningServer(url, variables, options);
      opened.push(() => other.stop());
      await one.signIn();
      await other.signIn();
      const root = await pebble.root();
      const clients = [one, other].map(({ server }) => httpsClient(server.httpsPort, () => root));
      const serials = () => Promise.all(clients.map(async (client) => (await client.shown(NAME)).serial));
      const told = (message: string) => [...one.lines, ...other.lines].filter((line) => line.message === message).length;
      const settings = { ssl_enabled: true, ui_domain: NAME, acme_email: 'ada@example.com' };
      expect((await other.send('config.update', settings)).status).toBe(200);
      let last = '';
      for (let orders = 1; orders <= 4; orders++) {
        const server = orders % 2 === 0 ? one : other;
        if (orders > 1) {
          const answer = await server.send('ssl.issue', { wait: true, force: true });
          expect(answer).toMatchObject({ status: 200, body: { last_error: null } });
        }
        await until(async () => {
          const [a, b] = await serials();
          return a === b && a !== last;
        });
        last = (await serials())[0] ?? '';
        expect([told('certificate ordered'), told('certificate issued')]).toEqual([orders, orders]);
      }
      expect(told('certificate not issued')).toBe(0);
    } finally {
      for (const close of opened.toReversed()) await close();
    }
  },
  180_000,
);
