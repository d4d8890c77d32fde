import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { generate } from '#snapshots/generate/generate.ts';
import { connectionOf, ENVELOPE, snapshotOf, toolOf } from '#test/mcp-host/support.ts';
import { reachable, testDatabase, type TestDatabase } from '#test/support/databases.ts';
import { deno } from '#test/support/deno.ts';
import { until } from '#test/support/until.ts';
import { paced } from '#test/support/paced.ts';

const RUNNING = "select 1 as one from pg_stat_activity where state = 'active' and query like 'select pg_sleep%'";
const RUNTIMES = ['node', 'bun', 'deno'] as const;
type Runtime = (typeof RUNTIMES)[number];

describe.skipIf(!reachable.postgres && process.env['CI'] !== 'true')('a generated project that is terminated', () => {
  let database: TestDatabase;
  let folder: string;
  const running = async () => (await database.run(RUNNING)).length;

  beforeAll(async () => {
    database = await testDatabase('postgresql');
    folder = await mkdtemp(join(tmpdir(), 'sluice-project-ending-'));
    const { password: _, ...settings } = database.settings;
    const connection = connectionOf({ ...settings, name: 'db', password: null, ssl_key: null, ssh: null });
    const sleeping = (name: string, seconds: number) =>
      toolOf(connection, name, `select pg_sleep(${seconds})::text as slept`, { timeout_ms: 60_000 });
    const tools = [toolOf(connection, 'quick', 'select 1 as one'), sleeping('slow', 1.5), sleeping('endless', 50)];
    for (const { path, content } of generate(snapshotOf(1, { connections: [connection], tools }))) {
      await mkdir(dirname(join(folder, path)), { recursive: true });
      await writeFile(join(folder, path), content);
    }
    await symlink(join(import.meta.dir, '../../node_modules'), join(folder, 'node_modules'));
  });
  afterAll(async () => {
    await database.drop();
    await rm(folder, { recursive: true, force: true });
  });

  async function start(runtime: Runtime) {
    const commands: Readonly<Record<Runtime, string[]>> = {
      node: ['node', '--import', 'tsx', 'src/main.ts'],
      bun: [process.execPath, 'src/main.ts'],
      deno: [deno(), 'run', '-A', '--no-lock', '--no-remote', 'src/main.ts'],
    };
    const env = { PATH: process.env['PATH'], HOME: folder, PORT: '0' };
    const program = Bun.spawn(commands[runtime], { cwd: folder, env, stdin: 'ignore', stdout: 'pipe', stderr: 'inherit' });
    const { value } = await program.stdout.getReader().read();
    const url = new URL(/http:\/\/\S+/.exec(new TextDecoder().decode(value))![0]);
    const post = (method: string, params: Record<string, unknown>) =>
      fetch(url, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          'mcp-protocol-version': '2026-07-28',
          'mcp-method': method,
          ...(typeof params['name'] === 'string' && { 'mcp-name': params['name'] }),
        },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: ENVELOPE } }),
      });
    const call = (name: string) => post('tools/call', { name, arguments: {} }).then((response) => response.text());
    const terminate = () => {
      program.kill('SIGTERM');
      return program.exited;
    };
    return { program, post, call, terminate };
  }

  test.each([...RUNTIMES])('lets calls that run finish, and ends streams that last (%s)', async (runtime) => {
    const { program, post, call, terminate } = await start(runtime);
    try {
      expect(await call('quick')).toContain('"one":1');
      const stream = await post('subscriptions/listen', { notifications: { toolsListChanged: true } });
      expect(stream.status).toBe(200);
      const slow = call('slow');
      await until(async () => (await running()) === 1);
      const began = performance.now();
      const ended = terminate();
      expect(await slow).toContain('row_count');
      expect(await ended).toBe(0);
      expect(performance.now() - began).toBeLessThan(paced(4_000));
      await stream.text().catch(() => '');
    } finally {
      program.kill('SIGKILL');
    }
  });

  test('cancels in the database what does not finish in time', async () => {
    const { program, call, terminate } = await start('bun');
    try {
      const endless = call('endless').catch(() => '');
      await until(async () => (await running()) === 1);
      expect(await terminate()).toBe(0);
      await endless;
      await until(async () => (await running()) === 0);
    } finally {
      program.kill('SIGKILL');
    }
  }, 60_000);
});
