import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { SHOP } from '#test/core/engines/clickhouse/fixture.ts';
import { type TestApp, testApp } from '#test/support/app.ts';
import { type ClickhouseServer, hasClickhouse, startClickhouse } from '#test/support/clickhouse-server.ts';

let t: TestApp;
let server: ClickhouseServer;

const clickhouseSettings = () => ({
  db_type: 'clickhouse',
  host: '127.0.0.1',
  port: server.port,
  database: 'shop',
  ssl_mode: 'disable',
});

describe.skipIf(!hasClickhouse)('a connection to ClickHouse', () => {
  let id: string;

  beforeAll(async () => {
    server = await startClickhouse();
    for (const statement of SHOP) await server.run(statement);
    t = await testApp();
    await t.signIn();
    const created = await t.send('connections.create', { name: 'events', ...clickhouseSettings() });
    expect(created.status).toBe(201);
    id = created.body.id;
  }, 60_000);
  afterAll(async () => {
    await t.close();
    await server.stop();
  });

  test('is described with the versions that were met, and tested', async () => {
    const answer = await t.call('connections.types', {});
    const types = answer.items as {
      db_type: string;
      label: string;
      extra_fields: { name: string }[];
      session_values: boolean;
    }[];
    const type = types.find(({ db_type }) => db_type === 'clickhouse');
    expect(type).toMatchObject({ note: expect.stringMatching(/18\.16.*26\.7/) as string, session_values: false });
    expect(type?.extra_fields.map(({ name }) => name)).toEqual(['max_threads', 'max_memory_usage']);
    expect(await t.call('connections.test', { id })).toMatchObject({
      success: true,
      server_version: 'ClickHouse 18.16.1',
    });
    const loose = await t.send('connections.test_draft', {
      name: 'x',
      ...clickhouseSettings(),
      username: 'loose',
      password: 'loose',
    });
    expect(loose.body).toMatchObject({ success: false, message: expect.stringContaining('readonly = 2') as string });
  });

  test('is refused with what cannot have an effect', async () => {
    for (const [more, detail] of [
      [{ extra_params: { max_threads: 'many' } }, 'extra_params.max_threads must be a whole number'],
      [{ extra_params: { readonly: '0' } }, 'readonly'],
      [{ database: 'system' }, 'shows other callers'],
    ] as const) {
      const { status, body } = await t.send('connections.create', { name: 'other', ...clickhouseSettings(), ...more });
      expect([status, body.detail]).toEqual([422, expect.stringContaining(detail) as string]);
    }
  });

  test('serves a tool that reads, and refuses in words one that would do more', async () => {
    const tool = (name: string, sql_query: string, more: object = {}) =>
      t.send('tools.create', { name, description: 'Items', return_type: 'rows', connection_id: id, sql_query, ...more });
    const made = await tool('list_items', 'select id, name, big from item order by id');
    expect([made.status, made.body.detail]).toEqual([201, undefined]);
    const shown = await t.call('preview.execute', { connection_id: id, sql_query: 'select id, name, big from item order by id' });
    expect(JSON.stringify(shown)).toContain('9007199254740993');
    for (const [name, text, detail] of [
      ['kill', 'KILL QUERY WHERE 1', 'Settings of the session and of the server'],
      ['file', "select * from file('/etc/passwd', LineAsString)", 'not allowed in a tool'],
      ['others', 'select * from system.processes', 'not allowed in a tool'],
      ['form', 'select 1 format CSV', 'FORMAT is not allowed'],
      ['write', 'insert into victim values (2)', 'read-only'],
    ] as const) {
      const { status, body } = await tool(name, text);
      expect([name, status, JSON.stringify(body)]).toEqual([name, 422, expect.stringContaining(detail) as string]);
    }
    const schema = await t.call('schema.tables', { connection_id: id });
    expect(JSON.stringify(schema)).toContain('victim');
  });
});
