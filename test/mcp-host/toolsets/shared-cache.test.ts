import { afterEach, beforeEach, expect, test } from 'bun:test';
import { Client, InMemoryResponseCacheStore, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import {
  connectionOf,
  type ControlServer,
  controlServer,
  snapshotOf,
  sqliteFolder,
  testHost,
  type TestHost,
  toolOf,
} from '../support.ts';
import { toolsetOf } from './toolsets-support.ts';
import { until } from '#test/support/until.ts';

let folder: ReturnType<typeof sqliteFolder>;
let control: ControlServer;
let host: TestHost;
let now = Date.now();
const shop = connectionOf({});
const tools = ['orders', 'salaries'].map((name) => toolOf(shop, name, 'select 1 as n', { tags: [name] }));
const change = toolOf(shop, 'change', "update customers set name = 'x'", { tags: ['orders'], mode: 'write' });

beforeEach(async () => {
  folder = sqliteFolder();
  control = controlServer();
  host = await testHost(folder.directory, control.url, { now: () => now });
  await until(async () => (await host.health()).control.connected);
  const toolsets = [toolsetOf('sales', { tags: ['orders'] }, { title: 'Sales desk' })];
  await control.deploy(
    snapshotOf(1, { connections: [shop], tools: [...tools, change], toolsets, server: { auth_type: 'none' } }),
  );
  // Lists that have stood for a while may be kept.
  now += 3_600_000;
});
afterEach(async () => {
  await host.stop();
  await control.stop();
  folder.remove();
});

test('clients of several addresses may share one cache: each is served the lists of its own', async () => {
  const store = new InMemoryResponseCacheStore();
  const read = async (path: string) => {
    const info = { name: 'test', version: '1.0.0' };
    const client = new Client(info, { responseCacheStore: store, versionNegotiation: { mode: 'auto' } });
    await client.connect(new StreamableHTTPClientTransport(new URL(`/mcp${path}`, host.mcp)));
    const names = (await client.listTools()).tools.map(({ name }) => name);
    const server = client.getServerVersion();
    await client.close();
    return { names, name: server?.name, title: server?.title };
  };
  const all = { names: ['change', 'orders', 'salaries'], name: 'Shop', title: 'Shop' };
  expect(await read('')).toEqual(all);
  expect(await read('/sales')).toEqual({ names: ['change', 'orders'], name: 'Shop/sales', title: 'Sales desk' });
  expect(await read('/tag/salaries')).toEqual({ names: ['salaries'], name: 'Shop/tag/salaries', title: 'Shop' });
  expect(await read('/tag/nothing')).toEqual({ names: [], name: 'Shop/tag', title: 'Shop' });
  expect(await read('/readonly')).toEqual({ names: ['orders', 'salaries'], name: 'Shop/readonly', title: 'Shop' });
  expect(await read('')).toEqual(all);
});
