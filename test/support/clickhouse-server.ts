import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './free-port.ts';

/** Debian's package. */
const PROGRAM = ['/usr/sbin/clickhouse-server', '/usr/bin/clickhouse-server'].find((path) => existsSync(path)) ?? null;
export const hasClickhouse = PROGRAM !== null;
if (!hasClickhouse && process.env['CI'] === 'true') throw new Error('clickhouse-server is not installed.');

export interface ClickhouseServer {
  readonly port: number;
  /** Of its own protocol, which is not HTTP. */
  readonly native_port: number;
  readonly folder: string;
  /** Runs one statement beside the code under test, as an account that may do everything; the answer as it comes. */
  run(text: string): Promise<string>;
  kill(): Promise<void>;
  start(): Promise<void>;
  stop(): Promise<void>;
}

/** Accounts of the server, with passwords; `reader` and `loose` have profiles that read only (1 and 2). */
export const ACCOUNTS = {
  default: '',
  ada: 'pässword:1',
  reader: 'reads',
  loose: 'loose',
} as const;

const user = ([name, password]: readonly [string, string]): string => `<${name}><password>${password}</password>
  <networks><ip>::/0</ip></networks><quota>default</quota>
  <profile>${name === 'reader' || name === 'loose' ? name : 'default'}</profile></${name}>`;

/** A ClickHouse server with an empty database in a folder of its own. */
export async function startClickhouse(): Promise<ClickhouseServer> {
  if (PROGRAM === null) throw new Error('clickhouse-server is not installed.');
  const folder = await mkdtemp(join(tmpdir(), 'sluice-clickhouse-'));
  await mkdir(join(folder, 'data'));
  const port = freePort();
  const native_port = freePort();
  await Bun.write(
    join(folder, 'config.xml'),
    `<yandex><logger><level>error</level><log>${folder}/log</log><errorlog>${folder}/log</errorlog></logger>
     <http_port>${port}</http_port><tcp_port>${native_port}</tcp_port><listen_host>127.0.0.1</listen_host><path>${folder}/data/</path><tmp_path>${folder}/tmp/</tmp_path>
     <user_files_path>${folder}/files/</user_files_path><users_config>users.xml</users_config><default_profile>default</default_profile>
     <default_database>default</default_database><mark_cache_size>67108864</mark_cache_size><timezone>UTC</timezone></yandex>`,
  );
  await Bun.write(
    join(folder, 'users.xml'),
    `<yandex><profiles><default></default><reader><readonly>1</readonly></reader><loose><readonly>2</readonly></loose></profiles>
     <quotas><default></default></quotas><users>${Object.entries(ACCOUNTS).map(user).join('')}</users></yandex>`,
  );
  let program: Bun.Subprocess | null = null;

  async function run(text: string): Promise<string> {
    const response = await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body: text });
    const said = await response.text();
    if (!response.ok) throw new Error(said);
    return said.trim();
  }

  const server: ClickhouseServer = {
    port,
    native_port,
    folder,
    run,
    async start() {
      program = Bun.spawn([PROGRAM, `--config-file=${folder}/config.xml`], {
        cwd: folder,
        stdio: ['ignore', 'ignore', 'ignore'],
      });
      for (let i = 0; ; i++) {
        try {
          await run('SELECT 1');
          return;
        } catch (error) {
          if (i === 200) throw error;
          await Bun.sleep(50);
        }
      }
    },
    async kill() {
      program?.kill('SIGKILL');
      await program?.exited;
    },
    async stop() {
      await server.kill();
      await rm(folder, { recursive: true, force: true });
    },
  };
  await server.start();
  return server;
}
