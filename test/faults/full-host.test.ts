import { afterAll, expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { connectClient } from '#test/support/mcp-clients.ts';
import { removeFolder, startPrograms } from '#test/support/programs.ts';
import { smallDisk } from '#test/support/small-disk.ts';
import { until } from '#test/support/until.ts';

const SECRET = 'h'.repeat(16) + '0123456789abcdefg';
const FAULT = 'The deployed version could not be saved: the disk is full.';

const stops: (() => unknown)[] = [];
afterAll(async () => {
  for (const stop of stops.toReversed()) await stop();
}, 60_000);

const disk = smallDisk(1);
if (disk !== null) stops.push(disk.remove);

interface Status {
  readonly hosts: readonly { readonly snapshot_version: number; readonly disk_fault: string | null }[];
}
interface Events {
  readonly items: readonly { readonly message: string; readonly ended_at: string | null }[];
}

test.skipIf(disk === null)(
  'a host whose disk is full says so everywhere, and saves what it serves once there is room',
  async () => {
    const secrets = { SVC_ENCRYPTION_KEY: SECRET, SVC_JWT_SECRET: SECRET, SVC_AGENT_SERVICE_TOKEN: SECRET };
    const programs = await startPrograms({ role: 'server', env: secrets });
    stops.push(async () => {
      await programs.stop('SIGKILL');
      removeFolder(programs);
    });
    await until(() => programs.output().includes('curl'));
    await programs.signIn();
    const { api } = programs;
    const { port } = new URL(programs.mcp_url);
    const start = () => {
      const child = Bun.spawn([process.execPath, 'mcp-host/main.ts'], {
        env: {
          PATH: process.env['PATH'] ?? '',
          SVC_ENV: 'dev',
          SVC_SERVER_URL: programs.url,
          SVC_FASTMCP_PORT: port,
          SVC_DATA_DIR: disk!.folder,
          SVC_SQLITE_DIR: join(programs.directory, 'databases'),
          ...secrets,
        },
        stdout: 'ignore',
        stderr: 'ignore',
      });
      stops.push(() => child.kill('SIGKILL'));
      return child;
    };
    const probe = async (path: string) =>
      (await fetch(`http://127.0.0.1:${port}${path}`, { headers: { 'x-service-token': SECRET } })).text();
    const served = async () => {
      const client = await connectClient('v2', `http://127.0.0.1:${port}/mcp`);
      const names = await client.tools();
      await client.close();
      return names.length;
    };
    const hostNow = async () => (await api<Status>('GET', '/deploy/status')).hosts[0];
    const notices = async () => (await api<Events>('GET', '/notices/events?event=host_disk')).items;

    const host = start();
    await until(async () => (await hostNow())?.snapshot_version !== undefined);
    await api('POST', '/deploy', {});
    await until(async () => (await served()) === 5);
    expect((await hostNow())?.disk_fault).toBeNull();

    disk!.fill();
    const [item] = (await api<{ items: { id: string }[] }>('GET', '/tools')).items;
    await api('DELETE', `/tools/${item?.id}`);
    const { warnings } = await api<{ warnings: string[] }>('POST', '/deploy', {});
    expect(warnings.join('\n')).toContain(FAULT);
    expect(await served()).toBe(4);
    expect((await hostNow())?.disk_fault).toContain(FAULT);
    expect(await probe('/readyz')).toContain(FAULT);
    const { not_saved } = JSON.parse(await probe('/health')) as { not_saved: string[] };
    // The signatures of the version come right before it.
    expect(not_saved.toSorted()).toEqual([FAULT, FAULT.replace('deployed version', 'signatures of definitions')].toSorted());
    expect(await probe('/metrics')).toMatch(/^sluice_copies_not_saved 2$/m);
    await until(async () => (await notices())[0]?.ended_at === null);
    expect((await notices())[0]?.message).toContain(FAULT);

    disk!.empty();
    await until(async () => (await hostNow())?.disk_fault === null);
    await until(async () => (await notices())[0]?.ended_at !== null);
    expect(await probe('/readyz')).not.toContain('could not be saved');

    // It holds after a restart without the server too.
    await programs.stop();
    host.kill('SIGKILL');
    await host.exited;
    const again = start();
    await until(async () => (await served()) === 4);
    again.kill('SIGKILL');
    await again.exited;
    rmSync(join(disk!.folder, 'host'), { recursive: true, force: true });
  },
  120_000,
);
