import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { ConnectionPatch } from '#core/contract/definitions/connections.ts';
import { type ListeningAgent, listeningAgent } from '#test/support/agent.ts';
import { createAuthority } from '#test/support/certificates.ts';
import { connectHost } from '#test/support/host.ts';
import type { McpClient } from '#test/support/mcp-clients.ts';

const DRAFT = {
  name: 'shop',
  db_type: 'postgresql',
  host: '192.0.2.10',
  port: 5432,
  database: 'shop',
  username: 'reader',
  password: 'canary-password',
};

const TOOL = { description: 'Lists.', sql_query: 'select 1 as one' };

/** What decides where a secret is sent, each with a change. */
const MOVES: Readonly<Record<string, Record<string, unknown>>> = {
  db_type: { db_type: 'mysql' },
  host: { host: '192.0.2.66' },
  port: { port: 6543 },
  database: { database: 'other' },
  username: { username: 'other' },
  ssl_ca: { ssl_ca: 'CERTIFICATE' },
  ssl_mode: { ssl_mode: 'disable' },
};
/** What a token changes freely; a new field belongs to one of the lists. */
const HARMLESS =
  'id version name enabled password ssl_cert ssl_key extra_params pool_size max_concurrency queue_limit queue_timeout_ms query_timeout_ms max_rows max_bytes target'.split(
    ' ',
  );
/** What the database is told of callers is an administrator's: a token is refused. */
const ADMINISTRATORS = {
  session_values: { session_values: [{ name: 'app.sub', from: 'caller.sub' }] },
  session_role: { session_role: { from: 'caller.groups', allow: ['reader'] } },
};
/** What only people change: a token is refused. */
const OF_PEOPLE = { ssh: { ssh: { host: '192.0.2.66', username: 'tunnel' } } };

let a: ListeningAgent;
let token: string;
let client: McpClient;
let id: string;
beforeAll(async () => {
  a = await listeningAgent();
  connectHost(a.s.server.app);
  token = await a.token();
  client = await a.client('v2', token);
  id = (await a.s.send('connections.create', DRAFT)).body.id;
});
afterAll(async () => {
  await client.close();
  await a.stop();
});

const stored = async () => await a.s.call('connections.get', { id });

test('every field of a connection is of one kind', () => {
  const fields = [...Object.keys(MOVES), ...HARMLESS, ...Object.keys({ ...ADMINISTRATORS, ...OF_PEOPLE }), 'read_only'];
  expect(fields.toSorted()).toEqual(Object.keys(ConnectionPatch.entries).toSorted());
});

test('a token neither adds an SSH server nor creates a connection through one', async () => {
  const before = await stored();
  expect((await rest('PATCH', `/connections/${id}`, OF_PEOPLE.ssh)).status).toBe(403);
  expect((await rest('POST', '/connections', { ...DRAFT, name: 'tunnelled', ...OF_PEOPLE.ssh })).status).toBe(403);
  expect(await stored()).toEqual(before);
});

test('a token does not say what the database is told of callers', async () => {
  for (const change of Object.values(ADMINISTRATORS)) {
    expect([change, (await rest('PATCH', `/connections/${id}`, change)).status]).toEqual([change, 403]);
  }
});

test('a token may not send a kept password elsewhere: by a change, an import, or an undone change', async () => {
  const before = await stored();
  for (const change of Object.values(MOVES)) {
    const answer = await client.call('update_connection', { connection_id: 'shop', ...change });
    expect([answer.isError, answer.content[0]?.text]).toEqual([true, expect.stringContaining('password')]);
  }
  const { password: _, ...rest } = DRAFT;
  const imported = await fetch(`${a.s.url}/api/v1/export-import/import?mode=overwrite`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ format: 'sluice/1', connections: [{ ...rest, host: '192.0.2.66' }] }),
  });
  expect([imported.status, await imported.text()]).toEqual([422, expect.stringContaining('password')]);
  expect(await stored()).toEqual(before);

  await a.s.call('connections.update', { id, host: '192.0.2.11' });
  const [entry] = (await a.s.call('history.entity', { entity_type: 'connection', entity_id: id })).items;
  const undone = await client.call('rollback', { history_id: entry?.id ?? '' });
  expect([undone.isError, undone.content[0]?.text]).toEqual([true, expect.stringContaining('password')]);
  expect((await stored()).host).toBe('192.0.2.11');
});

const authority = await createAuthority('named');
afterAll(() => authority.remove());
const CA = authority.ca;
/** Without a mode these verify the certificate in full; all but the last of these modes verify less. */
const VERIFIED: readonly [string, Record<string, unknown>][] = [
  ['clickhouse', { db_type: 'clickhouse', port: 8443 }],
  ['libsql', { db_type: 'libsql', port: null, username: null }],
  ['postgresql with an authority', { ssl_ca: CA }],
  ['mysql with an authority', { db_type: 'mysql', ssl_ca: CA }],
];
const WEAKER = ['disable', 'require', 'verify-ca'];

test.each(VERIFIED)('a token may not have less verified before a kept password is sent: %s', async (kind, settings) => {
  const name = `verified ${kind}`;
  const made = await a.s.send('connections.create', { ...DRAFT, ...settings, name });
  expect([made.status, made.body.ssl_mode]).toEqual([201, null]);
  const path = `/connections/${made.body.id}`;
  for (const ssl_mode of WEAKER) {
    const refused = { status: 422, detail: expect.stringMatching(/ssl_mode.*password/) };
    expect([ssl_mode, await rest('PATCH', path, { ssl_mode })]).toEqual([ssl_mode, refused]);
  }
  expect((await a.s.call('connections.get', { id: made.body.id })).ssl_mode).toBeNull();
  expect((await rest('PATCH', path, { ssl_mode: 'verify-full' })).status).toBe(200);
  expect((await rest('PATCH', path, { ssl_mode: null })).status).toBe(200);
});

test('a token may have more verified', async () => {
  const made = await a.s.send('connections.create', { ...DRAFT, name: 'automatic' });
  const path = `/connections/${made.body.id}`;
  for (const ssl_mode of ['require', 'verify-ca', 'verify-full']) {
    expect([ssl_mode, (await rest('PATCH', path, { ssl_mode })).status]).toEqual([ssl_mode, 200]);
  }
  expect((await rest('PATCH', path, { ssl_mode: null })).status).toBe(422);
});

test('with the password in the same call it may, and no answer or log holds it', async () => {
  const changed = await client.call('update_connection', { connection_id: 'shop', host: '192.0.2.12', password: 'canary-two' });
  expect(changed.structuredContent).toMatchObject({ host: '192.0.2.12', password_set: true });
  const shown = [
    changed,
    await client.call('get_connection', { connection_id: 'shop' }),
    await client.call('list_history', { entity_type: 'connection', details: true }),
    await client.call('export_config', {}),
    await client.call('get_flow_layout', {}),
    await a.s.call('agent_activity.list', {}),
  ];
  expect(JSON.stringify(shown)).not.toContain('canary');
});

test('a connection that is deleted and brought back keeps its password at the last address only', async () => {
  const entries = (await a.s.call('history.entity', { entity_type: 'connection', entity_id: id })).items;
  const gone = (await client.call('delete_connection', { connection_id: 'shop' })).structuredContent;
  // An entry from when it had another address.
  const earlier = await client.call('rollback', { history_id: entries[0]?.id ?? '' });
  expect([earlier.isError, earlier.content[0]?.text]).toEqual([true, expect.stringContaining('password')]);
  expect((await client.call('rollback', { history_id: String(gone?.['history_id']) })).isError).toBeUndefined();
  expect((await stored()).host).toBe('192.0.2.12');
});

const rest = async (method: string, path: string, body: unknown) => {
  const response = await fetch(`${a.s.url}/api/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return { status: response.status, detail: String(((await response.json()) as { detail?: string }).detail) };
};

describe('a connection that an administrator made read-only', () => {
  const READ_ONLY = { name: 'ledger', db_type: 'sqlite', database: 'ledger.sqlite', read_only: true };
  let ledger: string;
  const newest = async () =>
    String((await a.s.call('history.entity', { entity_type: 'connection', entity_id: ledger })).items[0]?.id);
  beforeAll(async () => {
    mkdirSync(a.s.server.app.env.SVC_SQLITE_DIR, { recursive: true });
    new Database(join(a.s.server.app.env.SVC_SQLITE_DIR, 'ledger.sqlite'), { create: true }).run('create table entries (id int)');
    const made = await a.s.send('connections.create', { ...READ_ONLY, read_only: false });
    ledger = made.body.id;
    await a.s.call('tools.create', { ...TOOL, name: 'entries', connection_id: ledger, sql_query: 'select id from entries' });
    await a.s.call('connections.update', { id: ledger, read_only: true });
  });
  const stays = async () => expect((await a.s.call('connections.get', { id: ledger })).read_only).toBe(true);

  test('is made writable by no change, import or rollback of a token', async () => {
    const refused = { status: 403, detail: expect.stringContaining('read_only') };
    expect(await rest('PATCH', `/connections/${ledger}`, { read_only: false })).toEqual(refused);
    expect((await client.call('update_connection', { connection_id: 'ledger', read_only: false })).isError).toBe(true);
    const data = { format: 'sluice/1', connections: [{ ...READ_ONLY, read_only: false }] };
    expect(await rest('POST', '/export-import/import?mode=overwrite', data)).toEqual(refused);
    expect(await rest('POST', `/history/${await newest()}/rollback`, {})).toEqual(refused);
    await stays();
  });

  test('nor by deleting it first', async () => {
    const made_read_only = await newest();
    expect((await client.call('delete_connection', { connection_id: 'ledger' })).isError).toBeUndefined();
    expect((await rest('POST', `/history/${made_read_only}/rollback`, {})).status).toBe(403);
    expect((await rest('POST', `/history/${await newest()}/rollback`, {})).status).toBe(200);
    await stays();
  });

  test('nor by activating an earlier snapshot, also when the present one lacks it', async () => {
    await a.s.call('connections.update', { id: ledger, read_only: false });
    const writable = Number((await a.s.call('deploy.run', {})).snapshot_version);
    await a.s.call('connections.update', { id: ledger, read_only: true });
    await a.s.call('deploy.run', {});
    const refused = { status: 403, detail: expect.stringContaining('read_only') };
    expect(await rest('POST', `/snapshots/${writable}/activate`, {})).toEqual(refused);
    for (const hide of ['disable', 'delete']) {
      if (hide === 'disable') await client.call('update_connection', { connection_id: 'ledger', enabled: false });
      else await client.call('delete_connection', { connection_id: 'ledger' });
      expect((await client.call('deploy_server', {})).isError).toBeUndefined();
      expect([hide, await rest('POST', `/snapshots/${writable}/activate`, {})]).toEqual([hide, refused]);
    }
    expect((await a.s.send('snapshots.activate', { version: writable })).status).toBe(200);
  });
});

test('an earlier snapshot sends no kept password to its earlier address for a token', async () => {
  const moved = { ...DRAFT, name: 'moved', host: '127.0.0.1', port: 1 };
  const connection_id = (await a.s.send('connections.create', moved)).body.id;
  expect((await a.s.send('tools.create', { ...TOOL, name: 'one', connection_id })).status).toBe(201);
  const before = Number((await a.s.call('deploy.run', {})).snapshot_version);
  await a.s.call('connections.update', { id: connection_id, port: 2 });
  await a.s.call('deploy.run', {});
  const answer = await rest('POST', `/snapshots/${before}/activate`, {});
  expect(answer).toEqual({ status: 422, detail: expect.stringContaining('administrator') });
  expect((await a.s.send('snapshots.activate', { version: before })).status).toBe(200);
});
