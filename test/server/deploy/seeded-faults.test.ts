import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Database } from 'bun:sqlite';
import { afterEach, beforeEach, expect, test } from 'bun:test';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { watchCanary } from '#core/deploy/candidates/canary.ts';
import { createHttp } from '#server/http/http.ts';
import { rpc, type TestHost, testHost } from '#test/mcp-host/support.ts';
import { type TestApp, testApp } from '#test/support/app.ts';
import { freePort } from '#test/support/free-port.ts';
import { until } from '#test/support/until.ts';

/** Faults that somebody deploys: the gate that should catch each does, and without it the fault reaches an official client. */
let t: TestApp;
let host: TestHost;
let control: Bun.Server<undefined>;
let client: Client;
let db: Database;
const paths: Record<string, string> = {};

beforeEach(async () => {
  t = await testApp({ SVC_FASTMCP_PORT: String(freePort()) });
  await t.signIn();
  mkdirSync(join(t.directory, 'databases'));
  db = new Database(join(t.directory, 'databases/shop.sqlite'), { create: true });
  db.run('create table orders (id integer primary key, customer text, total integer)');
  db.run("insert into orders values (1, 'ada', 10), (2, 'bob', 20)");
  const http = createHttp(t.app);
  control = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 0,
    fetch: (request) => http.fetch(request, { address: '127.0.0.1' }),
  });
  host = await testHost(join(t.directory, 'databases'), `http://127.0.0.1:${control.port}`, {
    service_token: t.app.env.SVC_AGENT_SERVICE_TOKEN,
  });
  const connection = await t.call('connections.create', { name: 'shop', db_type: 'sqlite', database: 'shop.sqlite' });
  const of = { connection_id: connection.id };
  const description = (what: string) => `${what} Totals are in euros, without tax.`;
  for (const tool of [
    {
      name: 'orders_of',
      description: description('Orders of one customer, in the order of their numbers.'),
      sql_query: 'select id, total from orders where customer = :customer order by id',
      parameters: [{ name: 'customer', type: 'string', description: 'Name of the customer', examples: ['ada'] }],
    },
    { name: 'ledger', description: 'All orders of the shop.', sql_query: 'select * from orders order by id' },
  ]) {
    const { body, status } = await t.send('tools.create', { ...of, ...tool });
    expect(status).toBe(201);
    paths[tool.name] = `/api/v1/tools/${body.id}`;
  }
  await until(() => t.app.hosts.list().length > 0);
  expect((await t.send('deploy.run')).status).toBe(200);
  client = new Client({ name: 'test', version: '1.0.0' });
  await client.connect(new StreamableHTTPClientTransport(new URL(host.mcp)));
});
afterEach(async () => {
  await client.close();
  await host.stop();
  await control.stop(true);
  db.close();
  await t.close();
});
const edit = async (name: string, body: object) =>
  expect((await t.request('PATCH', paths[name] ?? '', { body })).status).toBe(200);
const mode = (gate: string, to: string) => t.send('config.update', { deploy_gates: { [gate]: to } });
const callHost = async (name: string, args: Record<string, unknown> = {}) => {
  const { isError, structuredContent, content } = await client.callTool({ name, arguments: args });
  const [first] = content as { text?: string }[];
  return isError === true ? (first?.text ?? '') : (structuredContent as { rows: Record<string, unknown>[] }).rows[0];
};

/** A deploy that the gate blocks leaves what a client sees as it was; without the gate it changes. */
async function caught(gate: string, seen: () => Promise<unknown>, before: unknown, after: unknown): Promise<void> {
  await mode(gate, 'block');
  const { status, body } = await t.send('deploy.run');
  expect([status, body.code]).toEqual([422, 'gate_failed']);
  expect((body.errors as { gate: string }[]).every((error) => error.gate === gate)).toBe(true);
  expect(await seen()).toEqual(before);
  await mode(gate, 'off');
  expect((await t.send('deploy.run')).status).toBe(200);
  expect(await seen()).toEqual(after);
}

test('a removed column', async () => {
  await edit('orders_of', { sql_query: 'select id from orders where customer = :customer order by id' });
  await caught('breaking', () => callHost('orders_of', { customer: 'ada' }), { id: 1, total: 10 }, { id: 1 });
});

test('a renamed parameter', async () => {
  await edit('orders_of', {
    sql_query: 'select id, total from orders where customer = :name order by id',
    parameters: [{ name: 'name', type: 'string', description: 'Name of the customer', examples: ['ada'] }],
  });
  const refusal = expect.stringContaining('name') as unknown;
  await caught('breaking', () => callHost('orders_of', { customer: 'ada' }), { id: 1, total: 10 }, refusal);
});

test('a description that copies another tool’s', async () => {
  const described = async () => new Set((await client.listTools()).tools.map(({ description }) => description)).size;
  const { body } = await t.request('GET', paths['orders_of'] ?? '');
  await edit('ledger', { description: body['description'], sql_query: 'select id, customer, total from orders order by id' });
  await caught('lint', described, 2, 1);
});

test('a drifted table', async () => {
  db.run('alter table orders rename column customer to buyer');
  // The running statements feel it at once: the check names them.
  const answer = await t.call('drift.check', {});
  const items = answer.items as { name: string; differences: string[] }[];
  expect(Object.fromEntries(items.map(({ name, differences }) => [name, differences]))).toEqual({
    ledger: ['The column customer is gone.', 'The column buyer is new.'],
    orders_of: [expect.stringContaining('The database refuses the statement') as never],
  });
  expect(await callHost('ledger')).toEqual({ id: 1, buyer: 'ada', total: 10 });
  // A deploy would make it what clients are told.
  await edit('orders_of', { enabled: false });
  await mode('breaking', 'off');
  const told = async () => {
    const ledger = (await client.listTools()).tools.find(({ name }) => name === 'ledger');
    return JSON.stringify(ledger?.outputSchema).includes('customer');
  };
  await caught('drift', told, true, false);
});

const testOf = async (name: string, args: object, equals: unknown) => {
  const owner = { kind: 'tool', id: paths[name]?.replace('/api/v1/tools/', '') };
  const body = { owner, name: `${name} as today`, arguments: args, expect: { equals } };
  expect((await t.send('tests.create', body)).status).toBe(201);
};

test('wrong rows', async () => {
  await testOf('orders_of', { customer: 'ada' }, [{ id: 1, total: 10 }]);
  await edit('orders_of', { sql_query: 'select id, total from orders where customer <> :customer order by id' });
  await caught('tests', () => callHost('orders_of', { customer: 'ada' }), { id: 1, total: 10 }, { id: 2, total: 20 });
});

test('a write that changes too much', async () => {
  const { body } = await t.request('GET', paths['ledger'] ?? '');
  await t.call('connections.update', { id: String(body['connection_id']), read_only: false });
  const parameters = [{ name: 'id', type: 'integer', description: 'Number of the order', examples: [1] }];
  const made = await t.send('tools.create', {
    connection_id: body['connection_id'],
    name: 'cancel_order',
    description: 'Sets the total of one order to zero. Returns its number.',
    sql_query: 'update orders set total = 0 where id = :id returning id',
    parameters,
    read_only: false,
  });
  expect(made.status).toBe(201);
  paths['cancel_order'] = `/api/v1/tools/${made.body.id}`;
  await testOf('cancel_order', { id: 1 }, [{ id: 1 }]);
  expect((await t.send('deploy.run')).status).toBe(200);
  const totals = () =>
    db
      .query<{ total: number }, []>('select total from orders order by id')
      .all()
      .map(({ total }) => total);
  // The test of the deploy was rolled back.
  expect(totals()).toEqual([10, 20]);
  await edit('cancel_order', { sql_query: 'update orders set total = 0 where id >= :id returning id' });
  const cancelled = async () => {
    await callHost('cancel_order', { id: 1 });
    return totals();
  };
  await caught('tests', cancelled, [0, 20], [0, 0]);
});

test('a slower statement', async () => {
  const slow = 'with recursive n(i) as (select 1 union all select i + 1 from n where i < 300000) select max(i) as id from n';
  await edit('ledger', { sql_query: slow });
  await mode('breaking', 'off');
  const canary = { percent: 50, minutes: 10, min_calls: 5, max_p95_ratio: 3 };
  expect((await t.send('deploy.run', { canary })).status).toBe(200);
  // Callers of all kinds call, each on its side.
  const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'x', version: '1' } };
  const met = async (): Promise<number> => {
    const opened = await rpc(host.mcp, { id: 1, method: 'initialize', params });
    const headers = { 'mcp-session-id': opened.headers.get('mcp-session-id') ?? '' };
    const message = { id: 2, method: 'tools/call', params: { name: 'ledger', arguments: {} } };
    const { body } = await rpc(host.mcp, message, headers);
    return (body.result as { structuredContent: { rows: { id: number }[] } }).structuredContent.rows.length;
  };
  const sides: number[] = [];
  while ([1, 2].some((rows) => sides.filter((one) => one === rows).length < 8)) sides.push(await met());
  const running = async () => (await t.call('deploy.status', {})).canary as { status: string; reason: string };
  // On a busy machine a call of the live side is slow too, now and then: more calls outweigh it.
  for (let more = 0; more < 60 && (await running()).status !== 'aborted'; more++) {
    await met();
    await watchCanary(t.app);
  }
  expect(await running()).toMatchObject({ status: 'aborted', reason: expect.stringContaining('Limit passed: the p95') });
  expect(await callHost('ledger')).toEqual({ id: 1, customer: 'ada', total: 10 });
  // Without the canary it is what everybody gets.
  expect((await t.send('deploy.run')).status).toBe(200);
  expect(await callHost('ledger')).toEqual({ id: 300_000 });
});
