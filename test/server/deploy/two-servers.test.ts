import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { freeze } from '#snapshots/freeze/freeze.ts';
import { exclusively } from '#core/deploy/deploy-locks.ts';
import { readWorkingCopy } from '#core/versions/working-copy.ts';
import { type TestApp, testApp } from '#test/support/app.ts';
import { reachable, testDatabase, type TestDatabase } from '#test/support/databases.ts';
import { storedConfiguration } from '#test/support/configuration.ts';

describe.skipIf(!reachable.postgres)('two servers of one PostgreSQL database', () => {
  let database: TestDatabase;
  let servers: TestApp[];
  let connection_id: string;
  beforeAll(async () => {
    database = await testDatabase('postgresql');
    const first = await testApp({}, database.url);
    const folder = join(first.directory, 'databases');
    mkdirSync(folder);
    new Database(join(folder, 'shop.sqlite')).run('create table products (id integer primary key)');
    servers = [
      first,
      await testApp({ SVC_SQLITE_DIR: folder, SVC_JWT_SECRET: 'k'.repeat(16) + '0123456789abcdefg' }, database.url),
    ];
    await first.signIn();
    const connection = await first.call('connections.create', { name: 'shop', db_type: 'sqlite', database: 'shop.sqlite' });
    connection_id = connection.id;
    await servers[1]?.request('POST', '/api/v1/auth/login', { body: { username: 'ada', password: 'correct horse' } });
  });
  afterAll(async () => {
    for (const server of servers ?? []) await server.close();
    await database?.drop();
  });
  const on = (n: number): TestApp => servers[n % servers.length]!;
  const tool = (n: number) =>
    on(n).send('tools.create', { connection_id, name: `tool_${n}`, description: 'A tool', sql_query: `select ${n} as n` });
  const edit = (n: number) => on(n).send('connections.update', { id: connection_id, queue_limit: 10 + n });

  test('writers of a connection and of its tools never deadlock, and every change is seen', async () => {
    for (let round = 0; round < 5; round++) {
      const answers = await Promise.all(
        Array.from({ length: 12 }, (_, n) => (n % 3 === 0 ? edit(round * 12 + n) : tool(round * 12 + n))),
      );
      expect(answers.map(({ status, body }) => (status < 400 ? 'done' : body)).filter((one) => one !== 'done')).toEqual([]);
      for (const { app } of servers) {
        const { view } = await readWorkingCopy(app);
        const whole = await freeze(await storedConfiguration(app));
        expect(view.frozen().tree.text).toBe(whole.tree.text);
      }
    }
  }, 60_000);

  test('a deploy that one server does is known to the other until it ends', async () => {
    const states = async () => {
      const bodies = await Promise.all(servers.map((server) => server.send('deploy.status')));
      return bodies.map(({ body }) => body.status);
    };
    expect(await states()).toEqual(['stopped', 'stopped']);
    const begun = Promise.withResolvers<void>();
    const done = Promise.withResolvers<void>();
    const turn = exclusively(on(0).app, async () => {
      begun.resolve();
      await done.promise;
    });
    await begun.promise;
    expect(await states()).toEqual(['deploying', 'deploying']);
    expect((await on(1).call('server.health', {})).status).toBe('deploying');
    done.resolve();
    await turn;
    expect(await states()).toEqual(['stopped', 'stopped']);
  });

  test('a server waits for the deploy of another one, however long it has run', async () => {
    const begun = Promise.withResolvers<void>();
    const done = Promise.withResolvers<void>();
    const first = exclusively(on(0).app, async () => {
      begun.resolve();
      await done.promise;
    });
    await begun.promise;
    const { app } = on(1);
    // Less than this process has run.
    const second = exclusively({ ...app, waits: { ...app.waits, turn_ms: 1_500 } }, async () => 'its turn');
    await Bun.sleep(200);
    done.resolve();
    expect([await first, await second]).toEqual([undefined, 'its turn']);
  });
});
