import type { Scope } from '#core/contract/operation.ts';
import { type Answer, type TestApp, testApp, type TestAppOptions } from '#test/support/app.ts';
import type { Calls, Reply, SendOptions } from '#test/support/calls.ts';
import { sqliteConnection } from '#test/support/sqlite-connection.ts';

export interface ProposingShop {
  /** Its `call` and `send` are those of the owner, who is signed in. */
  readonly t: TestApp;
  readonly connection_id: string;
  /** A token with these scopes. */
  token(scopes?: readonly Scope[], name?: string): Promise<string>;
  /** An agent that has this token. */
  as(token: string): Agent;
}

interface Agent extends Calls {
  /** Below `/api/v1`. */
  request(method: string, path: string, body?: object, headers?: Record<string, string>): Promise<Answer>;
}

/** A server with a connected SQLite database of three orders. */
export async function proposingShop(
  options: TestAppOptions = {},
  variables: Record<string, string> = {},
  database_url?: string,
): Promise<ProposingShop> {
  const t = await testApp({ SVC_AGENT_RATE_LIMIT: '100000', ...variables }, database_url, options);
  await t.signIn();
  // Another server of the same database has created it.
  const [shared] = (await t.call('connections.list', {})).items;
  const create = () =>
    sqliteConnection(
      t,
      'create table orders (id integer primary key, customer text not null, total real)',
      "insert into orders values (1, 'ada', 2.5), (2, 'bo', 9), (3, 'ada', 30)",
    );
  const connection_id = shared?.id ?? (await create());
  return {
    t,
    connection_id,
    async token(scopes = ['propose'], name = 'Claude') {
      return (await t.call('agent_tokens.create', { name, duration_minutes: 600, scopes: [...scopes] })).token;
    },
    as(token) {
      const withToken = (options: SendOptions = {}) => ({
        anonymous: true,
        headers: { authorization: `Bearer ${token}`, ...options.headers },
      });
      return {
        call: (name, input, options) => t.call(name, input, withToken(options)),
        send: (name, input, options) => t.send(name, input, withToken(options)),
        request: (method, path, body, headers) =>
          t.request(method, `/api/v1${path}`, {
            ...withToken({ headers: { accept: 'application/problem+json', ...headers } }),
            ...(body && { body }),
          }),
      };
    },
  };
}

/** As a person does who read it as it is now. */
export async function approve({ t }: Pick<ProposingShop, 't'>, id = ''): Promise<Reply<'proposals.approve'>> {
  const { version } = await t.call('proposals.get', { id });
  return t.send('proposals.approve', { id, version });
}

export const ordersTool = (connection_id: string, more: object = {}) => ({
  connection_id,
  name: 'find_orders',
  description: 'Finds the orders of one customer, newest first. Use it for questions about what somebody bought.',
  sql_query: 'select id, total from orders where customer = :customer order by id desc limit 50',
  parameters: [{ name: 'customer', type: 'string', description: 'Name of the customer', examples: ['ada'] }],
  ...more,
});

/** The proposal that a change is added to. */
export const within = (id: string) => ({ headers: { 'x-proposal-id': id } });
