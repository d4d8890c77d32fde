import { afterAll, afterEach, beforeAll, expect, test } from 'bun:test';
import { join } from 'node:path';
import { connection, controlServer, type ControlServer, modern, snapshotOf, sqliteFolder, TOKEN, toolOf } from '../support.ts';
import { until } from '#test/support/until.ts';

const MAIN = join(import.meta.dir, '../../../mcp-host/main.ts');
const folder = sqliteFolder();
const children: Bun.Subprocess[] = [];
const snapshot = snapshotOf(1, { connections: [connection], tools: [toolOf(connection, 'one', 'select 1 as one')] });
let control: ControlServer;

beforeAll(() => {
  control = controlServer();
  control.greeting = { event: 'snapshot', data: snapshot };
});
afterEach(async () => {
  for (const child of children.splice(0)) {
    child.kill('SIGKILL');
    await child.exited;
  }
  control.usage.length = 0;
});
afterAll(async () => {
  await control.stop();
  folder.remove();
});

async function start(): Promise<{ readonly child: Bun.Subprocess; readonly mcp: URL }> {
  const acknowledged = control.nextAck();
  const child = Bun.spawn([process.execPath, MAIN], {
    env: {
      PATH: process.env['PATH'],
      SVC_ENV: 'production',
      SVC_KV: 'memory',
      SVC_ENCRYPTION_KEY: 'a-key-0123456789-0123456789-0123456789',
      SVC_AGENT_SERVICE_TOKEN: TOKEN,
      SVC_SERVER_URL: control.url,
      SVC_DATA_DIR: folder.directory,
      SVC_SQLITE_DIR: folder.directory,
      SVC_BIND: '127.0.0.1',
      SVC_FASTMCP_PORT: '0',
    },
    stdout: 'ignore',
    stderr: 'ignore',
    ipc: () => undefined,
  });
  children.push(child);
  const { url } = await acknowledged;
  return { child, mcp: new URL('/mcp', url ?? '') };
}
const callOnce = async (mcp: URL): Promise<void> => {
  expect((await modern(mcp, 'tools/call', { name: 'one' })).status).toBe(200);
};
const callOften = async (mcp: URL, count: number): Promise<void> => {
  for (let n = 0; n < count; n++) await callOnce(mcp);
};
/** Times of the calls that were told, each batch once. */
function counted(): number[] {
  const batches = new Map(control.usage.map((batch) => [`${(batch as { boot_id?: string }).boot_id} ${batch.seq}`, batch]));
  return [...batches.values()].flatMap(({ items }) => items.map((item) => Date.parse(item['timestamp'])));
}

test('calls are counted within the second, so that a host that is killed loses no more', async () => {
  const { child, mcp } = await start();
  const lags: number[] = [];
  for (let attempt = 1; attempt <= 5; attempt++) {
    await callOften(mcp, 20);
    const made_at = performance.now();
    await until(() => counted().length === attempt * 20);
    lags.push(performance.now() - made_at);
  }
  // Several tries, for a machine that is busy with something else.
  expect(Math.min(...lags)).toBeLessThan(1_000);
  await callOften(mcp, 10);
  const last_at = Date.now();
  child.kill('SIGKILL');
  await child.exited;
  const times = counted();
  expect(times.length).toBeGreaterThanOrEqual(100);
  expect(times.length).toBeLessThanOrEqual(110);
  expect(times).toEqual(times.toSorted((a, b) => a - b));
  expect(Math.max(...times)).toBeLessThanOrEqual(last_at);

  // The next run of the host counts on, and nothing twice.
  const again = await start();
  await callOften(again.mcp, 15);
  await until(() => counted().length === times.length + 15);
});

test('a host that is told to end tells every call first', async () => {
  const { child, mcp } = await start();
  await Promise.all(Array.from({ length: 40 }, () => callOnce(mcp)));
  child.kill('SIGTERM');
  expect(await child.exited).toBe(0);
  expect(counted()).toHaveLength(40);
});

test('calls that are made while the server is away are counted when it is back', async () => {
  const { mcp } = await start();
  control.fail(503);
  await callOften(mcp, 30);
  control.fail(null);
  await until(() => counted().length === 30);
});
