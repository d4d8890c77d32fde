import { afterAll, expect, test } from 'bun:test';
import { copyFileSync, existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { reachable, testDatabase } from '#test/support/databases.ts';
import { connectClient } from '#test/support/mcp-clients.ts';
import { type Programs, removeFolder, startPrograms } from '#test/support/programs.ts';
import { until } from '#test/support/until.ts';

/** The drill of the operations guide: back up while it runs, lose everything but the keys, restore, and go on. */
const started: Programs[] = [];
afterAll(async () => {
  for (const programs of started) {
    await programs.stop('SIGKILL');
    removeFolder(programs);
  }
}, 60_000);

const KEYS = {
  SVC_ENCRYPTION_KEY: 'encryption-key-of-the-restore-drill-0123456789',
  SVC_JWT_SECRET: 'jwt-secret-of-the-restore-drill-0123456789',
  SVC_AGENT_SERVICE_TOKEN: 'service-token-of-the-restore-drill-0123456789',
};

async function start(env: Record<string, string>, again?: Programs): Promise<Programs> {
  const programs = await startPrograms({ env: { ...KEYS, ...env }, ...(again === undefined ? {} : { again }) });
  started.push(programs);
  await programs.signIn();
  return programs;
}

async function sluice(programs: Programs, env: Record<string, string>, ...words: string[]): Promise<string> {
  const run = Bun.spawn([process.execPath, 'server/cli.ts', ...words], {
    env: { PATH: process.env['PATH'] ?? '', SVC_ENV: 'dev', SVC_DATA_DIR: programs.directory, ...KEYS, ...env },
    stdout: 'pipe',
    stderr: 'pipe',
  });
  const [out, error] = await Promise.all([new Response(run.stdout).text(), new Response(run.stderr).text()]);
  if ((await run.exited) !== 0) throw new Error(`sluice ${words.join(' ')}: ${out}${error}`);
  return out;
}

/** Something of every kind, deployed, and then one change that is not. */
async function use(programs: Programs): Promise<void> {
  await programs.demo();
  const [tool] = (await programs.api<{ items: { id: string }[] }>('GET', '/tools')).items;
  await programs.api('PATCH', `/tools/${tool?.id}`, { description: 'Deployed before the backup' });
  await programs.api('POST', '/deploy', { note: 'before the backup' });
  const secret = {
    name: 'sealed',
    db_type: 'postgresql',
    host: '127.0.0.1',
    port: 5432,
    database: 'd',
    username: 'u',
    password: 'p',
  };
  await programs.api('POST', '/connections', secret);
  await programs.api('POST', '/mcp-tokens', { name: 'kept', all_toolsets: true });
}

async function compare(before: unknown, programs: Programs): Promise<void> {
  expect(await contents(programs)).toEqual(before);
  await until(
    async () => {
      const client = await connectClient('v2', programs.mcp_url);
      const { structuredContent } = await client.call('get_customer', { email: 'ada@example.com' });
      await client.close();
      return structuredContent !== undefined;
    },
    () => programs.output(),
  );
}

async function contents(programs: Programs): Promise<unknown> {
  const paths = ['/connections', '/tools', '/resources', '/prompts', '/mcp-tokens', '/snapshots', '/history?limit=100'];
  const { snapshot_version } = await programs.api<{ snapshot_version: number }>('GET', '/deploy/status');
  return { snapshot_version, lists: await Promise.all(paths.map((path) => programs.api('GET', path))) };
}

test('the embedded database comes back from a copy that was made while it ran', async () => {
  const programs = await start({});
  await use(programs);
  const received: unknown[] = [];
  const receiver = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    fetch: async (request) => (received.push(await request.json()), new Response('')),
  });
  const { id } = await programs.api<{ id: string }>('POST', '/notices', {
    name: 'w',
    url: receiver.url.href,
    events: ['deploy'],
  });
  const copy = join(programs.directory, '..', `sluice-copy-${crypto.randomUUID()}.sqlite`);
  const before = await contents(programs);
  await sluice(programs, {}, 'backup', copy);
  await programs.api('POST', '/prompts', { name: 'later', description: 'After the backup', template: 'x' });
  await programs.stop();
  // The demo's own database is a person's, and is backed up by that person.
  const shop = readFileSync(join(programs.directory, 'databases/demo.sqlite'));
  for (const name of ['sluice.sqlite', 'sluice.sqlite-wal', 'sluice.sqlite-shm', 'host']) {
    rmSync(join(programs.directory, name), { recursive: true, force: true });
  }
  copyFileSync(copy, join(programs.directory, 'sluice.sqlite'));
  rmSync(copy);
  expect(shop.length).toBeGreaterThan(0);
  const drill = await start({ SVC_RESTORE_DRILL: 'true' }, programs);
  await compare(before, drill);
  expect(await sluice(drill, {}, 'check')).not.toContain('fault');
  expect(await drill.api('GET', '/deploy/status')).toMatchObject({ warnings: [expect.stringContaining('restore drill')] });
  const order: unknown = await drill.api('POST', '/server/ssl/issue', {}).catch(String);
  expect(order).toContain('orders no certificates');
  await drill.api('PATCH', '/server/config', { server_name: 'Restored' });
  const { snapshot_version } = await drill.api<{ snapshot_version: number }>('POST', '/deploy', {});
  const waiting = { event: 'deploy', status: 'waiting', attempts: 0 };
  expect(await drill.api('GET', `/notices/${id}/deliveries`)).toMatchObject({ items: [waiting] });
  await drill.stop();
  expect(received).toEqual([]);
  // In service, it sends what waited.
  const restored = await start({}, drill);
  await until(() => received.length > 0, restored.output);
  expect(received).toMatchObject([{ type: 'deploy', data: { version: snapshot_version } }]);
  await receiver.stop(true);
}, 90_000);

test.skipIf(!reachable.postgres)(
  'PostgreSQL comes back from the line that `backup` prints',
  async () => {
    const first = await testDatabase('postgresql');
    const second = await testDatabase('postgresql');
    try {
      const programs = await start({ SVC_DATABASE_URL: first.url });
      await use(programs);
      const file = join(programs.directory, 'copy.dump');
      const line = await sluice(programs, { SVC_DATABASE_URL: first.url }, 'backup', file);
      const before = await contents(programs);
      const dump = Bun.spawnSync(['sh', '-c', line]);
      expect({ code: dump.exitCode, there: existsSync(file) }).toEqual({ code: 0, there: true });
      await programs.stop();
      const restore = Bun.spawnSync(['pg_restore', '--no-owner', `--dbname=${second.url}`, file]);
      expect(restore.exitCode).toBe(0);
      rmSync(join(programs.directory, 'host'), { recursive: true, force: true });
      const restored = await start({ SVC_DATABASE_URL: second.url }, programs);
      await compare(before, restored);
      await restored.stop();
    } finally {
      await first.drop();
      await second.drop();
    }
  },
  90_000,
);
