import net from 'node:net';
import mysql from 'mysql2/promise';
import postgres from 'postgres';
import type { ConnectionSettings } from '#core/engines/shared/connection-settings.ts';
import type { DialPolicy } from '#core/engines/shared/source.ts';

const servers = {
  // The runner has another version of it for some files.
  postgres: { host: '127.0.0.1', port: Number(process.env['TEST_POSTGRES_PORT'] ?? 5432), username: 'postgres', password: '' },
  mysql: { host: '127.0.0.1', port: 3306, username: 'root', password: '' },
  redis: { host: '127.0.0.1', port: 6379, username: '', password: '' },
} as const;

type ServerName = keyof typeof servers;

/** Which servers answer: tests of the others are skipped by name, and fail when CI=true. */
export const reachable: Readonly<Record<ServerName, boolean>> = {
  postgres: await answers('postgres'),
  mysql: await answers('mysql'),
  redis: await answers('redis'),
};

export const redisUrl = `redis://${servers.redis.host}:${servers.redis.port}`;

/** The servers of the tests are on this machine. */
export const localPolicy: DialPolicy = { allow_private_networks: true, forbidden: [], sqlite_dir: '/nonexistent' };

export interface TestDatabase {
  readonly settings: ConnectionSettings;
  /** As a URL, for the metadata database. */
  readonly url: string;
  /** Runs statements as the superuser, beside the code under test. */
  run(text: string): Promise<Record<string, unknown>[]>;
  drop(): Promise<void>;
}

/** A fresh, uniquely named database of a server that is reachable. @param template of PostgreSQL: what it is a copy of. */
export async function testDatabase(kind: 'postgresql' | 'mysql', template?: string): Promise<TestDatabase> {
  const name = `sluice_test_${crypto.randomUUID().replaceAll('-', '').slice(0, 16)}`;
  return kind === 'postgresql' ? postgresDatabase(name, template) : mysqlDatabase(name);
}

async function postgresDatabase(name: string, template = 'template1'): Promise<TestDatabase> {
  const { host, port, username } = servers.postgres;
  const options = { host, port, username, max: 1, onnotice: () => {} };
  const admin = postgres({ ...options, database: 'postgres' });
  await admin.unsafe(`create database ${name} template ${template}`);
  // Nothing that a test stores has to outlive a fall of the machine.
  await admin.unsafe(`alter database ${name} set synchronous_commit = off`);
  const inside = postgres({ ...options, database: name });
  return {
    settings: settingsOf('postgresql', 'postgres', name),
    url: `postgres://${username}@${host}:${port}/${name}`,
    run: async (text) => [...(await inside.unsafe(text))],
    drop: async () => {
      await inside.end();
      await admin.unsafe(`drop database if exists ${name} with (force)`);
      await admin.end();
    },
  };
}

async function mysqlDatabase(name: string): Promise<TestDatabase> {
  const { host, port, username, password } = servers.mysql;
  const admin = await mysql.createConnection({ host, port, user: username, password, multipleStatements: true });
  await admin.query(`create database ${name}`);
  await admin.query(`use ${name}`);
  return {
    settings: settingsOf('mysql', 'mysql', name),
    url: `mysql://${username}@${host}:${port}/${name}`,
    run: async (text) => {
      const [rows] = await admin.query<mysql.RowDataPacket[]>(text);
      return Array.isArray(rows) ? rows : [];
    },
    drop: async () => {
      await admin.query(`drop database if exists ${name}`);
      await admin.end();
    },
  };
}

export function settingsOf(db_type: ConnectionSettings['db_type'], server: ServerName, database: string): ConnectionSettings {
  const { host, port, username, password } = servers[server];
  return {
    db_type,
    host,
    port,
    database,
    username,
    password,
    ssl_mode: null,
    ssl_ca: null,
    ssl_cert: null,
    ssl_key: null,
    extra_params: {},
    pool_size: 4,
  };
}

async function answers(server: ServerName): Promise<boolean> {
  const { host, port } = servers[server];
  const open = await new Promise<boolean>((resolve) => {
    const socket = net.connect({ host, port, timeout: 2_000 });
    const end = (result: boolean) => {
      socket.destroy();
      resolve(result);
    };
    socket.once('connect', () => end(true));
    socket.once('error', () => end(false));
    socket.once('timeout', () => end(false));
  });
  if (!open && process.env['CI'] === 'true') throw new Error(`${server} is not reachable at ${host}:${port}`);
  return open;
}
