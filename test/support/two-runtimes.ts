import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { denoCommand } from './deno.ts';
import { type ProgramOptions, type Programs, removeFolder, startPrograms } from './programs.ts';
import { until } from './until.ts';

const ROOT = join(import.meta.dir, '../..');
const SECRET = 'r'.repeat(16) + '0123456789abcdefg';
const PROGRAM = 'mcp-host/main.ts';
const COMMANDS = { Bun: [process.execPath, PROGRAM], Deno: denoCommand(PROGRAM) } as const;

export interface RuntimeHost {
  readonly runtime: keyof typeof COMMANDS;
  readonly url: string;
  readonly pid: number;
}

/** One server, a host on Bun and one on Deno. */
export interface TwoRuntimes {
  readonly server: Programs;
  /** Starts the hosts, and waits until both serve what is deployed. */
  startHosts(): Promise<RuntimeHost[]>;
  stop(): Promise<void>;
}

export async function startTwoRuntimes(env: NonNullable<ProgramOptions['env']> = {}): Promise<TwoRuntimes> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-two-runtimes-'));
  const shared = {
    SVC_ENV: 'dev',
    SVC_ENCRYPTION_KEY: SECRET,
    SVC_JWT_SECRET: SECRET,
    SVC_AGENT_SERVICE_TOKEN: SECRET,
    SVC_SQLITE_DIR: join(folder, 'databases'),
    SVC_ALLOW_PRIVATE_NETWORKS: 'true',
    // Each host of the one machine takes a free port.
    SVC_FASTMCP_PORT: '0',
    ...env,
  };
  const children: Bun.Subprocess[] = [];
  const server = await startPrograms({ role: 'server', env: shared });
  interface Status {
    readonly hosts: readonly { readonly url: string; readonly snapshot_version: number | null }[];
    readonly snapshot_version: number;
  }
  /** Addresses of the hosts that serve the deployed version. */
  const served = async (): Promise<string[]> => {
    const { hosts, snapshot_version } = await server.api<Status>('GET', '/deploy/status');
    return hosts.filter((host) => host.snapshot_version === snapshot_version).map(({ url }) => url);
  };
  const startHost = async (runtime: RuntimeHost['runtime']): Promise<RuntimeHost> => {
    const before = await served();
    const own = { SVC_SERVER_URL: server.url, SVC_DATA_DIR: join(folder, runtime), HOME: process.env['HOME'] ?? '' };
    const child = Bun.spawn([...COMMANDS[runtime]], {
      cwd: ROOT,
      env: { PATH: process.env['PATH'] ?? '', ...shared, ...own },
      stdout: 'ignore',
      stderr: 'inherit',
    });
    children.push(child);
    let url: string | undefined;
    const isServed = async () => {
      url = (await served()).find((each) => !before.includes(each));
      return url !== undefined;
    };
    await until(isServed, () => server.output());
    return { runtime, url: `${url}/mcp`, pid: child.pid };
  };
  return {
    server,
    startHosts: async () => [await startHost('Bun'), await startHost('Deno')],
    async stop() {
      for (const child of children) {
        child.kill('SIGKILL');
        await child.exited;
      }
      await server.stop();
      removeFolder(server);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
