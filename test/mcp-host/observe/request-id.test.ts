import { afterAll, beforeAll, expect, test } from 'bun:test';
import {
  connectionOf,
  type ControlServer,
  controlServer,
  modern,
  snapshotOf,
  sqliteFolder,
  testHost,
  type TestHost,
  toolOf,
  until,
} from '../support.ts';

let folder: ReturnType<typeof sqliteFolder>;
let control: ControlServer;
let host: TestHost;
beforeAll(async () => {
  folder = sqliteFolder();
  control = controlServer();
  host = await testHost(folder.directory, control.url);
  await until(() => host.host.health().control.connected);
  const gone = connectionOf({ database: 'gone.sqlite' });
  const tools = [toolOf(connectionOf({ ...gone }), 'broken', 'select 1 as one')];
  await control.deploy(snapshotOf(1, { connections: [gone], tools: tools.map((tool) => ({ ...tool, connection_id: gone.id })) }));
});
afterAll(async () => {
  await host.stop();
  await control.stop();
  folder.remove();
});

test('every answer of the host has a request id: the one that came, when it is sane, or a new one', async () => {
  const of = async (path: string, init: RequestInit = {}) =>
    (await fetch(new URL(path, host.mcp), init)).headers.get('x-request-id') ?? '';
  for (const path of ['/mcp', '/health', '/nothing', '/oauth/token', '/livez']) {
    expect([path, await of(path, { headers: { 'x-request-id': 'mine-1' } })]).toEqual([path, 'mine-1']);
    const [first, second] = [await of(path), await of(path)];
    expect([path, first.length > 20, first === second]).toEqual([path, true, false]);
  }
  expect(await of('/mcp', { headers: { 'x-request-id': 'with space' } })).not.toBe('with space');
  expect(await of('/mcp', { headers: { origin: 'https://evil.example', 'x-request-id': 'mine-2' } })).toBe('mine-2');
});

test('the line of a call that failed has the id of its request', async () => {
  await modern(host.mcp, 'tools/call', { name: 'broken' }, { 'x-request-id': 'mine-3' });
  const line = await until(() => host.log.find(({ message }) => message === 'call_failed'));
  expect(line.fields).toMatchObject({ name: 'broken', request_id: 'mine-3' });
});
