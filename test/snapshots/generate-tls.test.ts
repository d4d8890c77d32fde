import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { Database, NetworkSettings } from '#snapshots/generate/project/definitions.ts';
import { openMysql } from '#snapshots/generate/project/drivers/mysql.ts';
import { openPostgresql } from '#snapshots/generate/project/drivers/postgresql.ts';
import { refusal } from '#test/core/engines/shared/suite.ts';
import { type Authority, type Certificate, createAuthority } from '#test/support/certificates.ts';
import { canStartMariadb, startMariadb } from '#test/support/mariadb-server.ts';
import { canCreateCluster, createCluster, PASSWORD } from '#test/support/postgres-cluster.ts';

const SERVERS = [
  {
    kind: 'mysql',
    open: openMysql,
    can_start: canStartMariadb,
    account: { database: 'mysql', username: 'root', password: '' },
    cipher: "show session status like 'Ssl_cipher'",
    start: async (ca: string, { cert, key }: Certificate) => {
      const options = ['--ssl-ca=$folder/ca.pem', '--ssl-cert=$folder/cert.pem', '--ssl-key=$folder/key.pem'];
      const files = { 'ca.pem': ca, 'cert.pem': cert, 'key.pem': key };
      const server = await startMariadb([...options, '--sql-mode=ANSI,NO_BACKSLASH_ESCAPES'], files);
      return { port: server.port, stop: () => server.stop() };
    },
  },
  {
    kind: 'postgresql',
    open: openPostgresql,
    can_start: canCreateCluster,
    account: { database: 'postgres', username: 'postgres', password: PASSWORD },
    cipher: `select cipher as "Value" from pg_stat_ssl where pid = pg_backend_pid()`,
    start: async (ca: string, certificate: Certificate) => {
      const cluster = await createCluster(ca, certificate);
      return { port: cluster.port, stop: () => cluster.remove() };
    },
  },
] as const;

const limits = { writes: false, timeout_ms: 5_000, max_rows: 10, max_bytes: 10_000 };
const plain = (text: string) => ({ text, values: [], types: [] });
const queryOf = (database: Database, text: string, more = {}) =>
  database.query(plain(text), { ...limits, signal: AbortSignal.timeout(5_000), ...more });

for (const { kind, open, can_start, account, cipher, start } of SERVERS) {
  describe.skipIf(!can_start)(`a generated project over TLS with ${kind}`, () => {
    let authority: Authority;
    let server: { readonly port: number; stop(): Promise<void> };

    beforeAll(async () => {
      authority = await createAuthority('Sluice test');
      server = await start(authority.ca, await authority.issue('DNS:localhost'));
    }, 60_000);

    afterAll(async () => {
      await server.stop();
      await authority.remove();
    }, 60_000);

    const cipherWith = async (more: Partial<NetworkSettings>) => {
      const tls = { ssl_mode: null, ssl_ca: null, ssl_cert: null, ssl_key: null };
      const settings = {
        db_type: kind,
        host: 'localhost',
        port: server.port,
        ...account,
        ...tls,
        extra_params: {},
        pool_size: 1,
      };
      const database = open({ ...settings, ...more });
      try {
        return (await queryOf(database, cipher)).rows[0]?.['Value'] ?? '';
      } finally {
        await database.close();
      }
    };

    test('is encrypted without a mode, and in plain text only when it is told so', async () => {
      expect(await cipherWith({})).not.toBe('');
      expect(await cipherWith({ ssl_mode: 'require' })).not.toBe('');
      expect(await cipherWith({ ssl_mode: 'disable' })).toBe('');
    });

    test('verifies an authority, a name and an address', async () => {
      expect(await cipherWith({ ssl_mode: 'verify-full', ssl_ca: authority.ca })).not.toBe('');
      expect(await cipherWith({ ssl_mode: 'verify-ca', ssl_ca: authority.ca, host: '127.0.0.1' })).not.toBe('');
      for (const wrong of [{ host: '127.0.0.1', ssl_ca: authority.ca }, {}]) {
        expect(await refusal(cipherWith({ ssl_mode: 'verify-full', ...wrong }))).toMatchObject({ reason: 'tls_failed' });
      }
    });
  });
}

test.skipIf(!canStartMariadb)(
  'a project on MariaDB reads SQL in the modes of the server, as the host does',
  async () => {
    const server = await startMariadb(['--sql-mode=ANSI,NO_BACKSLASH_ESCAPES'], {});
    const tls = { ssl_mode: null, ssl_ca: null, ssl_cert: null, ssl_key: null };
    const account = { database: 'mysql', username: 'root', password: '' };
    const database = openMysql({
      db_type: 'mariadb',
      host: '127.0.0.1',
      port: server.port,
      ...account,
      ...tls,
      extra_params: {},
      pool_size: 1,
    });
    for (const writes of [false, true]) {
      const sql = `select "n"."a", '\\' as b from (select 'x' as a) as "n"`;
      expect((await queryOf(database, sql, { writes })).rows).toEqual([{ a: 'x', b: '\\' }]);
      expect((await queryOf(database, 'select @@sql_mode as a', { writes })).rows[0]?.['a']).toContain('STRICT_TRANS_TABLES');
    }
    await database.close();
    await server.stop();
  },
  60_000,
);
