import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import postgres from 'postgres';
import { configurationChecksum } from '#core/transfer/transfer-deletes.ts';
import { type TestApp, testApp } from '#test/support/app.ts';
import type { Reply } from '#test/support/calls.ts';
import { reachable, testDatabase, type TestDatabase } from '#test/support/databases.ts';

/** An import describes its statements before it writes: while another session holds the table, others have time to write. */
describe.skipIf(!reachable.postgres)('a change between the checks of an import and its transaction', () => {
  let t: TestApp;
  let database: TestDatabase;
  let locker: postgres.Sql;
  beforeEach(async () => {
    database = await testDatabase('postgresql');
    await database.run('create table orders (id integer)');
    locker = postgres(database.url, { max: 1 });
    t = await testApp();
    await t.signIn();
    const { host, port, username } = database.settings;
    const connection = { name: 'shop', db_type: 'postgresql', host, port, database: database.settings.database, username };
    const seeded = await t.send('transfer.import', {
      format: 'sluice/1',
      connections: [connection],
      tools: [{ connection: 'shop', name: 't1', description: 'Orders', sql_query: 'select id from orders' }],
      prompts: ['p1', 'p2', 'p3'].map(prompt),
    });
    expect(seeded.status).toBe(200);
  });
  afterEach(async () => {
    await t.close();
    await locker.end();
    await database.drop();
  });

  const prompt = (name: string) => ({ name, description: 'Greets', template: 'Hello' });
  const exported = () => t.call('transfer.export', {});
  const idOf = async (name: string) => (await t.call('prompts.list', { search: name })).items[0]?.id ?? '';

  /** An import that changes a tool, and what others do once it has begun. */
  async function importDuring(body: object, others: () => Promise<unknown>): Promise<Reply<'transfer.import'>> {
    const held = Promise.withResolvers<void>();
    const ready = Promise.withResolvers<void>();
    const holding = locker.begin(async (tx) => {
      await tx`lock table orders in access exclusive mode`;
      ready.resolve();
      await held.promise;
    });
    await ready.promise;
    const tools = [{ connection: 'shop', name: 't1', description: 'Orders', sql_query: 'select id as number from orders' }];
    const importing = t.send('transfer.import', {
      mode: 'overwrite',
      include_server_config: true,
      format: 'sluice/1',
      tools,
      ...body,
    });
    const waits = "select 1 from pg_locks where relation = 'orders'::regclass and not granted";
    while ((await database.run(waits)).length === 0) await Bun.sleep(5);
    await others().finally(held.resolve);
    await holding;
    return importing;
  }
  const change = async (name: string) => {
    const patched = await t.send('prompts.update', { id: await idOf(name), description: 'By Bob' });
    expect(patched.status).toBe(200);
  };

  test.each<[string, object, () => Promise<void>, object]>([
    [
      'a record that it deletes',
      { deletes: { prompts: ['p2'] } },
      () => change('p2'),
      { prompts: [{}, { description: 'By Bob' }, {}] },
    ],
    ['a record that it does not name', {}, () => change('p3'), { prompts: [{}, {}, { description: 'By Bob' }] }],
    [
      'a setting that it changes',
      { server_config: { instructions: 'From the folder' } },
      async () => {
        const patched = await t.send('config.update', { instructions: 'By Bob' });
        expect(patched.status).toBe(200);
      },
      { server_config: { instructions: 'By Bob' } },
    ],
    [
      'a record that is new',
      {},
      async () => {
        expect((await t.send('prompts.create', prompt('p4'))).status).toBe(201);
      },
      { prompts: [{}, {}, {}, { name: 'p4' }] },
    ],
  ])('is refused with 409 where the import names what it was made from: %s', async (_, body, others, left) => {
    const if_checksum = configurationChecksum(await exported());
    const answer = await importDuring({ ...body, if_checksum }, others);
    expect([answer.status, answer.body.detail]).toEqual([
      409,
      'The configuration has changed since it was read. Read it again and repeat your change.',
    ]);
    expect(await exported()).toMatchObject({ tools: [{ sql_query: 'select id from orders' }], ...left });
  });

  test('is never deleted with its record, without a checksum either', async () => {
    const changed = await importDuring({ deletes: { prompts: ['p2'] } }, () => change('p2'));
    expect([changed.status, changed.body.detail]).toEqual([
      422,
      'Nothing was imported. Prompt p2: Someone else changed this prompt; it is now at version 2. Read it again and repeat your change.',
    ]);
    expect((await exported()).prompts).toHaveLength(3);
    const deleted = await importDuring({ deletes: { prompts: ['p1'] } }, async () => {
      expect((await t.send('prompts.delete', { id: await idOf('p1') })).status).toBe(204);
    });
    expect([deleted.status, deleted.body.detail]).toEqual([
      422,
      'Nothing was imported. Prompt p1: Someone else deleted this prompt. Read the configuration again.',
    ]);
    expect(await exported()).toMatchObject({ tools: [{ sql_query: 'select id from orders' }], prompts: [{}, {}] });
  });
});
