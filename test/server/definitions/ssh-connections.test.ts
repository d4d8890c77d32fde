import { afterEach, beforeEach, expect, test } from 'bun:test';
import type { ConnectionDraft } from '#core/contract/definitions/connections.ts';
import { type TestApp, testApp } from '#test/support/app.ts';
import { reachable, testDatabase } from '#test/support/databases.ts';
import { createKey, type KeyPair, sshd_is_here, startSshServer } from '#test/support/ssh-server.ts';

let t: TestApp;
beforeEach(async () => {
  t = await testApp();
  await t.signIn();
});
afterEach(() => t.close());

const HOST_KEY = `SHA256:${'A'.repeat(43)}`;
const keys = sshd_is_here ? [createKey(), createKey(), createKey('open sesame')] : [];
const [one, two, locked] = keys as [KeyPair, KeyPair, KeyPair];
const postgres = {
  name: 'pg',
  db_type: 'postgresql',
  host: 'db.internal',
  port: 5432,
  database: 'shop',
  username: 'reader',
} as const;
const tunnel = () => ({ host: '203.0.113.7', username: 'tunnel', private_key: one.private_key, host_key: HOST_KEY });
const createThrough = (ssh: unknown, body: object = {}) => t.send('connections.create', { ...postgres, ssh, ...body });
const stored = async (id: string) =>
  (await t.app.store.db.select().from(t.app.store.tables.connections)).find((row) => row.id === id)!;
const opened = async (id: string) => {
  const { ssh } = await stored(id);
  const open = (value: unknown, path: string) =>
    value === null ? null : t.app.keyring.open((value as { $sealed: string }).$sealed, `connection/${id}/${path}`);
  return {
    key: open(ssh?.private_key ?? null, 'ssh/private_key'),
    passphrase: open(ssh?.passphrase ?? null, 'ssh/passphrase'),
    jumps: ssh?.jump.map((hop, n) => open(hop.private_key, `ssh/jump/${n}/private_key`)),
  };
};

test.skipIf(!sshd_is_here)('secrets of SSH servers are sealed, and no answer shows them (needs sshd)', async () => {
  const { status, body } = await createThrough({
    ...tunnel(),
    jump: [{ ...tunnel(), host: '203.0.113.8', private_key: two.private_key }],
  });
  expect(status).toBe(201);
  const shown = {
    host: '203.0.113.7',
    port: 22,
    username: 'tunnel',
    host_key: HOST_KEY,
    private_key_set: true,
    passphrase_set: false,
    password_set: false,
  };
  expect(body.ssh).toEqual({ ...shown, jump: [{ ...shown, host: '203.0.113.8' }] });
  expect(await opened(body.id)).toEqual({ key: one.private_key, passphrase: null, jumps: [two.private_key] });
  const answers = JSON.stringify([
    await t.call('connections.list', {}),
    await t.call('history.list', {}),
    await t.call('transfer.export', {}),
    (await stored(body.id)).ssh,
  ]);
  for (const key of [one, two]) expect(answers).not.toContain(key.private_key.split('\n')[2]!);
});

test.skipIf(!sshd_is_here)('a secret that is not sent stays with its server, also at another place (needs sshd)', async () => {
  const { body } = await createThrough({
    ...tunnel(),
    jump: [{ ...tunnel(), host: '203.0.113.8', private_key: two.private_key }],
  });
  const update = (ssh: ConnectionDraft['ssh']) => t.call('connections.update', { id: body.id, ssh });
  const hop = { port: 22, username: 'tunnel', host_key: HOST_KEY };
  // A new first jump server moves the other to the second place.
  const added = { ...hop, host: '203.0.113.9', private_key: one.private_key };
  await update({ ...hop, host: '203.0.113.7', jump: [added, { ...hop, host: '203.0.113.8' }] });
  expect(await opened(body.id)).toEqual({ key: one.private_key, passphrase: null, jumps: [one.private_key, two.private_key] });
  // Null removes a secret, and a server that leaves takes its secrets with it.
  await update({ ...hop, host: '203.0.113.7', private_key: null, password: 'typed', jump: [] });
  expect(await opened(body.id)).toEqual({ key: null, passphrase: null, jumps: [] });
  const { ssh } = await t.call('connections.get', { id: body.id });
  expect([ssh?.private_key_set, ssh?.password_set]).toEqual([false, true]);
  await update(null);
  expect((await t.call('connections.get', { id: body.id })).ssh).toBeNull();
});

test.skipIf(!sshd_is_here)('what no tunnel can use is refused at its field (needs sshd)', async () => {
  const wrong: [unknown, object, string, string][] = [
    [{ ...tunnel(), private_key: 'no key' }, {}, 'ssh.private_key', 'must be a private key'],
    [{ ...tunnel(), private_key: locked.private_key }, {}, 'ssh.passphrase', 'Enter its passphrase'],
    [{ ...tunnel(), private_key: locked.private_key, passphrase: 'wrong' }, {}, 'ssh.passphrase', 'does not open'],
    [{ ...tunnel(), host_key: 'MD5:00' }, {}, 'ssh.host_key', 'must be a fingerprint'],
    [{ ...tunnel(), host: 'bastion:22' }, {}, 'ssh.host', 'not a host name'],
    [{ ...tunnel(), host: '169.254.169.254' }, {}, 'ssh.host', 'never allowed'],
    [{ ...tunnel(), jump: [{ ...tunnel(), host: '169.254.169.254' }] }, {}, 'ssh.jump.0.host', 'never allowed'],
    [tunnel(), { host: '169.254.169.254' }, 'host', 'never allowed'],
    [tunnel(), { db_type: 'sqlite', host: null, port: null, username: null, database: 'shop.sqlite' }, 'ssh', 'SQLite is a file'],
    [tunnel(), { db_type: 'clickhouse' }, 'ssh', 'ClickHouse is reached over HTTP'],
    [{ ...tunnel(), private_key: { ref: 'file:/run/secrets/key' } }, {}, 'ssh.private_key', 'secret_refs'],
  ];
  for (const [ssh, body, field, said] of wrong) {
    const answer = await createThrough(ssh, body);
    expect([field, answer.status, answer.body.errors]).toEqual([field, 422, [{ field, message: expect.stringContaining(said) }]]);
  }
  expect((await t.call('connections.list', {})).total).toBe(0);
  expect((await createThrough({ ...tunnel(), private_key: locked.private_key, passphrase: 'open sesame' })).status).toBe(201);
});

test.skipIf(!sshd_is_here)(
  'an export has SSH servers without secrets, and an import keeps the stored ones (needs sshd)',
  async () => {
    const { body } = await createThrough({ ...tunnel(), jump: [] });
    const exported = await t.call('transfer.export', {});
    expect(exported.connections[0]).toMatchObject({
      ssh: { host: '203.0.113.7', port: 22, username: 'tunnel', host_key: HOST_KEY, jump: [] },
    });
    const again = await t.call('transfer.import', { ...exported, mode: 'overwrite' });
    expect([again.skipped.connections, again.updated.connections]).toEqual([1, 0]);
    const changed = exported.connections.map((item) => ({ ...item, ssh: { ...(item['ssh'] as object), port: 2222 } }));
    await t.call('transfer.import', { ...exported, connections: changed, mode: 'overwrite' });
    expect((await opened(body.id)).key).toBe(one.private_key);
    await t.call('connections.delete', { id: body.id });
    const report = await t.call('transfer.import', { ...exported, mode: 'merge' });
    expect(report.needs_secrets).toEqual([{ connection: 'pg', fields: ['password', 'ssh.private_key'] }]);
  },
);

test.skipIf(!sshd_is_here)('a rollback brings back the secret of an SSH server (needs sshd)', async () => {
  const { body } = await createThrough({ ...tunnel(), jump: [] });
  await t.call('connections.update', { id: body.id, ssh: { ...tunnel(), port: 22, private_key: two.private_key, jump: [] } });
  const [entry] = (await t.call('history.entity', { entity_type: 'connection', entity_id: body.id })).items;
  expect(Object.keys(entry?.changes ?? {})).toEqual(['ssh']);
  await t.call('history.rollback', { history_id: entry?.id ?? '' });
  expect((await opened(body.id)).key).toBe(one.private_key);
});

test.skipIf(!sshd_is_here || !reachable.postgres)(
  'the first test shows the host key, and a test with it connects (needs sshd)',
  async () => {
    const database = await testDatabase('postgresql');
    const server = await startSshServer(one);
    try {
      const { host, port, database: name, username } = database.settings;
      const { host_key, passphrase: _, password: _password, ...hop } = server.hop;
      const draft = { name: 'pg', db_type: 'postgresql', host, port, database: name, username } as const;
      const test_draft = (ssh: object) => t.call('connections.test_draft', { ...draft, ssh: { ...hop, ...ssh } });
      const first = await test_draft({});
      expect(first).toMatchObject({ success: false, code: 'tunnel_host_key', field: 'ssh.host_key', host_key });
      expect(await test_draft({ host_key })).toMatchObject({ success: true });
      expect(await test_draft({ host_key, private_key: two.private_key })).toMatchObject({
        code: 'tunnel_refused',
        field: 'ssh.private_key',
      });
      const made = await t.call('connections.create', { ...draft, ssh: { ...hop, host_key, jump: [] } });
      expect(await t.call('connections.test', { id: made.id })).toMatchObject({ success: true });
      expect((await t.call('schema.tables', { connection_id: made.id })).total).toBe(0);
    } finally {
      await server.close();
      await database.drop();
    }
  },
);
