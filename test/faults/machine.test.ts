import { afterAll, describe, expect, test } from 'bun:test';
import { chownSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { testApp } from '#test/support/app.ts';
import { connectClient } from '#test/support/mcp-clients.ts';
import { freePort } from '#test/support/free-port.ts';
import { type Programs, removeFolder, startPrograms } from '#test/support/programs.ts';
import { smallDisk } from '#test/support/small-disk.ts';
import { until } from '#test/support/until.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** Disks that are full or damaged, descriptors that run out, clocks that jump. */
const TOKEN = 'service-token-of-the-fault-tests-0123456789';
const stops: (() => unknown)[] = [];
afterAll(async () => {
  for (const stop of stops.toReversed()) await stop();
}, 60_000);

async function start(options: Parameters<typeof startPrograms>[0]): Promise<Programs> {
  const programs = await startPrograms(options);
  stops.push(async () => {
    await programs.stop('SIGKILL');
    // A file system of its own cannot be removed while it is mounted.
    if (programs.directory !== disk?.folder) removeFolder(programs);
  });
  await until(
    () => options?.role === 'server' || programs.output().includes('curl'),
    () => programs.output(),
  );
  await programs.signIn();
  return programs;
}

async function tools(url: string): Promise<string[]> {
  const client = await connectClient('v2', url);
  const names = await client.tools();
  await client.close();
  return names;
}

const disk = smallDisk(6);
if (disk !== null) stops.push(disk.remove);

test.skipIf(disk === null)(
  'a full disk: reads and tool calls go on, writes are refused with a sentence, and room heals it',
  async () => {
    const programs = await start({ env: { SVC_DATA_DIR: disk!.folder, SVC_GENERATED_DIR: join(disk!.folder, 'generated') } });
    const agent = await programs.api<{ token: string }>('POST', '/agent-tokens', {
      name: 'Claude',
      duration_minutes: 60,
      scopes: ['read'],
    });
    disk!.fill();
    const [item] = (await programs.api<{ items: { id: string }[] }>('GET', '/tools')).items;
    const refusals: string[] = [];
    for (let i = 0; i < 60 && refusals.length === 0; i++) {
      const write = programs.api('PATCH', `/tools/${item?.id}`, { description: `x${i}`.repeat(1_500) });
      await write.catch((error: Error) => refusals.push(error.message));
    }
    expect(refusals[0]).toMatch(/answered 50[37]: .*(disk|room|space)/i);
    const login = () =>
      fetch(`${programs.url}/api/v1/auth/login`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ username: 'ada', password: 'correct horse' }),
      });
    // What a larger write has left may be room for some smaller ones.
    let answer = await login();
    for (let n = 0; n < 20 && answer.ok; n++) answer = await login();
    expect([answer.status, await answer.text()]).toEqual([
      503,
      expect.stringContaining('The disk of the metadata database is full'),
    ]);
    await until(async () => (await fetch(`${programs.url}/readyz`)).status === 503);
    expect(await tools(programs.mcp_url)).toHaveLength(5);
    expect((await programs.api<{ total: number }>('GET', '/tools')).total).toBe(5);
    // That a credential was used cannot be stored.
    const authorization = `Bearer ${agent.token}`;
    expect((await fetch(`${programs.url}/api/v1/tools`, { headers: { authorization } })).status).toBe(200);
    disk!.empty();
    await until(async () => (await fetch(`${programs.url}/readyz`)).ok);
    await until(
      async () => (await programs.api('PATCH', `/tools/${item?.id}`, { description: 'There is room again' })) !== undefined,
    );
    await programs.api('POST', '/deploy', {});
    await programs.stop();
  },
  90_000,
);

test('a damaged snapshot on the host’s disk: the one before it is served, and /readyz says so', async () => {
  const token = { SVC_AGENT_SERVICE_TOKEN: TOKEN };
  const programs = await start({ role: 'server', env: token });
  const port = freePort();
  const data = mkdtempSync(join(tmpdir(), 'sluice-host-'));
  stops.push(() => rmSync(data, { recursive: true, force: true }));
  await programs.api('PATCH', '/server/config', { port });
  const host = () => {
    const child = Bun.spawn([process.execPath, 'mcp-host/main.ts'], {
      env: {
        PATH: process.env['PATH'] ?? '',
        SVC_ENV: 'dev',
        SVC_ENCRYPTION_KEY: secrets(programs.directory),
        SVC_SERVER_URL: programs.url,
        SVC_FASTMCP_PORT: String(port),
        SVC_DATA_DIR: data,
        SVC_SQLITE_DIR: join(programs.directory, 'databases'),
        ...token,
      },
      stdout: 'ignore',
      stderr: 'ignore',
    });
    stops.push(() => child.kill('SIGKILL'));
    return child;
  };
  const url = `http://127.0.0.1:${port}/mcp`;
  const first = host();
  await until(async () => (await programs.api<{ hosts: unknown[] }>('GET', '/deploy/status')).hosts.length === 1);
  await programs.api('POST', '/deploy', { note: 'the good one' });
  await until(async () => (await tools(url)).length === 5);
  const [item] = (await programs.api<{ items: { id: string }[] }>('GET', '/tools')).items;
  await programs.api('DELETE', `/tools/${item?.id}`);
  await programs.api('POST', '/deploy', { note: 'the one that is damaged' });
  await until(async () => (await tools(url)).length === 4);
  await programs.stop();
  first.kill('SIGKILL');
  await first.exited;
  const file = join(data, 'host/snapshot.json');
  const text = readFileSync(file, 'utf8');
  writeFileSync(file, text.slice(0, text.length / 2));
  host();
  await until(async () => (await tools(url)).length === 5);
  const ready = await fetch(`http://127.0.0.1:${port}/readyz`, { headers: { 'x-service-token': TOKEN } });
  expect(await ready.text()).toMatch(/damaged/);
}, 90_000);

/** The key that a development server made for itself. */
function secrets(directory: string): string {
  const made = JSON.parse(readFileSync(join(directory, 'dev-secrets.json'), 'utf8')) as Record<string, string>;
  return made['SVC_ENCRYPTION_KEY'] ?? '';
}

test('programs that run out of descriptors live on, and serve again when some are free', async () => {
  const main = fileURLToPath(new URL('../../server/main.ts', import.meta.url));
  const limited = ['sh', '-c', `ulimit -n ${DESCRIPTORS}; exec "$0" "$1"`, process.execPath, main];
  const programs = await start({ command: limited });
  const { pid } = programs.process;
  const before = descriptors(pid);
  for (const port of [programs.port, Number(new URL(programs.mcp_url).port)]) {
    const sockets = await Promise.all(Array.from({ length: 2 * DESCRIPTORS }, () => dial(port)));
    // What comes now waits or is refused; nothing ends because of it.
    await fetch(`http://127.0.0.1:${port}/livez`, { signal: AbortSignal.timeout(1_000) }).catch(() => undefined);
    for (const socket of sockets) socket.destroy();
    await until(async () => (await fetch(`http://127.0.0.1:${port}/livez`, { signal: AbortSignal.timeout(2_000) })).ok);
  }
  await until(
    async () => (await tools(programs.mcp_url)).length === 5,
    () => programs.output().slice(-3_000),
  );
  await programs.api('POST', '/deploy', { note: 'after the flood' });
  expect(programs.process.exitCode).toBeNull();
  expect(programs.output()).not.toContain('program ended');
  await until(
    () => descriptors(pid) <= before + 20,
    () => `${descriptors(pid)} descriptors, ${before} before`,
  );
}, 90_000);

const DESCRIPTORS = 160;

/** A connection that says nothing, or one that did not come about. */
const dial = (port: number): Promise<net.Socket> =>
  new Promise((resolve) => {
    const socket = net.connect(port, '127.0.0.1', () => resolve(socket));
    socket.on('error', () => resolve(socket));
    setTimeout(() => resolve(socket), 2_000);
  });

const descriptors = (pid: number): number => readdirSync(`/proc/${pid}/fd`).length;

describe('a clock that jumps', () => {
  test('back by a day: sessions hold and writes keep their order; ahead by two: they end', async () => {
    const t = await testApp();
    try {
      await t.signIn();
      t.advance(-86_400_000);
      const patch = (server_name: string) => t.send('config.update', { server_name });
      expect((await patch('earlier')).status).toBe(200);
      expect((await patch('earlier still')).status).toBe(200);
      const page = await t.call('history.list', { entity_type: 'server_config' });
      const items = (page as unknown as { items: { version_after: number }[] }).items.map((entry) => entry.version_after);
      expect(items).toEqual(items.toSorted((a, b) => b - a));
      t.advance(3 * 86_400_000);
      expect((await patch('later')).status).toBe(401);
    } finally {
      await t.close();
    }
  });
});

describe('a data folder that cannot be written', () => {
  const KEYS = Object.fromEntries(
    ['SVC_ENCRYPTION_KEY', 'SVC_JWT_SECRET', 'SVC_AGENT_SERVICE_TOKEN'].map((name) => [
      name,
      `${name}-0123456789-0123456789-0123456789`,
    ]),
  );
  /** The reason that a program prints when it does not start. */
  async function reasonOf(command: string[], env: Record<string, string>): Promise<string> {
    const child = Bun.spawn(command, {
      cwd: ROOT,
      env: { PATH: process.env['PATH'] ?? '', SVC_ENV: 'production', SVC_KV: 'memory', ...KEYS, ...env },
      stdout: 'ignore',
      stderr: 'pipe',
    });
    const text = await new Response(child.stderr).text();
    expect(await child.exited).toBe(1);
    return (JSON.parse(text) as { reason: string }).reason;
  }
  const PROGRAMS = [
    ['server', 'server/main.ts'],
    ['host', 'mcp-host/main.ts'],
  ] as const;

  test.skipIf(process.getuid?.() !== 0).each(PROGRAMS)(
    'of another user: the %s does not start, and says what to change',
    async (_, program) => {
      const folder = mkdtempSync(join(tmpdir(), 'sluice-foreign-'));
      stops.push(() => rmSync(folder, { recursive: true }));
      chownSync(folder, 65_534, 65_534);
      // Without the rights over files of others that root has.
      const command = ['setpriv', '--bounding-set', '-all', '--inh-caps', '-all', process.execPath, program];
      const reason = await reasonOf(command, { SVC_DATA_DIR: folder, SVC_SERVER_URL: 'http://127.0.0.1:1' });
      expect(reason).toStartWith(folder);
      expect(reason).toContain('Give it to the user that runs Sluice');
    },
  );

  test.skipIf(disk === null).each(PROGRAMS)(
    'on a disk for reading only: the %s does not start, and says what to change',
    async (_, program) => {
      const own = smallDisk(1);
      stops.push(own!.remove);
      Bun.spawnSync(['mount', '-o', 'remount,ro', own!.folder]);
      const reason = await reasonOf([process.execPath, program], {
        SVC_DATA_DIR: own!.folder,
        SVC_SERVER_URL: 'http://127.0.0.1:1',
      });
      expect(reason).toStartWith(own!.folder);
      expect(reason).toContain('Mount its disk for writing');
    },
  );
});
