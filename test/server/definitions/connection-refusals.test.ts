import { afterEach, beforeEach, expect, test } from 'bun:test';
import { WAITS } from '#core/platform/platform.ts';
import { type TestApp, testApp } from '#test/support/app.ts';
import { createAuthority } from '#test/support/certificates.ts';

let t: TestApp;
beforeEach(async () => {
  t = await testApp();
  await t.signIn();
});
afterEach(() => t.close());

const sqlite = { name: 'shop', db_type: 'sqlite', database: 'shop.sqlite' };
const postgres = { name: 'pg', db_type: 'postgresql', host: '127.0.0.1', port: 5432, database: 'test', username: 'postgres' };
const createConnection = (body: object) => t.send('connections.create', body);

test('a test refuses at its field what could not be stored', async () => {
  const wrong: [object, string, string][] = [
    [{ ...postgres, host: 'db.example.com:5432' }, 'host', 'The host is not a host name'],
    [{ ...postgres, host: 'https://db.example.com' }, 'host', 'The host contains a slash'],
    [{ ...postgres, host: '/var/run/postgresql' }, 'host', 'The host contains a slash'],
    [{ ...sqlite, database: '../outside.sqlite' }, 'database', 'must be a SQLite file inside'],
    [{ ...postgres, db_type: 'clickhouse', database: 'system' }, 'database', 'cannot be one of the server itself'],
    [{ ...postgres, ssl_ca: 'no certificate' }, 'ssl_ca', 'ssl_ca must be one or more certificates in PEM'],
    [{ ...postgres, ssl_ca: NOT_DER }, 'ssl_ca', 'ssl_ca must be one or more certificates in PEM'],
    [{ ...postgres, ssl_cert: NOT_DER.replaceAll('CERTIFICATE', 'PUBLIC KEY') }, 'ssl_cert', 'ssl_cert must be'],
    [{ ...postgres, ssl_key: NOT_DER.replaceAll('CERTIFICATE', 'PRIVATE KEY') }, 'ssl_key', 'ssl_key must be a private key'],
  ];
  for (const [draft, field, said] of wrong) {
    const stored = await createConnection(draft);
    expect([draft, stored.status, stored.body.errors]).toEqual([draft, 422, [{ field, message: expect.stringContaining(said) }]]);
    // An address that is forbidden is what a test finds; everything else could not be tested either.
    const { status, body } = await t.send('connections.test_draft', draft);
    if (status === 200) expect(body).toMatchObject({ success: false, message: expect.stringContaining(said) });
    else expect([status, body.errors]).toEqual([422, stored.body.errors]);
  }
  // None of them is a forbidden address.
  expect((await t.call('history.list', { action: 'blocked' })).items).toEqual([]);
});

test('certificates are read, and those that an earlier version stored stay until they are changed', async () => {
  const authority = await createAuthority('stored');
  try {
    const { cert, key } = await authority.issue('DNS:db.example.test');
    const made = await createConnection({ ...postgres, ssl_ca: authority.ca + cert, ssl_cert: cert, ssl_key: key });
    expect(made.status).toBe(201);
    const { connections } = t.app.store.tables;
    await t.app.store.db.update(connections).set({ ssl_ca: 'old' });
    const change = (body: object) => t.send('connections.update', { id: made.body.id, ...body });
    expect((await change({ ssl_ca: 'old', pool_size: 3 })).status).toBe(200);
    expect((await change({ ssl_ca: 'new' })).status).toBe(422);
  } finally {
    await authority.remove();
  }
});

/** In its form, but no certificate. */
const NOT_DER = '-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n';

test('a database that takes the connection and says nothing is a matter of host and port', async () => {
  const impatient = await testApp({}, undefined, { waits: { ...WAITS, connection_test_ms: 100 } });
  await impatient.signIn();
  const silent = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data: () => undefined } });
  try {
    const { body } = await impatient.send('connections.test_draft', { ...postgres, port: silent.port });
    expect(body).toMatchObject({
      success: false,
      code: 'timeout',
      message: expect.stringContaining('did not answer within 0.1 seconds. Check the host and the port'),
    });
  } finally {
    silent.stop(true);
    await impatient.close();
  }
});
