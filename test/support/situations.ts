import { Database } from 'bun:sqlite';
import { join } from 'node:path';
import type { TestDatabase } from './databases.ts';
import { connectClient, type McpClient } from './mcp-clients.ts';
import type { Product } from './programs.ts';
import { until } from './until.ts';

/** Ten things that go wrong on a real server, and the rule that has to find each. */
export const SITUATIONS = {
  'wrong column': {
    rule: 'statement-fails',
    entity: 'list_channels',
    says: 'column "channel" does not exist',
    says_to_token: 'SQLSTATE 42703',
  },
  'wrong enum': { rule: 'argument-fails', entity: 'orders_by_state', says: 'state must be one of "open", "paid".' },
  'loop of retries': { rule: 'retry-loop', entity: 'get_order', says: 'repeated the same failing call of get_order 6 times' },
  'slow query': { rule: 'slow-statement', entity: 'slow_report', says: 'in the database' },
  'starved queue': { rule: 'short-queue', entity: 'narrow', says: 'got no slot' },
  'revoked token': { rule: 'revoked-token', entity: 'Old laptop', says: 'was revoked and was still tried 3 times' },
  'truncated result': { rule: 'truncated-results', entity: 'list_all', says: 'reached the limit of 10 rows' },
  'never-used tool': { rule: 'unused-tool', entity: 'archive_orders', says: 'was not called once' },
  'two confused tools': { rule: 'confused-tools', entity: 'find_customer_orders', says: 'search_customer_orders' },
  'cancelled call': { rule: 'cancelled-calls', entity: 'wait_long', says: 'were cancelled' },
} as const;

/** Stands in a masked column and in refused arguments: nothing may say it. */
export const HIDDEN = 'hidden-value-90af';

const ROWS = 200;
const TABLE = `
  create table orders (id int primary key, customer text not null, state text not null, channel text, email text);
  insert into orders select n, 'customer ' || n % 20, case when n % 2 = 0 then 'open' else 'paid' end, 'web', '${HIDDEN}'
  from generate_series(1, ${ROWS}) as n`;

const parameter = (name: string, type = 'string', more: object = {}) => ({ name, type, description: `The ${name}`, ...more });

interface Tool {
  readonly on?: 'narrow';
  readonly description: string;
  readonly sql_query: string;
  readonly [field: string]: unknown;
}
const TOOLS: Readonly<Record<string, Tool>> = {
  list_channels: { description: 'Lists the sales channels of all orders', sql_query: 'select distinct channel from orders' },
  orders_by_state: {
    description: 'Counts orders in one state',
    sql_query: 'select count(*) as n from orders where state = :state',
    parameters: [parameter('state', 'string', { enum: ['open', 'paid'] })],
  },
  get_order: {
    description: 'Reads one order by its number',
    sql_query: 'select id, email from orders where id = :id',
    parameters: [parameter('id', 'integer')],
    masks: [{ column: 'email', mask: 'text' }],
  },
  slow_report: {
    description: 'Adds up all orders slowly',
    sql_query: "select count(*) as n, pg_sleep(1.1)::text as slept from orders where customer <> ''",
  },
  lock_report: {
    on: 'narrow',
    description: 'Reads over the narrow connection',
    sql_query: 'select pg_sleep(0.5)::text as slept',
  },
  list_all: { description: 'Lists every order by number', sql_query: 'select id from orders order by id', max_rows: 10 },
  archive_orders: { description: 'Lists archived orders of years ago', sql_query: "select id from orders where state = 'old'" },
  find_customer_orders: {
    description: 'Orders of a customer by the exact name',
    sql_query: 'select id from orders where customer = :customer order by id limit 5',
    parameters: [parameter('customer')],
  },
  search_customer_orders: {
    description: 'Orders of a customer by a part of the name',
    sql_query: "select id from orders where customer like '%' || :customer || '%' order by id limit 5",
    parameters: [parameter('customer')],
  },
  wait_long: { description: 'Waits for a minute', sql_query: 'select pg_sleep(60)::text as slept', timeout_ms: 60_000 },
};

/** Deploys ten tools, calls them as clients do, and waits until the server has stored what happened. */
export async function seedSituations(programs: Product, database: TestDatabase): Promise<void> {
  const { api } = programs;
  await database.run(TABLE);
  const { host, port, database: name, username } = database.settings;
  const place = { db_type: 'postgresql', host, port, database: name, username, ssl_mode: 'disable' };
  const wide = await api<{ id: string }>('POST', '/connections', { name: 'wide', ...place, pool_size: 8 });
  const limits = { pool_size: 1, max_concurrency: 1, queue_limit: 0 };
  const narrow = await api<{ id: string }>('POST', '/connections', { name: 'narrow', ...place, ...limits });
  for (const [tool, { on, ...draft }] of Object.entries(TOOLS))
    await api('POST', '/tools', { connection_id: (on === 'narrow' ? narrow : wide).id, name: tool, ...draft });
  const { version } = await api<{ version: number }>('GET', '/server/config');
  await api('PATCH', '/server/config', { version, auth_type: 'bearer' });
  const old = await api<{ id: string; token: string }>('POST', '/mcp-tokens', { name: 'Old laptop', all_toolsets: true });
  const { token } = await api<{ token: string }>('POST', '/mcp-tokens', { name: 'Desk', all_toolsets: true });
  await api('POST', '/deploy', { note: 'Ten situations' });
  twoDaysAgo(programs);
  await database.run('alter table orders rename column channel to origin');

  const connect = () => connectClient('v1', programs.mcp_url, { authorization: `Bearer ${token}` });
  const client = await connect();
  const times = async (count: number, tool: string, args: Record<string, unknown> = {}) => {
    for (let n = 0; n < count; n++) await client.call(tool, args);
  };
  await times(4, 'list_channels');
  await times(2, 'orders_by_state', { state: 'open' });
  // Each of another session, so that it is no loop.
  await eachInSession(4, connect, (one) => one.call('orders_by_state', { state: HIDDEN }));
  await times(6, 'get_order', { id: HIDDEN });
  await times(6, 'list_all');
  await eachInSession(3, connect, async (one) => {
    await one.call('find_customer_orders', { customer: 'tomer 1' });
    await one.call('search_customer_orders', { customer: 'tomer 1' });
  });
  await Promise.all(Array.from({ length: 6 }, () => client.call('slow_report', {})));
  await Promise.all(Array.from({ length: 8 }, () => client.call('lock_report', {})));
  await cancelled(programs.mcp_url, token, 4);
  await client.close();
  await api('DELETE', `/mcp-tokens/${old.id}`);
  await refused(programs.mcp_url, old.token, 3);

  await until(
    async () => {
      const { total } = await api<{ total: number }>('GET', '/logs?name=wait_long');
      const { counts } = await api<{ counts: { unauthenticated?: number } }>('GET', '/logs/refusals');
      return total >= 4 && (counts.unauthenticated ?? 0) >= 3;
    },
    () => programs.output().slice(-2_000),
  );
}

/** A tool is called unused when it was served for a day. */
function twoDaysAgo({ directory }: Product): void {
  const store = new Database(join(directory, 'sluice.sqlite'));
  store.run('pragma busy_timeout = 5000');
  store.run(`update snapshots set created_at = '${new Date(Date.now() - 2 * 86_400_000).toISOString()}'`);
  store.close();
}

async function eachInSession(count: number, connect: () => Promise<McpClient>, work: (client: McpClient) => Promise<unknown>) {
  for (let n = 0; n < count; n++) {
    const client = await connect();
    await work(client);
    await client.close();
  }
}

const post = (url: string, token: string, tool: string, signal?: AbortSignal) =>
  fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2025-06-18',
      authorization: `Bearer ${token}`,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: tool, arguments: {} } }),
    ...(signal === undefined ? {} : { signal }),
  });

/** Clients that leave while their statement runs. */
async function cancelled(url: string, token: string, count: number): Promise<void> {
  await Promise.all(
    Array.from({ length: count }, async () => {
      const leaving = new AbortController();
      const call = post(url, token, 'wait_long', leaving.signal).catch(() => undefined);
      await Bun.sleep(1_000);
      leaving.abort();
      await call;
    }),
  );
}

/** A client that still has the token. The host hears of the end of a token in a moment. */
async function refused(url: string, token: string, count: number): Promise<void> {
  await until(async () => (await post(url, token, 'list_all')).status === 401);
  for (let n = 1; n < count; n++) await post(url, token, 'list_all');
}
