import { expect, test } from 'bun:test';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DbType } from '#core/contract/definitions/connections.ts';
import { checkTarget, CONNECTION_TYPES, dialectNamed, ENGINES, kindOf, kindOfServer, openSource } from '#core/engines/index.ts';
import { extraFault } from '#core/engines/shared/extras.ts';
import { localPolicy } from '#test/support/databases.ts';
import { refusal } from './suite.ts';

const root = join(import.meta.dir, '../../../..');
const names = [...new Set([...DbType.options, ...ENGINES.map(({ name }) => name)])];

test('every kind of database of the contract has one engine, and every engine a folder', () => {
  const kinds = ENGINES.flatMap((engine) => engine.kinds.map(({ db_type }) => db_type));
  expect(kinds.toSorted()).toEqual(DbType.options.toSorted());
  expect(CONNECTION_TYPES.map(({ db_type }) => db_type)).toEqual(kinds);
  const folders = readdirSync(join(root, 'core/engines'), { withFileTypes: true }).filter((entry) => entry.isDirectory());
  expect(folders.map(({ name }) => name).toSorted()).toEqual(['shared', ...ENGINES.map(({ name }) => name)].toSorted());
  for (const { name, dialect, project } of ENGINES) {
    expect(existsSync(join(root, `core/engines/${name}/descriptor.ts`))).toBe(true);
    expect(existsSync(join(root, project.driver))).toBe(true);
    expect(dialectNamed(dialect.name)).toBe(dialect);
  }
});

test('a server is the kind of database that its version says, else the one that was chosen', () => {
  const plain = 'PostgreSQL 15.8 on x86_64-pc-linux-gnu, compiled by gcc';
  const red = 'PostgreSQL 8.0.2 on i686-pc-linux-gnu, compiled by GCC gcc (GCC) 3.4.2, Redshift 1.0.77467';
  const green = 'PostgreSQL 9.4.26 (Greenplum Database 6.25.3 build commit:367edc6b)';
  const roach = 'CockroachDB CCL v23.1.11 (x86_64-pc-linux-gnu)';
  for (const [chosen, version, is] of [
    ['mysql', 'MariaDB 10.11.6', 'mariadb'],
    ['mariadb', 'MariaDB 10.11.6', 'mariadb'],
    ['mariadb', 'MySQL 8.4.0', 'mysql'],
    ['postgresql', plain, 'postgresql'],
    ['supabase', plain, 'supabase'],
    ['timescaledb', plain, 'timescaledb'],
    ['redshift', plain, 'postgresql'],
    ['postgresql', red, 'redshift'],
    ['supabase', green, 'greenplum'],
    ['postgresql', roach, 'cockroachdb'],
    ['sqlite', 'SQLite 3.46.0', 'sqlite'],
  ] as const)
    expect([version, kindOfServer(chosen, version)]).toEqual([version, is]);
});

test.each(ENGINES)('the driver of $name loads, and its settings take their own defaults', async ({ open, extras }) => {
  expect(await open()).toBeFunction();
  for (const extra of extras)
    expect([extra.field.name, extraFault(extra, extra.field.default)]).toEqual([extra.field.name, null]);
});

test('a kind of database has a name in traces', () => {
  const found = DbType.options.map((db_type) => kindOf(db_type).kind.telemetry);
  expect(found.every((name) => /^[a-z_.]+$/.test(name))).toBe(true);
});

const UNNAMED = {
  host: '127.0.0.1',
  port: null,
  database: 'own',
  username: null,
  password: null,
  ssl_mode: 'disable',
  ssl_ca: null,
  ssl_cert: null,
  ssl_key: null,
  extra_params: {},
  pool_size: 1,
} as const;

test.each(
  ENGINES.flatMap(({ kinds }) => kinds.flatMap(({ db_type, default_port: port }) => (port === null ? [] : [{ db_type, port }]))),
)('a connection to $db_type without a port is checked and dialled on port $port', async ({ db_type, port }) => {
  const policy = { ...localPolicy, forbidden: [{ host: '127.0.0.1', port }] };
  const settings = { ...UNNAMED, db_type };
  expect(await refusal(checkTarget(settings, policy))).toMatchObject({ code: 'private_network_blocked' });
  const source = await openSource(settings, policy);
  expect(await refusal(source.test())).toMatchObject({ code: 'private_network_blocked' });
  await source.close();
});

/** Files that may name an engine outside of `core/engines`, and why. */
const NAMED: Readonly<Record<string, string>> = {
  'agent/tools/texts-configure.ts': 'an example for a model',
  'core/contract/definitions/connections.ts': 'the type of the field itself',
  'server/demo.ts': 'the sample shop is a SQLite file',
  'core/definitions/connections.ts': 'the sample shop is a SQLite file',
  'core/platform/leases.ts': 'the metadata database',
  'core/observe/calls-of-client.ts': 'the metadata database',
  'core/observe/call-filters.ts': 'the metadata database',
  'core/observe/sessions/mcp-sessions.ts': 'the metadata database',
  'core/observe/metrics/callers.ts': 'the metadata database',
  'core/observe/metrics/read.ts': 'the metadata database',
  'core/observe/usage.ts': 'the metadata database',
  'server/http/stored-metrics.ts': 'the metadata database',
  'core/proposals/memory-store.ts': 'a copy of the metadata database',
  'snapshots/generate/project/definitions.ts': 'the grammar that a generated project reads its statements in',
  'snapshots/generate/project/sql.ts': 'a generated project binds by itself, without what the engines need to judge',
};
const METADATA = /^core\/store\//;

test('no list of engines stands anywhere but in core/engines', () => {
  const literal = new RegExp(`['"\`](${names.join('|')})['"\`]|^\\s*(${names.join('|')}):\\s`, 'm');
  const files = ['core', 'mcp-host', 'server', 'agent', 'snapshots'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('.ts'))
      .map((path) => `${folder}/${path}`),
  );
  const found = files.filter(
    (path) => !path.startsWith('core/engines/') && !METADATA.test(path) && literal.test(withoutComments(path)),
  );
  expect(found.toSorted()).toEqual(Object.keys(NAMED).toSorted());
});

function withoutComments(path: string): string {
  return readFileSync(join(root, path), 'utf8').replaceAll(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$|^import .*$/gm, '');
}
