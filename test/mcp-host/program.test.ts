import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { hostCommand } from '#test/support/deno.ts';
import { connection, type ControlServer, controlServer, modern, snapshotOf, sqliteFolder, TOKEN, toolOf } from './support.ts';
import { until } from '#test/support/until.ts';

const MAIN = join(import.meta.dir, '../../mcp-host/main.ts');
const folder = sqliteFolder();
let control: ControlServer;
const children: Bun.Subprocess[] = [];

beforeAll(() => {
  control = controlServer();
});
afterEach(async () => {
  for (const child of children.splice(0)) {
    child.kill('SIGKILL');
    await child.exited;
  }
});
afterAll(async () => {
  await control.stop();
  folder.remove();
});

function start(more: Record<string, string> = {}) {
  const child = Bun.spawn(hostCommand(MAIN), {
    env: {
      PATH: process.env['PATH'],
      SVC_ENV: 'production',
      SVC_ENCRYPTION_KEY: 'a-key-0123456789-0123456789-0123456789',
      SVC_AGENT_SERVICE_TOKEN: TOKEN,
      SVC_SERVER_URL: control.url,
      SVC_DATA_DIR: folder.directory,
      SVC_SQLITE_DIR: folder.directory,
      SVC_BIND: '127.0.0.1',
      SVC_FASTMCP_PORT: '0',
      ...more,
    },
    stdout: 'pipe',
    stderr: 'pipe',
    serialization: 'json',
    ipc: () => undefined,
  });
  children.push(child);
  return child;
}
function childrenOf(pid: number): number[] {
  const threads = readdirSync(`/proc/${pid}/task`);
  return threads.flatMap((id) => readFileSync(`/proc/${pid}/task/${id}/children`, 'utf8').split(' ').filter(Boolean).map(Number));
}

function isRunning(pid: number): boolean {
  // A process that has ended stays a zombie until its parent asks for it.
  return existsSync(`/proc/${pid}/stat`) && !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
}
const endless = 'with recursive c(n) as (select 1 union all select n + 1 from c) select count(*) as n from c';
const snapshot = snapshotOf(1, {
  connections: [connection],
  tools: [toolOf(connection, 'endless', endless), toolOf(connection, 'one', 'select 1 as one')],
});

async function deployed(): Promise<URL> {
  control.greeting = { event: 'snapshot', data: snapshot };
  const { url } = await control.nextAck();
  return new URL('/mcp', url ?? '');
}

test('SIGTERM lets a short call finish and ends the program with 0', async () => {
  const child = start();
  const mcp = await deployed();
  expect((await modern(mcp, 'tools/call', { name: 'one' })).status).toBe(200);
  child.kill('SIGTERM');
  expect(await child.exited).toBe(0);
});

test('a second signal ends it at once, although a call runs', async () => {
  const child = start();
  const mcp = await deployed();
  const running = modern(mcp, 'tools/call', { name: 'endless' }).catch(() => null);
  const headers = { 'x-service-token': TOKEN };
  await until(async () =>
    JSON.stringify(await (await fetch(new URL('/health', mcp), { headers })).json()).includes('"active":1'),
  );
  child.kill('SIGTERM');
  await Bun.sleep(100);
  expect(child.exitCode).toBeNull();
  child.kill('SIGTERM');
  expect(await child.exited).toBe(1);
  await running;
});

test('it ends when the program that started it is gone', async () => {
  const child = start();
  await deployed();
  child.disconnect();
  expect(await child.exited).toBe(0);
});

test('its end, however it came, is that of the programs that hold its SQLite files', async () => {
  const child = start();
  const mcp = await deployed();
  const running = modern(mcp, 'tools/call', { name: 'endless' }).catch(() => null);
  const [holder] = await until(() => {
    const found = childrenOf(child.pid);
    return found.length > 0 && found;
  });
  expect(isRunning(holder ?? 0)).toBe(true);
  child.kill('SIGKILL');
  await running;
  await until(() => !isRunning(holder ?? 0));
});

test('it does not start with a faulty environment, and names every fault', async () => {
  const child = start({ SVC_ENCRYPTION_KEY: 'short', SVC_FASTMCP_PORT: 'x' });
  expect(await child.exited).toBe(1);
  const line = JSON.parse(await new Response(child.stderr).text()) as Record<string, unknown>;
  expect(line).toMatchObject({ level: 'ERROR', source: 'host', message: 'The host cannot start' });
  for (const name of ['SVC_ENCRYPTION_KEY', 'SVC_FASTMCP_PORT'])
    expect(line['errors']).toContainEqual(expect.stringContaining(name));
});
