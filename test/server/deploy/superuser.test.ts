import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { type TestApp, testApp } from '#test/support/app.ts';
import { reachable, testDatabase, type TestDatabase } from '#test/support/databases.ts';
import { paced } from '#test/support/paced.ts';

/** Roles are of the whole server, so they are named after this run. */
const run = crypto.randomUUID().slice(0, 8);
const chief = `keeper_${run}`;
const reader = `root_${run}`;

describe.skipIf(!reachable.postgres)('the mark of a superuser', () => {
  let t: TestApp;
  let database: TestDatabase;
  beforeAll(async () => {
    t = await testApp({ SVC_ALLOW_PRIVATE_NETWORKS: 'true' });
    await t.signIn();
    database = await testDatabase('postgresql');
    await database.run(`create role ${chief} superuser login`);
    await database.run(`create role ${reader} login`);
  });
  afterAll(async () => {
    await t.close();
    await database.run(`drop role ${chief}`);
    await database.run(`drop role ${reader}`);
    await database.drop();
  });

  const connect = async (name: string, username: string, port = database.settings.port) => {
    const { host, database: db } = database.settings;
    const body = { name, db_type: 'postgresql', host, port, database: db, username };
    const created = await t.send('connections.create', body);
    expect(created.status).toBe(201);
    await t.call('tools.create', {
      name: `of_${name}`,
      connection_id: created.body.id,
      description: 'x',
      sql_query: 'select 1 as one',
    });
  };
  const risks = async () => {
    const answer = await t.call('deploy.diff', {});
    const changes = answer.changes as { entity_type: string; name: string; risks: string[] }[];
    return Object.fromEntries(changes.filter((one) => one.entity_type === 'connection').map((one) => [one.name, one.risks]));
  };

  test('is what the database says, not what the account is called', async () => {
    await connect('by_right', chief);
    await connect('by_name', reader);
    expect(await risks()).toEqual({ by_right: ['superuser'], by_name: [] });
    await database.run(`alter role ${chief} nosuperuser`);
    expect((await risks())['by_right']).toEqual(['superuser']);
    const page = await t.call('connections.list', { search: 'by_right' });
    const [{ id }] = page.items as [(typeof page.items)[0]];
    await t.call('connections.update', { id, max_rows: 10 });
    expect((await risks())['by_right']).toEqual([]);
  });

  test('is missing, and the review is not late, when the database does not answer', async () => {
    await connect('gone', reader, 1);
    const began = performance.now();
    expect((await risks())['gone']).toEqual([]);
    expect(performance.now() - began).toBeLessThan(paced(4_000));
  });
});
