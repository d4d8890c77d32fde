import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { openMysql } from '#core/engines/mysql/source.ts';
import type { ConnectionSettings } from '#core/engines/shared/connection-settings.ts';
import type { Source } from '#core/engines/shared/source.ts';
import { type Authority, createAuthority } from '#test/support/certificates.ts';
import { localPolicy } from '#test/support/databases.ts';
import { canStartMariadb, startMariadb, type TemporaryMariadb } from '#test/support/mariadb-server.ts';
import { READ, refusal, sql } from '../shared/suite.ts';

let authority: Authority;
let stranger: Authority;
/** Its certificate is for localhost alone, the other's for 127.0.0.1 alone. */
let named: TemporaryMariadb;
let numbered: TemporaryMariadb;
const sources: Source[] = [];

beforeAll(async () => {
  if (!canStartMariadb) return;
  authority = await createAuthority('Sluice test');
  stranger = await createAuthority('Nobody');
  [named, numbered] = (await Promise.all(
    ['DNS:localhost', 'IP:127.0.0.1'].map(async (name) => {
      const { cert, key } = await authority.issue(name);
      const options = ['--ssl-ca=$folder/ca.pem', '--ssl-cert=$folder/cert.pem', '--ssl-key=$folder/key.pem'];
      return startMariadb([...options, '--sql-mode=ANSI,NO_BACKSLASH_ESCAPES'], {
        'ca.pem': authority.ca,
        'cert.pem': cert,
        'key.pem': key,
      });
    }),
  )) as [TemporaryMariadb, TemporaryMariadb];
  await named.run("CREATE USER 'strict'@'%' IDENTIFIED BY 'secret' REQUIRE X509");
  await named.run("CREATE USER 'reader'@'%' IDENTIFIED BY 'secret'");
}, 60_000);

afterAll(async () => {
  await Promise.all(sources.map((source) => source.close()));
  await Promise.all([named?.stop(), numbered?.stop(), authority?.remove(), stranger?.remove()]);
}, 60_000);

function open(server: TemporaryMariadb, settings: Partial<ConnectionSettings>): Source {
  const source = openMysql(
    {
      db_type: 'mariadb',
      host: 'localhost',
      port: server.port,
      database: 'mysql',
      username: 'root',
      password: null,
      ssl_mode: null,
      ssl_ca: null,
      ssl_cert: null,
      ssl_key: null,
      extra_params: {},
      pool_size: 2,
      ...settings,
    },
    localPolicy,
  );
  sources.push(source);
  return source;
}

async function cipher(source: Source): Promise<string> {
  const { rows } = await source.query(sql("SHOW SESSION STATUS LIKE 'Ssl_cipher'"), READ);
  return rows[0]?.['Value'] as string;
}

describe.skipIf(!canStartMariadb)('MariaDB over TLS', () => {
  test('encrypts by default and with require, whatever the certificate is', async () => {
    for (const ssl_mode of [null, 'require'] as const) {
      const source = open(named, { ssl_mode, host: '127.0.0.1' });
      expect(await cipher(source)).not.toBe('');
      expect((await source.test()).warnings).not.toContain('The connection is not encrypted.');
    }
  });

  test('does not encrypt when it is told so, and does not warn of what stays on this machine', async () => {
    const source = open(named, { ssl_mode: 'disable' });
    expect(await cipher(source)).toBe('');
    expect((await source.test()).warnings).not.toContain('The connection is not encrypted.');
  });

  test('verify-ca asks for an authority and not for the name', async () => {
    expect(await cipher(open(named, { ssl_mode: 'verify-ca', ssl_ca: authority.ca, host: '127.0.0.1' }))).not.toBe('');
    for (const ssl_ca of [stranger.ca, null]) {
      expect(await refusal(open(named, { ssl_mode: 'verify-ca', ssl_ca }).test())).toMatchObject({ reason: 'tls_failed' });
    }
  });

  test('with an authority, a server without TLS is refused at a private address too', async () => {
    const plain = await startMariadb(['--skip-ssl'], {});
    try {
      expect(await cipher(open(plain, { ssl_mode: null }))).toBe('');
      const refused = await refusal(open(plain, { ssl_mode: null, ssl_ca: authority.ca }).test());
      expect(refused).toMatchObject({ reason: 'tls_failed' });
    } finally {
      await plain.stop();
    }
  });

  test('verify-full asks for the name as well', async () => {
    const full = { ssl_mode: 'verify-full', ssl_ca: authority.ca } as const;
    expect(await cipher(open(named, full))).not.toBe('');
    expect(await cipher(open(numbered, { ...full, host: '127.0.0.1' }))).not.toBe('');
    const wrong = [
      open(named, { ...full, host: '127.0.0.1' }),
      open(numbered, full),
      open(named, { ...full, ssl_ca: stranger.ca }),
      open(named, { ...full, ssl_ca: null }),
    ];
    for (const source of wrong) expect(await refusal(source.test())).toMatchObject({ reason: 'tls_failed' });
  });

  test('every further session is verified too', async () => {
    const source = open(named, { ssl_mode: 'verify-full', ssl_ca: authority.ca, pool_size: 3 });
    const calls = Array.from({ length: 6 }, () => source.query(sql('SELECT sleep(0.05) AS a'), READ));
    expect((await Promise.all(calls)).map(({ rows }) => rows[0])).toEqual(Array.from({ length: 6 }, () => ({ a: 0 })));
    expect(source.sessions()).toBe(3);
  });

  test('shows a certificate of its own', async () => {
    const { cert, key } = await authority.issueFor('strict');
    const login = { username: 'strict', password: 'secret', database: 'information_schema' };
    expect(await cipher(open(named, { ...login, ssl_cert: cert, ssl_key: key }))).not.toBe('');
    expect(await refusal(open(named, login).test())).toMatchObject({ reason: 'auth_failed' });
  });

  test('a statement is cancelled over TLS', async () => {
    const source = open(named, { ssl_mode: 'verify-full', ssl_ca: authority.ca });
    expect((await refusal(source.query(sql('SELECT sleep(9)'), { ...READ, timeout_ms: 200 }))).code).toBe('timeout');
  });

  test('an account without dangerous rights has no warning', async () => {
    const source = open(named, { username: 'reader', password: 'secret', database: 'information_schema' });
    expect((await source.test()).warnings).toEqual([]);
  });

  test('text is read in the modes of the server, and strictly', async () => {
    const { rows } = await open(named, {}).query(
      sql(`SELECT "b" AS a, '\\' || "b" AS c, @@sql_mode AS mode FROM (SELECT 1 AS b) AS t`),
      READ,
    );
    expect(rows).toEqual([{ a: 1, c: '\\1', mode: expect.stringContaining('STRICT_TRANS_TABLES') as string }]);
  });
});
