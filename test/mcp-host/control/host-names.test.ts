import { beforeEach, expect, test } from 'bun:test';
import { connectionOf, modern, snapshotOf, testHost } from '../support.ts';
import { useHost } from '../use-host.ts';
import { until } from '#test/support/until.ts';

const { folder, control, host, use } = useHost('each');

beforeEach(() => control.deploy(snapshotOf(1, { connections: [connectionOf({})] })));

const statusOf = async (name: string) => (await modern(host.mcp, 'tools/list', {}, { host: name })).status;
const statuses = (...names: string[]) => Promise.all(names.map(statusOf));

test('the domains that the server tells are accepted at once, and no longer than it tells them', async () => {
  expect(await statuses('mcp.example.com', 'ui.example.org', 'mcp.example.org:8443')).toEqual([200, 403, 403]);
  control.send('names', { names: ['UI.example.org', 'mcp.example.org'] });
  await until(async () => (await statusOf('ui.example.org')) === 200);
  expect(await statuses('mcp.example.com', 'mcp.example.org:8443', 'other.example.org')).toEqual([200, 200, 403]);
  control.send('names', { names: [] });
  await until(async () => (await statusOf('ui.example.org')) === 403);
  expect(await statuses('mcp.example.com', 'mcp.example.org')).toEqual([200, 403]);
});

test('a host that starts without its server knows the domains', async () => {
  control.send('names', { names: ['mcp.example.org'] });
  await until(() => Bun.file(`${folder.directory}/names.json`).exists());
  await host.stop();
  await control.stop();
  use(await testHost(folder.directory, control.url));
  expect(await statuses('mcp.example.org', 'other.example.org')).toEqual([200, 403]);
});

test('a damaged copy keeps no host from starting', async () => {
  await host.stop();
  await Bun.write(`${folder.directory}/names.json`, '{"names":[1');
  use(await testHost(folder.directory, control.url));
  expect(await statuses('mcp.example.com', 'mcp.example.org')).toEqual([200, 403]);
  expect(host.log.map(({ message }) => message)).toContain('names_file_damaged');
});
