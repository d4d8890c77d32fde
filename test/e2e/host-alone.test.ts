import { afterAll, expect, test } from 'bun:test';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { connectClient } from '#test/support/mcp-clients.ts';
import { freePort } from '#test/support/free-port.ts';
import { type Programs, removeFolder, startPrograms } from '#test/support/programs.ts';
import { until } from '#test/support/until.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const stops: (() => Promise<void>)[] = [];
afterAll(async () => {
  for (const stop of stops) await stop();
});

/** A host as a program of its own, with its own folder and port. */
function startHost(programs: Programs, port: number): Bun.Subprocess {
  const child = Bun.spawn([process.execPath, 'mcp-host/main.ts'], {
    cwd: ROOT,
    env: {
      PATH: process.env['PATH'] ?? '',
      SVC_ENV: 'dev',
      SVC_SERVER_URL: programs.url,
      SVC_FASTMCP_PORT: String(port),
      SVC_DATA_DIR: programs.directory,
      SVC_SQLITE_DIR: join(programs.directory, 'databases'),
    },
    stdout: 'ignore',
    stderr: 'ignore',
  });
  stops.push(async () => {
    child.kill('SIGKILL');
    await child.exited;
  });
  return child;
}

const served = async (port: number): Promise<string[]> => {
  const client = await connectClient('v2', `http://127.0.0.1:${port}/mcp`);
  const names = await client.tools();
  await client.close();
  return names;
};

test('a host without its server serves, restarts from its disk and follows the server once it is back', async () => {
  const port = freePort();
  let programs = await startPrograms({ role: 'server', env: { SVC_FASTMCP_PORT: String(port) } });
  const host = startHost(programs, port);
  await until(
    async () => (await served(port)).length === 5,
    () => programs.output(),
  );

  await programs.stop();
  expect(await served(port)).toHaveLength(5);
  const client = await connectClient('v1', `http://127.0.0.1:${port}/mcp`);
  expect((await client.call('get_customer', { email: 'ada@example.com' })).structuredContent).toMatchObject({
    row: { name: 'Ada' },
  });
  await client.close();

  host.kill('SIGKILL');
  await host.exited;
  const killed = performance.now();
  startHost(programs, port);
  await until(async () => (await served(port)).length === 5);
  expect(performance.now() - killed).toBeLessThan(8_000);

  programs = await startPrograms({ role: 'server', again: programs, env: { SVC_FASTMCP_PORT: String(port) } });
  stops.push(async () => {
    await programs.stop();
    removeFolder(programs);
  });
  await programs.signIn();
  const { items } = await programs.api<{ items: { id: string; name: string }[] }>('GET', '/tools');
  await programs.api('DELETE', `/tools/${items[0]?.id}`);
  await until(async () => (await programs.api<{ hosts: unknown[] }>('GET', '/deploy/status')).hosts.length === 1);
  expect(await programs.api('POST', '/deploy', {})).toMatchObject({ changed: true, snapshot_version: 2 });
  expect(await served(port)).toHaveLength(4);
}, 60_000);
