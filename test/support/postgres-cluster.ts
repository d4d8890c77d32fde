import { existsSync, globSync } from 'node:fs';
import { chmod, chown, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { freePort } from './free-port.ts';
import type { Certificate } from './certificates.ts';

/** A PostgreSQL server of a test's own, with the data in a temporary folder. */
export interface Cluster {
  readonly port: number;
  /** Presents another certificate from now on. */
  present(certificate: Certificate): Promise<void>;
  /** Replaces pg_hba.conf. */
  allow(...lines: string[]): Promise<void>;
  restart(): Promise<void>;
  remove(): Promise<void>;
}

export const PASSWORD = 'correct horse battery staple';
const BIN = ['/usr/lib/postgresql/*/bin/initdb', '/usr/pgsql-*/bin/initdb', '/opt/homebrew/opt/postgresql*/bin/initdb'];
const initdb = BIN.flatMap((pattern) => globSync(pattern)).at(-1) ?? Bun.which('initdb');

/** A PostgreSQL that runs as root refuses to start, so root lends the cluster to the account `postgres`. */
export const is_root = process.getuid?.() === 0;
export const canCreateCluster =
  initdb !== null && Bun.which('openssl') !== null && (!is_root || existsSync('/var/lib/postgresql'));

export async function createCluster(ca: string, certificate: Certificate): Promise<Cluster> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-pg-'));
  const data = join(folder, 'data');
  const port = freePort();
  await shared(folder);
  const password = join(folder, 'password');
  await put(password, PASSWORD);
  await run('initdb', '-D', data, '-U', 'postgres', '-A', 'scram-sha-256', `--pwfile=${password}`, '--no-sync', '-E', 'UTF8');
  await put(join(data, 'ca.pem'), ca);
  const settings = [
    `port = ${port}`,
    `listen_addresses = '127.0.0.1'`,
    `unix_socket_directories = ''`,
    'fsync = off',
    'shared_buffers = 16MB',
    'max_connections = 20',
    'ssl = on',
    `ssl_cert_file = 'server.pem'`,
    `ssl_key_file = 'server.key'`,
    `ssl_ca_file = 'ca.pem'`,
  ];
  await put(join(data, 'postgresql.auto.conf'), `${settings.join('\n')}\n`);

  const control = (...args: string[]) => run('pg_ctl', '-D', data, '-w', '-t', '30', '-l', join(folder, 'log'), ...args);
  const write = async ({ cert, key }: Certificate) => {
    await put(join(data, 'server.pem'), cert);
    await put(join(data, 'server.key'), key);
  };
  await write(certificate);
  await control('start');

  return {
    port,
    async present(next) {
      await write(next);
      await control('reload');
      await Bun.sleep(200);
    },
    async allow(...lines) {
      await put(join(data, 'pg_hba.conf'), `${lines.join('\n')}\n`);
      await control('reload');
      await Bun.sleep(200);
    },
    restart: () => control('-m', 'fast', 'restart'),
    async remove() {
      await control('-m', 'immediate', 'stop');
      await rm(folder, { recursive: true, force: true });
    },
  };
}

export async function put(path: string, text: string): Promise<void> {
  await Bun.write(path, text);
  await chmod(path, 0o600);
  if (is_root) await lend(path);
}

/** Root lends a folder to the account that the server runs as. */
export async function shared(folder: string): Promise<void> {
  if (is_root) await lend(folder);
}

async function lend(path: string): Promise<void> {
  const [user, group] = (await Bun.$`id -u postgres; id -g postgres`.text()).trim().split('\n').map(Number);
  await chown(path, user!, group!);
}

export const run = (program: string, ...args: string[]): Promise<void> => runIn(dirname(initdb ?? ''), program, ...args);

export async function runIn(folder: string, program: string, ...args: string[]): Promise<void> {
  const path = join(folder, program);
  const command = is_root ? ['su', 'postgres', '-s', '/bin/sh', '-c', [path, ...args].map(quote).join(' ')] : [path, ...args];
  // Not piped: the server would inherit the pipe and keep it open.
  const child = Bun.spawn(command, { cwd: '/', stdin: 'ignore', stdout: 'ignore', stderr: 'ignore' });
  if ((await child.exited) !== 0) throw new Error(`${program} ${args.at(-1)} failed`);
}

function quote(word: string): string {
  return `'${word.replaceAll(`'`, `'\\''`)}'`;
}
