import { localPolicy } from '#test/support/databases.ts';
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { Client as ModernClient, StreamableHTTPClientTransport as ModernTransport } from '@modelcontextprotocol/client';
import { Client as LegacyClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as LegacyTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { Database } from 'bun:sqlite';
import { openSource } from '#core/engines/index.ts';
import { connection, parameterOf, promptOf, resourceOf, snapshotOf, toolOf } from './support.ts';
import { useHost } from './use-host.ts';
import { until } from '#test/support/until.ts';

const { folder, control, host } = useHost('all');
const columns = [
  { name: 'id', type: 'INTEGER', kind: 'bigint' as const },
  { name: 'name', type: 'TEXT', kind: 'string' as const },
];
/** Columns of SQLite that hold what their declared types do not promise. */
const ODD = 'select price, ratio, flag, wide from odd order by id';
const ODD_ROWS = [
  { price: '', ratio: 'free', flag: 2, wide: '9007199254740993' },
  { price: 1.5, ratio: 2, flag: true, wide: 1 },
  { price: null, ratio: 'AQ==', flag: 'maybe', wide: 'x' },
];
const odd_columns = await describeOdd();

async function describeOdd() {
  const db = new Database(folder.file);
  db.run('create table odd (id integer primary key, price decimal(10,2), ratio real, flag boolean, wide numeric)');
  db.run(`insert into odd values (1, '', 'free', 2, 9007199254740993), (2, 1.5, 2, 1, 1), (3, null, x'01', 'maybe', 'x')`);
  db.close();
  const source = await openSource(
    { ...connection, password: null, ssl_key: null, ssh: null },
    { ...localPolicy, sqlite_dir: folder.directory },
  );
  const { columns } = await source.describe(ODD, []);
  await source.close();
  return [...columns];
}

const content = {
  connections: [connection],
  tools: [
    toolOf(connection, 'customers', 'select id, name from customers where id >= :from order by id', {
      columns,
      parameters: [parameterOf('from', 'integer', { minimum: 1 })],
    }),
    toolOf(connection, 'as_csv', 'select id, name from customers order by id', { return_type: 'csv' }),
    toolOf(connection, 'greeting', 'select name from customers where id = 1', {
      transform_template: '{{ vars.hello }}, {{ rows[0].name }}!',
    }),
    toolOf(connection, 'odd', ODD, { columns: odd_columns }),
    toolOf(connection, 'broken', 'select 1 from nowhere'),
  ],
  resources: [
    resourceOf(connection, 'db://customers', 'select id, name from customers order by id', { name: 'all' }),
    resourceOf(connection, 'db://customers/{id}', 'select name from customers where id = :id', {
      name: 'one',
      mime_type: 'text/plain',
      parameters: [parameterOf('id', 'string')],
    }),
    resourceOf(connection, 'db://café', 'select 1 as open', { name: 'café' }),
    resourceOf(connection, 'db://café/{guest}', 'select :guest as guest', {
      name: 'guest',
      mime_type: 'text/plain',
      parameters: [parameterOf('guest', 'string', { enum: ["O'Brien (née Doe)", 'Zoë'] })],
    }),
  ],
  prompts: [
    promptOf('ask', 'Ask about {{ topic }}, {{ vars.hello }}.{{ tone }}', [
      { name: 'topic', required: true, enum: ['sales', 'stock'] },
      { name: 'tone', required: false, enum: ['kind'] },
    ]),
  ],
  server: { global_variables: { hello: 'Hello' } },
};

beforeAll(async () => {
  const ack = await control.deploy(snapshotOf(1, content));
  expect(ack).toMatchObject({ version: 1, error: null });
});

interface AnyClient {
  listTools(): Promise<{ tools: { name: string; outputSchema?: unknown }[] }>;
  callTool(params: { name: string; arguments?: Record<string, unknown> }): Promise<Record<string, unknown>>;
  listResources(): Promise<{ resources: { uri: string }[] }>;
  listResourceTemplates(): Promise<{ resourceTemplates: { uriTemplate: string }[] }>;
  readResource(params: { uri: string }): Promise<{ contents: Record<string, unknown>[] }>;
  listPrompts(): Promise<{ prompts: { name: string }[] }>;
  getPrompt(params: { name: string; arguments?: Record<string, string> }): Promise<{ messages: unknown[] }>;
  complete(params: object): Promise<{ completion: { values: string[] } }>;
  close(): Promise<void>;
}
const ERAS: [string, () => Promise<AnyClient>][] = [
  [
    'the v2 client in the stateless revision',
    async () => {
      const client = new ModernClient({ name: 'modern', version: '1' }, { versionNegotiation: { mode: { pin: '2026-07-28' } } });
      await client.connect(new ModernTransport(host.mcp));
      return client;
    },
  ],
  [
    'the v2 client with an initialize handshake',
    async () => {
      const client = new ModernClient({ name: 'modern', version: '1' });
      await client.connect(new ModernTransport(host.mcp));
      return client;
    },
  ],
  [
    'the v1 client',
    async () => {
      const client = new LegacyClient({ name: 'legacy', version: '1' });
      await client.connect(new LegacyTransport(host.mcp));
      return client;
    },
  ],
];

describe.each(ERAS)('%s', (_, connect) => {
  let client: AnyClient;
  beforeAll(async () => {
    client = await connect();
  });
  afterAll(() => client.close());

  test('lists tools in their order with their schemas', async () => {
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(['as_csv', 'broken', 'customers', 'greeting', 'odd']);
    expect(tools.find(({ name }) => name === 'customers') as unknown).toEqual({
      ...content.tools[0]?.listing,
      _meta: { 'anthropic/maxResultSizeChars': 500_000 },
    });
  });

  test('calls a tool and gets the rows both as structured content and as text', async () => {
    const result = await client.callTool({ name: 'customers', arguments: { from: 2 } });
    const expected = {
      rows: [
        { id: 2, name: 'Grace' },
        { id: 3, name: 'Edsger' },
      ],
      row_count: 2,
      truncated: false,
    };
    expect(result['structuredContent']).toEqual(expected);
    expect(result['content']).toEqual([{ type: 'text', text: JSON.stringify(expected) }]);
    expect(result['isError']).toBeUndefined();
  });

  test('accepts values of SQLite that are not of their declared type', async () => {
    await client.listTools();
    const result = await client.callTool({ name: 'odd' });
    expect(result['structuredContent']).toEqual({ rows: ODD_ROWS, row_count: 3, truncated: false });
  });

  test('gets text results and the output of a template', async () => {
    expect((await client.callTool({ name: 'as_csv' }))['content']).toEqual([
      { type: 'text', text: 'id,name\r\n1,Ada\r\n2,Grace\r\n3,Edsger\r\n' },
    ]);
    expect((await client.callTool({ name: 'greeting' }))['content']).toEqual([{ type: 'text', text: 'Hello, Ada!' }]);
  });

  test('reads what went wrong in a result it can act on', async () => {
    const bad = await client.callTool({ name: 'customers', arguments: { from: 0, to: 9 } });
    expect(bad['isError']).toBe(true);
    expect(JSON.stringify(bad['content'])).toContain('from');
    const broken = await client.callTool({ name: 'broken' });
    expect(broken['isError']).toBe(true);
    expect(JSON.stringify(broken['content'])).toContain('nowhere');
    expect(JSON.stringify(broken['content'])).not.toContain(folder.directory);
  });

  test('is told that a tool is unknown as a protocol error', async () => {
    const error = await client.callTool({ name: 'missing' }).catch((error: unknown) => error);
    expect(error).toMatchObject({ code: -32_602 });
  });

  test('lists and reads resources', async () => {
    expect((await client.listResources()).resources.map(({ uri }) => uri)).toEqual(['db://customers', 'db://café']);
    expect((await client.listResourceTemplates()).resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toEqual([
      'db://café/{guest}',
      'db://customers/{id}',
    ]);
    const [all] = (await client.readResource({ uri: 'db://customers' })).contents;
    expect(all).toMatchObject({ uri: 'db://customers', mimeType: 'application/json' });
    expect(JSON.parse(String(all?.['text']))).toHaveLength(3);
    const [one] = (await client.readResource({ uri: 'db://customers/2' })).contents;
    expect(one).toEqual({ uri: 'db://customers/2', mimeType: 'text/plain', text: 'Grace' });
    for (const uri of ['db://café', 'db://caf%C3%A9', 'DB://caf%c3%a9'])
      expect((await client.readResource({ uri })).contents).toMatchObject([{ uri, text: '[{"open":1}]' }]);
    const guest = "O'Brien (née Doe)";
    const by_every_encoder = [guest, encodeURIComponent(guest), encodeURI(guest), guest.replace('é', '%c3%a9')];
    for (const encoded of by_every_encoder) {
      const uri = `db://café/${encoded}`;
      expect((await client.readResource({ uri })).contents).toEqual([{ uri, mimeType: 'text/plain', text: guest }]);
    }
    for (const uri of ['db://café/{guest}', 'db://caf%C3%A9/%7Bguest%7D']) {
      const { completion } = await client.complete({
        ref: { type: 'ref/resource', uri },
        argument: { name: 'guest', value: 'z' },
      });
      expect(completion.values).toEqual(['Zoë']);
    }
    expect(await client.readResource({ uri: 'db://nothing' }).catch((error: unknown) => error)).toBeInstanceOf(Error);
  });

  test('lists and gets prompts, and completes their arguments', async () => {
    expect((await client.listPrompts()).prompts.map(({ name }) => name)).toEqual(['ask']);
    const { messages } = await client.getPrompt({ name: 'ask', arguments: { topic: 'sales', tone: '' } });
    expect(messages).toEqual([{ role: 'user', content: { type: 'text', text: 'Ask about sales, Hello.' } }]);
    expect(await client.getPrompt({ name: 'ask', arguments: { topic: 'x' } }).catch((error: unknown) => error)).toMatchObject({
      code: -32_602,
    });
    const { completion } = await client.complete({
      ref: { type: 'ref/prompt', name: 'ask' },
      argument: { name: 'topic', value: 'st' },
    });
    expect(completion.values).toEqual(['stock']);
  });
});

test('every call is told to the server with its timing and its client', async () => {
  const items = await until(() => {
    const all = control.usage.flatMap((batch) => batch.items);
    return all.some(({ kind }) => kind === 'prompt') && all.length >= 44 ? all : null;
  });
  expect(items).toContainEqual(
    expect.objectContaining({
      kind: 'tool',
      name: 'customers',
      connection_id: connection.id,
      rows: 2,
      success: true,
      snapshot_version: 1,
      client: 'legacy/1',
    }),
  );
  expect(items).toContainEqual(
    expect.objectContaining({ name: 'broken', success: false, error: 'sql_error', client: 'modern/1' }),
  );
  expect(control.usage.map(({ seq }) => seq)).toEqual(control.usage.map((_, n) => n + 1));
});
