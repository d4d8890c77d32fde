import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Database } from 'bun:sqlite';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Replay } from '#core/contract/deploy/replay.ts';
import { openSource } from '#core/engines/index.ts';
import { createHttp } from '#server/http/http.ts';
import { type TestHost, testHost } from '#test/mcp-host/support.ts';
import { type TestApp, testApp } from '#test/support/app.ts';
import { until } from '#test/support/until.ts';

/** A server with hosts that keep calls, a shop, and an official client of each host. */
export interface ReplayShop {
  readonly t: TestApp;
  readonly hosts: readonly TestHost[];
  readonly clients: readonly Client[];
  readonly db: Database;
  readonly directories: readonly string[];
  readonly connection_id: string;
  api(method: string, path: string, body?: object): Promise<Record<string, unknown>>;
  deploy(): Promise<number>;
  replay(input: object): Promise<Replay>;
  call(n: number, name: string, args?: Record<string, unknown>): Promise<unknown>;
  close(): Promise<void>;
}

export async function replayShop(count: number, replay_samples = 100): Promise<ReplayShop> {
  const t = await testApp({ SVC_FASTMCP_PORT: '0' });
  await t.signIn();
  const databases = join(t.directory, 'databases');
  mkdirSync(databases);
  const db = new Database(join(databases, 'shop.sqlite'), { create: true });
  db.run('create table orders (id integer primary key, customer text, total integer)');
  db.run("insert into orders values (1, 'ada', 10), (2, 'bob', 20), (3, 'ada', 30), (4, 'cy', 40)");
  const http = createHttp(t.app);
  const control = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    idleTimeout: 0,
    fetch: (request) => http.fetch(request, { address: '127.0.0.1' }),
  });
  const directories: string[] = [];
  const hosts: TestHost[] = [];
  for (let n = 0; n < count; n++) {
    const directory = join(t.directory, `host-${n}`);
    mkdirSync(directory);
    directories.push(directory);
    const policy = { allow_private_networks: true, forbidden: [], sqlite_dir: databases };
    hosts.push(
      await testHost(directory, `http://127.0.0.1:${control.port}`, {
        id: `host-${n}`,
        service_token: t.app.env.SVC_AGENT_SERVICE_TOKEN,
        openSource: (settings) => openSource(settings, policy),
        openSecret: (sealed, place) => t.app.keyring.open(sealed, place),
      }),
    );
  }
  const api: ReplayShop['api'] = async (method, path, body) => {
    const answer = await t.request(method, `/api/v1${path}`, body === undefined ? {} : { body });
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    return answer.body;
  };
  await until(() => t.app.hosts.list().length === count);
  await api('PATCH', '/server/config', { replay_samples, deploy_gates: { breaking: 'off', lint: 'off', tests: 'off' } });
  const { id } = await api('POST', '/connections', { name: 'shop', db_type: 'sqlite', database: 'shop.sqlite' });
  const clients: Client[] = [];
  const shop: ReplayShop = {
    t,
    hosts,
    clients,
    db,
    directories,
    connection_id: String(id),
    api,
    async deploy() {
      const { snapshot_version } = await api('POST', '/deploy', {});
      await until(() => hosts.every(({ host }) => host.health().snapshot_version === snapshot_version));
      return Number(snapshot_version);
    },
    replay: async (input) => (await api('POST', '/replay', input)) as unknown as Replay,
    async call(n, name, args = {}) {
      clients[n] ??= await connect(hosts[n]?.mcp);
      const { isError, structuredContent, content } = await clients[n].callTool({ name, arguments: args });
      if (isError === true) throw new Error(JSON.stringify(content));
      return structuredContent;
    },
    async close() {
      for (const client of clients) await client?.close();
      for (const host of hosts) await host.stop();
      await control.stop(true);
      db.close();
      await t.close();
    },
  };
  return shop;
}

async function connect(url: URL | undefined): Promise<Client> {
  const client = new Client({ name: 'test', version: '1.0.0' });
  await client.connect(new StreamableHTTPClientTransport(url ?? new URL('http://127.0.0.1:1')));
  return client;
}
