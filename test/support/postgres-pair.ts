import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import postgres from 'postgres';
import { freePort } from './free-port.ts';
import { put, run, shared } from './postgres-cluster.ts';

interface Member {
  readonly port: number;
  /** Runs statements beside the code under test. */
  run(text: string): Promise<Record<string, unknown>[]>;
  /** Ends it as a crash does. */
  kill(): Promise<void>;
}

/** A PostgreSQL primary and its streaming standby, without passwords. */
export interface PostgresPair {
  readonly primary: Member;
  readonly standby: Member & { promote(): Promise<void> };
  remove(): Promise<void>;
}

const SETTINGS = [
  `listen_addresses = '127.0.0.1'`,
  `unix_socket_directories = ''`,
  'fsync = off',
  'shared_buffers = 16MB',
  'max_connections = 30',
  'wal_receiver_status_interval = 1',
];

export async function startPostgresPair(): Promise<PostgresPair> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-pair-'));
  await shared(folder);
  const [first, second] = [join(folder, 'primary'), join(folder, 'standby')];
  const [port, standby_port] = [freePort(), freePort()];
  await run('initdb', '-D', first, '-U', 'postgres', '-A', 'trust', '--no-sync', '-E', 'UTF8');
  await put(join(first, 'postgresql.auto.conf'), `${[`port = ${port}`, ...SETTINGS].join('\n')}\n`);
  const control = (data: string, ...args: string[]) => run('pg_ctl', '-D', data, '-w', '-t', '30', '-l', `${data}.log`, ...args);
  await control(first, 'start');
  const source = ['-h', '127.0.0.1', '-p', String(port), '-U', 'postgres'];
  await run('pg_basebackup', ...source, '-D', second, '-X', 'stream', '-c', 'fast', '--no-sync', '-R');
  const copied = await Bun.file(join(second, 'postgresql.auto.conf')).text();
  await put(join(second, 'postgresql.auto.conf'), `${copied}\nport = ${standby_port}\n`);
  await control(second, 'start');
  const alive = new Set([first, second]);

  const member = (data: string, at: number): Member => {
    const sql = postgres({ host: '127.0.0.1', port: at, username: 'postgres', database: 'postgres', max: 1, onnotice: () => {} });
    return {
      port: at,
      run: async (text) => [...(await sql.unsafe(text))],
      async kill() {
        if (!alive.delete(data)) return;
        await sql.end({ timeout: 1 });
        await control(data, '-m', 'immediate', 'stop');
      },
    };
  };
  const primary = member(first, port);
  const standby = member(second, standby_port);
  return {
    primary,
    standby: { ...standby, promote: () => control(second, 'promote') },
    async remove() {
      await Promise.all([primary.kill(), standby.kill()]);
      await rm(folder, { recursive: true, force: true });
    },
  };
}
