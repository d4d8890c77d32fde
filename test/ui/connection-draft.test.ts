import { expect, test } from 'bun:test';
import type { Connection } from '#core/contract/definitions/connections.ts';
import {
  addressOf,
  changesOf,
  draftOf,
  emptyDraft,
  fieldsOf,
  isAdvanced,
  isAdvancedField,
  leftOut,
  parseAddress,
  withType,
} from '#ui/src/pages/connections/connection-draft.ts';
import { createFirstRun } from '#ui/src/kernel/first-run.ts';
import type { Storage } from '#ui/src/kernel/storage.ts';
import type { Call } from '#ui/src/api.ts';

const { password: _, ssl_key: _ssl_key, ssh: _ssh, ...empty } = emptyDraft({ db_type: 'postgresql', default_port: 5432 });
const stored: Connection = {
  ...empty,
  id: '0190b0c0-0000-7000-8000-000000000000',
  name: 'shop',
  host: 'db',
  database: 'shop',
  username: 'reader',
  password_set: true,
  ssl_key_set: false,
  ssh: null,
  version: 3,
  created_at: '2026-01-01T00:00:00.000Z',
  updated_at: '2026-01-01T00:00:00.000Z',
};

test('what is under Advanced shows when it differs from the defaults', () => {
  const draft = draftOf(stored);
  expect(isAdvanced(draft, ['options'])).toBe(false);
  expect(isAdvanced({ ...draft, read_only: true, port: 1, username: null }, [])).toBe(false);
  for (const change of [{ ssl_mode: 'require' }, { pool_size: 9 }, { enabled: false }, { ssl_ca: 'x' }] as const)
    expect(isAdvanced({ ...draft, ...change }, [])).toBe(true);
  const files = { ...draft, extra_params: { files: '{}' } };
  expect([isAdvanced(files, []), isAdvanced(files, ['files'])]).toEqual([false, true]);
  expect(['session_values.0.name', 'extra_params.options', 'pool_size', 'host', 'read_only'].map(isAdvancedField)).toEqual([
    true,
    true,
    true,
    false,
    false,
  ]);
});

test('a secret of an SSH server that is not typed is not sent, so the stored one stays', () => {
  const shown = {
    host: 'bastion',
    port: 22,
    username: 'tunnel',
    host_key: null,
    private_key_set: true,
    passphrase_set: false,
    password_set: false,
  };
  const behind: Connection = { ...stored, ssh: { ...shown, jump: [{ ...shown, password: { ref: 'env:GATE' } }] } };
  const draft = draftOf(behind);
  expect(changesOf(behind, draft)).toEqual({});
  const ssh = { ...draft.ssh!, private_key: null, port: 2222 };
  expect(changesOf(behind, { ...draft, ssh })).toEqual({
    ssh: {
      host: 'bastion',
      port: 2222,
      username: 'tunnel',
      host_key: null,
      jump: [{ host: 'bastion', port: 22, username: 'tunnel', host_key: null, password: { ref: 'env:GATE' } }],
    },
  });
  expect(withType(draft, { db_type: 'sqlite', default_port: null, ssh: false }).ssh).toBeNull();
});

test('only what differs is sent, and a password only when a new one was typed', () => {
  const draft = draftOf(stored);
  expect(changesOf(stored, draft)).toEqual({});
  expect(changesOf(stored, { ...draft, host: 'other', password: 'new', extra_params: {} })).toEqual({
    host: 'other',
    password: 'new',
  });
  expect(changesOf(stored, { ...draft, username: null })).toEqual({ username: null });
});

test('another kind of database keeps what both have and drops the rest', () => {
  const draft = { ...draftOf(stored), password: 'p', ssl_mode: 'require' as const };
  expect(withType(draft, { db_type: 'mysql', default_port: 3306 })).toMatchObject({
    host: 'db',
    port: 3306,
    username: 'reader',
    ssl_mode: 'require',
  });
  expect(withType(draft, { db_type: 'sqlite', default_port: null })).toMatchObject({
    host: null,
    port: null,
    username: null,
    password: null,
    ssl_mode: null,
    database: 'shop',
  });
});

test('settings and certificates that another kind of database lacks stay behind, as no field shows them', () => {
  const draft = {
    ...draftOf(stored),
    extra_params: { search_path: 'sales', charset: 'utf8mb4' },
    ssl_ca: 'PEM',
    ssl_cert: 'PEM',
    ssl_key: 'PEM',
  };
  const extra_fields = [{ name: 'charset', label: 'Charset', hint: '', type: 'text' as const, default: null, secret: false }];
  expect(withType(draft, { db_type: 'mysql', default_port: 3306, extra_fields })).toMatchObject({
    extra_params: { charset: 'utf8mb4' },
    ssl_ca: 'PEM',
  });
  expect(withType(draft, { db_type: 'sqlite', default_port: null, extra_fields: [] })).toMatchObject({
    extra_params: {},
    ssl_ca: null,
    ssl_cert: null,
    ssl_key: null,
  });
});

test('libSQL without TLS, as on this machine, can be chosen', () => {
  expect(fieldsOf('libsql').tls).toBe(true);
});

test('an address for one program is read too, and what no field takes is named', () => {
  const jdbc = 'jdbc:postgresql://db/shop?user=ada&password=50%25&search_path=sales&connect_timeout=3&connect_timeout=4';
  expect(parseAddress(jdbc, () => ['search_path'])).toEqual({
    db_type: 'postgresql',
    host: 'db',
    database: 'shop',
    username: 'ada',
    password: '50%',
    extra_params: { search_path: 'sales' },
  });
  expect(leftOut(jdbc, ['search_path'])).toEqual(['connect_timeout']);
  for (const [text, db_type] of [
    ['postgresql+psycopg://db/shop', 'postgresql'],
    ['mysql2://db/shop', 'mysql'],
    ['clickhouse://db/shop', 'clickhouse'],
  ] as const)
    expect(parseAddress(text)).toMatchObject({ db_type, host: 'db', database: 'shop' });
});

test('an address fills in the fields, whatever it lacks', () => {
  expect(parseAddress(' postgres://ada:s%40me@db.example.com:6432/shop?sslmode=verify-full ')).toEqual({
    db_type: 'postgresql',
    host: 'db.example.com',
    port: 6432,
    database: 'shop',
    username: 'ada',
    password: 's@me',
    ssl_mode: 'verify-full',
  });
  expect(parseAddress('mysql://[::1]/shop?ssl-mode=VERIFY_CA')).toEqual({
    db_type: 'mysql',
    host: '::1',
    database: 'shop',
    ssl_mode: 'verify-ca',
  });
  for (const text of ['', 'shop', 'https://db/shop', 'postgres:///shop', 'postgres://'])
    expect(parseAddress(text)).toBeUndefined();
});

test('an address with a stray percent sign is read as it stands', () => {
  expect(parseAddress('postgres://ada:50%@db%zz/shop%')).toMatchObject({ host: 'db%zz', password: '50%', database: 'shop%' });
});

test('a place is told in one line', () => {
  expect(addressOf(stored)).toBe('db:5432/shop');
  expect(addressOf({ host: '::1', port: 5432, database: 'a' })).toBe('[::1]:5432/a');
  expect(addressOf({ host: null, port: null, database: 'a.sqlite' })).toBe('a.sqlite');
});

/** A server that is as far as the numbers say. */
function serverAt(found: { connections: number; tools: number; version: number | null; calls: number }) {
  let asked = 0;
  const answers: Record<string, () => unknown> = {
    'connections.list': () => ({ total: found.connections }),
    'tools.list': () => ({ total: found.tools }),
    'deploy.status': () => ({ snapshot_version: found.version }),
    'logs.list': () => ({ total: found.calls }),
  };
  const call = (async (name: string) => {
    asked += 1;
    return answers[name]?.();
  }) as Call;
  return { call, asked: () => asked };
}

function memory(): Storage {
  const values = new Map<string, string>();
  return {
    read: (key) => values.get(key),
    write: (key, value) => void (value === undefined ? values.delete(key) : values.set(key, value)),
  };
}

test('the first steps are shown with the next one until all are done, and never again', async () => {
  const state = { connections: 1, tools: 0, version: null as number | null, calls: 0 };
  const { call, asked } = serverAt(state);
  const storage = memory();
  const first = createFirstRun(call, storage);
  expect([first.shown(), first.next()]).toEqual([false, undefined]);
  await first.reload();
  expect([first.shown(), first.next(), first.done()?.size]).toEqual([true, 'tool', 1]);
  Object.assign(state, { tools: 2, version: 1, calls: 1 });
  await Promise.all([first.reload(), first.reload()]);
  expect([first.shown(), first.next(), asked()]).toEqual([false, undefined, 8]);
  await first.reload();
  expect(asked()).toBe(8);
  expect(createFirstRun(call, storage).shown()).toBe(false);
  first.begin();
  await first.reload();
  expect(asked()).toBe(12);
});
