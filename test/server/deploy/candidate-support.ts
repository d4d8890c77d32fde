import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Database } from 'bun:sqlite';
import { expect } from 'bun:test';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { HostOptions } from '#mcp-host/host-options.ts';
import { createHttp } from '#server/http/http.ts';
import { type TestHost, testHost } from '#test/mcp-host/support.ts';
import { type Answer, type TestApp, testApp } from '#test/support/app.ts';
import { freePort } from '#test/support/free-port.ts';
import { until } from '#test/support/until.ts';

/** A server and its hosts in this process, with one deployed tool `ledger` that reads two orders. */
export interface Stage {
  readonly t: TestApp;
  readonly hosts: TestHost[];
  send(method: string, path: string, body?: object): Promise<Answer>;
  /** Changes the statement of the tool in the working copy. */
  edit(change: object): Promise<void>;
  /** Another host, with files of its own. */
  addHost(name: string, more?: Partial<HostOptions>): Promise<TestHost>;
  /** Stops a host and starts it again with the same files. */
  restartHost(name: string): Promise<TestHost>;
  /** The control channel answers nothing from now on. */
  cutOff(): Promise<void>;
  close(): Promise<void>;
}

export async function stage(variables: Record<string, string> = {}, first: Partial<HostOptions> = {}): Promise<Stage> {
  const t = await testApp({ SVC_FASTMCP_PORT: '0', ...variables });
  await t.signIn();
  const databases = join(t.directory, 'databases');
  mkdirSync(databases);
  const db = new Database(join(databases, 'shop.sqlite'), { create: true });
  db.run('create table orders (id integer primary key, customer text, total integer)');
  db.run("insert into orders values (1, 'ada', 10), (2, 'bob', 20)");
  db.close();
  const http = createHttp(t.app);
  const control = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 0,
    fetch: (request) => http.fetch(request, { address: '127.0.0.1' }),
  });
  const hosts = new Map<string, TestHost>();
  const send: Stage['send'] = (method, path, body) =>
    t.request(method, `/api/v1/${path}`, {
      ...(body === undefined ? {} : { body }),
      headers: { accept: 'application/problem+json' },
    });
  const addHost: Stage['addHost'] = async (name, more = {}) => {
    const folder = join(t.directory, name);
    mkdirSync(folder, { recursive: true });
    const before = t.app.hosts.list().filter(({ id }) => id !== name).length;
    const host = await testHost(folder, `http://127.0.0.1:${control.port}`, {
      id: name,
      service_token: t.app.env.SVC_AGENT_SERVICE_TOKEN,
      address: { host: '127.0.0.1', port: freePort() },
      openSource: (settings) => open(settings, databases),
      openSecret: (sealed, place) => t.app.keyring.open(sealed, place),
      now: () => t.app.clock().getTime(),
      ticks: () => performance.now(),
      ...more,
    });
    hosts.set(name, host);
    await until(() => t.app.hosts.list().length > before);
    return host;
  };
  await addHost('first', first);
  const connection = await t.call('connections.create', { name: 'shop', db_type: 'sqlite', database: 'shop.sqlite' });
  const tool = await t.call('tools.create', {
    connection_id: connection.id,
    name: 'ledger',
    description: 'All orders of the shop, by number.',
    sql_query: 'select id, total from orders order by id',
  });
  expect((await t.send('deploy.run')).status).toBe(200);
  return {
    t,
    get hosts() {
      return [...hosts.values()];
    },
    send,
    async edit(change) {
      expect((await t.send('tools.update', { id: tool.id, ...change })).status).toBe(200);
    },
    addHost,
    async restartHost(name) {
      await hosts.get(name)?.stop();
      return addHost(name);
    },
    cutOff: () => control.stop(true),
    async close() {
      for (const host of hosts.values()) await host.stop();
      await control.stop(true);
      await t.close();
    },
  };
}

async function open(settings: Parameters<HostOptions['openSource']>[0], sqlite_dir: string) {
  const { openSource } = await import('#core/engines/index.ts');
  return openSource(settings, { allow_private_networks: true, forbidden: [], sqlite_dir });
}

/** An official client at an address, with a bearer token unless there is none. */
export async function clientAt(url: URL | string, token: string | null = null): Promise<Client> {
  const client = new Client({ name: 'test', version: '1.0.0' });
  const headers: Record<string, string> = token === null ? {} : { authorization: `Bearer ${token}` };
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
  return client;
}

/** What the tool `ledger` answers. */
export async function rowsOf(client: Client): Promise<unknown> {
  const { structuredContent } = await client.callTool({ name: 'ledger', arguments: {} });
  return (structuredContent as { rows: unknown }).rows;
}
