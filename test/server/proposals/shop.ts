import { Database } from 'bun:sqlite';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type Answer, type TestApp, testApp, type TestAppOptions } from '#test/support/app.ts';

export interface ProposingShop {
  readonly t: TestApp;
  readonly connection_id: string;
  /** The signed-in owner. */
  api(method: string, path: string, body?: object): Promise<Answer>;
  /** A token with these scopes. */
  token(scopes?: readonly string[], name?: string): Promise<string>;
  as(token: string, method: string, path: string, body?: object, headers?: Record<string, string>): Promise<Answer>;
}

const PROBLEM = { accept: 'application/problem+json' };

/** A server with a connected SQLite database of three orders. */
export async function proposingShop(
  options: TestAppOptions = {},
  variables: Record<string, string> = {},
  database_url?: string,
): Promise<ProposingShop> {
  const t = await testApp({ SVC_AGENT_RATE_LIMIT: '100000', ...variables }, database_url, options);
  await t.signIn();
  mkdirSync(join(t.directory, 'databases'), { recursive: true });
  const db = new Database(join(t.directory, 'databases/shop.sqlite'));
  db.run('create table orders (id integer primary key, customer text not null, total real)');
  db.run("insert into orders values (1, 'ada', 2.5), (2, 'bo', 9), (3, 'ada', 30)");
  db.close();
  const api: ProposingShop['api'] = (method, path, body) =>
    t.request(method, `/api/v1${path}`, { headers: PROBLEM, ...(body && { body }) });
  const { body } = await api('POST', '/connections', { name: 'shop', db_type: 'sqlite', database: 'shop.sqlite' });
  return {
    t,
    connection_id: String(body['id']),
    api,
    async token(scopes = ['propose'], name = 'Claude') {
      const made = await api('POST', '/agent-tokens', { name, duration_minutes: 600, scopes });
      return String(made.body['token']);
    },
    as: (token, method, path, given, headers = {}) =>
      t.request(method, `/api/v1${path}`, {
        anonymous: true,
        headers: { ...PROBLEM, authorization: `Bearer ${token}`, ...headers },
        ...(given && { body: given }),
      }),
  };
}

/** As a person does who read it as it is now. */
export async function approve({ api }: Pick<ProposingShop, 'api'>, id: unknown): Promise<Answer> {
  const { body } = await api('GET', `/proposals/${String(id)}`);
  return api('POST', `/proposals/${String(id)}/approve`, { version: body['version'] });
}

export const ordersTool = (connection_id: string, more: object = {}) => ({
  connection_id,
  name: 'find_orders',
  description: 'Finds the orders of one customer, newest first. Use it for questions about what somebody bought.',
  sql_query: 'select id, total from orders where customer = :customer order by id desc limit 50',
  parameters: [{ name: 'customer', type: 'string', description: 'Name of the customer', examples: ['ada'] }],
  ...more,
});
