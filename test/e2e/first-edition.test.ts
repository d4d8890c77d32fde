import { afterAll, expect, test } from 'bun:test';
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { createShop } from '#core/sources/sample-shop.ts';
import { connectClient } from '#test/support/mcp-clients.ts';
import { startPrograms } from '#test/support/programs.ts';
import { until } from '#test/support/until.ts';

/** What an installation of the first edition left behind: two versions deployed, an OAuth client, an access token. */
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const LEFT = {
  'metadata.db': 'sluice.sqlite',
  'host-snapshot.txt': 'host/snapshot.json',
  'dev-secrets.json': 'dev-secrets.json',
};
/** The port that its snapshot names. */
const PORT = '8991';
const MCP = `http://127.0.0.1:${PORT}/mcp`;
const TOOLS = ['cheapest', 'get_customer', 'list_orders', 'sales_by_category', 'search_products'];

const stops: (() => Promise<unknown>)[] = [];
const directory = mkdtempSync(join(tmpdir(), 'sluice-first-edition-'));
afterAll(async () => {
  for (const stop of stops) await stop();
  rmSync(directory, { recursive: true, force: true });
}, 60_000);

async function served(): Promise<string[]> {
  const client = await connectClient('v2', MCP);
  const names = await client.tools();
  await client.close();
  return names.toSorted();
}

test('an installation of the first edition goes on: its host alone, then all of it', async () => {
  for (const folder of ['host', 'databases']) mkdirSync(join(directory, folder));
  for (const [from, to] of Object.entries(LEFT)) {
    copyFileSync(join(ROOT, 'test/fixtures/first-edition', from), join(directory, to));
    chmodSync(join(directory, to), 0o600);
  }
  createShop(join(directory, 'databases'));

  const alone = Bun.spawn([process.execPath, 'mcp-host/main.ts'], {
    cwd: ROOT,
    env: { PATH: process.env['PATH'] ?? '', SVC_ENV: 'dev', SVC_SERVER_URL: 'http://127.0.0.1:9', SVC_DATA_DIR: directory },
    stdout: 'ignore',
    stderr: 'ignore',
  });
  stops.push(async () => alone.kill('SIGKILL'));
  await until(async () => (await served()).length > 0);
  expect(await served()).toEqual(TOOLS);
  alone.kill('SIGTERM');
  await alone.exited;

  const programs = await startPrograms({ directory, env: { SVC_DEMO: 'false', SVC_FASTMCP_PORT: PORT } });
  stops.push(() => programs.stop('SIGKILL'));
  await programs.api('POST', '/auth/login', { username: 'owner', password: 'correct horse battery' });
  type Versions = { items: { version: number; note: string; active: boolean; checksum: string }[] };
  const { items } = await programs.api<Versions>('GET', '/snapshots');
  expect(items.map(({ version, note, active }) => [version, note, active])).toEqual([
    [2, 'second', true],
    [1, 'The demo', false],
  ]);
  const shown = await programs.api<{ content: { tools: { name: string }[] } }>('GET', '/snapshots/1');
  expect(shown.content.tools.map(({ name }) => name).toSorted()).toEqual(TOOLS.slice(1));
  // It would be marked if the secret of the OAuth client did not open.
  expect(await programs.api('GET', '/snapshots/2')).not.toHaveProperty('secrets_unavailable');
  const { changes } = await programs.api<{ changes: { name: string; change: string }[] }>('GET', '/snapshots/1/diff/2');
  expect(changes).toContainEqual(expect.objectContaining({ name: 'cheapest', change: 'added' }));
  const tokens = await programs.api<{ items: object[] }>('GET', '/mcp-tokens');
  expect(tokens.items).toMatchObject([{ name: 'assistant', revoked: false }]);

  const status = () => programs.api<{ hosts: { id: string; snapshot_version: number }[] }>('GET', '/deploy/status');
  await until(
    async () => (await status()).hosts.some(({ snapshot_version }) => snapshot_version === 2),
    () => programs.output(),
  );
  expect(await served()).toEqual(TOOLS);
  await programs.api('POST', '/snapshots/1/activate', {});
  expect(await served()).toEqual(TOOLS.slice(1));
  const { items: tools } = await programs.api<{ items: { id: string; name: string }[] }>('GET', '/tools');
  await programs.api('PATCH', `/tools/${tools.find(({ name }) => name === 'cheapest')?.id}`, {
    description: 'The cheapest ones',
  });
  const receipt = await programs.api('POST', '/deploy', { note: 'third' });
  expect(receipt).toMatchObject({ status: 'running', snapshot_version: 3, changed: true });
  expect(await served()).toEqual(TOOLS);
  await programs.api('POST', '/snapshots/2/activate', {});
  expect(await served()).toEqual(TOOLS);
}, 120_000);
