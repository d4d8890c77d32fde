import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test';
import { openPostgres } from '#core/engines/postgresql/source.ts';
import type { ConnectionSettings } from '#core/engines/shared/connection-settings.ts';
import type { Source } from '#core/engines/shared/source.ts';
import { type Authority, type Certificate, createAuthority } from '#test/support/certificates.ts';
import { localPolicy } from '#test/support/databases.ts';
import { canCreateCluster, type Cluster, createCluster, PASSWORD } from '#test/support/postgres-cluster.ts';
import { FIXED, READ, refusal, sql, WRITE } from '../shared/suite.ts';
import { until } from '#test/support/until.ts';

if (!canCreateCluster && process.env['CI'] === 'true') throw new Error('initdb and openssl are needed for the tests of TLS');

describe.skipIf(!canCreateCluster)('a PostgreSQL server with TLS and passwords', () => {
  const opened: Source[] = [];
  let authority: Authority;
  let stranger: Authority;
  let cluster: Cluster;
  let named: Certificate;
  let addressed: Certificate;

  beforeAll(async () => {
    authority = await createAuthority('trusted');
    stranger = await createAuthority('stranger');
    named = await authority.issue('DNS:localhost');
    addressed = await authority.issue('IP:127.0.0.1');
    cluster = await createCluster(authority.ca, named);
  }, 60_000);

  afterEach(() => Promise.all(opened.splice(0).map((source) => source.close())));

  afterAll(async () => {
    await cluster.remove();
    await authority.remove();
    await stranger.remove();
  }, 60_000);

  function open(changes: Partial<ConnectionSettings>): Source {
    const settings: ConnectionSettings = {
      db_type: 'postgresql',
      host: 'localhost',
      port: cluster.port,
      database: 'postgres',
      username: 'postgres',
      password: PASSWORD,
      ssl_mode: null,
      ssl_ca: null,
      ssl_cert: null,
      ssl_key: null,
      extra_params: {},
      pool_size: 2,
      ...changes,
    };
    const source = openPostgres(settings, localPolicy);
    opened.push(source);
    return source;
  }

  const ca = () => authority.ca;
  const other = () => stranger.ca;

  test.each([
    ['no mode', { ssl_mode: null }],
    ['require', { ssl_mode: 'require' }],
  ] as const)('%s encrypts and accepts any certificate', async (_, changes) => {
    const source = open(changes);
    expect(await isEncrypted(source)).toBe(true);
    const { warnings } = await source.test();
    expect(warnings.some((warning) => warning.includes('not verified'))).toBe(changes.ssl_mode === null);
    expect(warnings.join(' ')).not.toContain('not encrypted');
  });

  test('disable does not encrypt, and the test does not warn of what stays on this machine', async () => {
    const source = open({ ssl_mode: 'disable' });
    expect(await isEncrypted(source)).toBe(false);
    expect((await source.test()).warnings.join(' ')).not.toContain('not encrypted');
  });

  test('the name in the certificate is compared with the host of the list that is dialled', async () => {
    const verified = { ssl_mode: 'verify-full', ssl_ca: ca() } as const;
    expect(await isEncrypted(open({ ...verified, host: '127.0.0.1,localhost' }))).toBe(true);
    const states = await open({ ...verified, host: '127.0.0.1,localhost', target: 'primary' }).hosts?.();
    expect(states).toMatchObject([
      { role: null, error: expect.stringContaining('not for the name 127.0.0.1') },
      { role: 'primary', error: null },
    ]);
    const { reason } = await refusal(isEncrypted(open({ ...verified, host: '127.0.0.1', target: 'primary' })));
    expect(reason).toBe('tls_failed');
  });

  test('a chain that leads to the given authority is accepted by every mode', async () => {
    for (const ssl_mode of [null, 'require', 'verify-ca', 'verify-full'] as const) {
      const source = open({ ssl_mode, ssl_ca: ca() });
      expect(await isEncrypted(source)).toBe(true);
      expect((await source.test()).warnings.join(' ')).not.toContain('not verified');
    }
  });

  test('another authority, or none, is refused by every mode that verifies', async () => {
    for (const ssl_mode of [null, 'verify-ca', 'verify-full'] as const) {
      expect(await refusal(open({ ssl_mode, ssl_ca: other() }).test())).toMatchObject({
        code: 'database_unreachable',
        reason: 'tls_failed',
      });
    }
    for (const ssl_mode of ['verify-ca', 'verify-full'] as const) {
      const error = await refusal(open({ ssl_mode }).test());
      expect([error.reason, error.detail.includes('ssl_ca')]).toEqual(['tls_failed', true]);
    }
    expect(await isEncrypted(open({ ssl_mode: 'require', ssl_ca: other() }))).toBe(true);
  });

  test('a certificate for another name is refused by verify-full, and accepted by verify-ca', async () => {
    await cluster.present(await authority.issue('DNS:other.example.test'));
    for (const ssl_mode of [null, 'verify-full'] as const) {
      const error = await refusal(open({ ssl_mode, ssl_ca: ca() }).test());
      expect([error.reason, error.detail.includes('localhost')]).toEqual(['tls_failed', true]);
    }
    expect(await isEncrypted(open({ ssl_mode: 'verify-ca', ssl_ca: ca() }))).toBe(true);
    await cluster.present(named);
  });

  test('an address as host is compared with the addresses of the certificate', async () => {
    const host = '127.0.0.1';
    expect((await refusal(open({ host, ssl_mode: 'verify-full', ssl_ca: ca() }).test())).reason).toBe('tls_failed');
    await cluster.present(addressed);
    expect(await isEncrypted(open({ host, ssl_mode: 'verify-full', ssl_ca: ca() }))).toBe(true);
    expect((await refusal(open({ ssl_mode: 'verify-full', ssl_ca: ca() }).test())).reason).toBe('tls_failed');
    await cluster.present(named);
  });

  test('a client certificate is the login where the server asks for one', async () => {
    await cluster.allow('hostssl all all all cert');
    const client = await authority.issueFor('postgres');
    const proven = { ssl_cert: client.cert, ssl_key: client.key, password: null };
    expect(await isEncrypted(open({ ssl_mode: 'verify-full', ssl_ca: ca(), ...proven }))).toBe(true);
    expect((await refusal(open({ ssl_mode: 'require', password: null }).test())).code).toBe('database_unreachable');
    const nobody = await stranger.issueFor('postgres');
    const unproven = open({ ssl_mode: 'require', ssl_cert: nobody.cert, ssl_key: nobody.key });
    expect(await refusal(unproven.test())).toMatchObject({ code: 'database_unreachable', reason: 'tls_failed' });
    await cluster.allow('host all all all scram-sha-256');
  });

  test('a key that is not one is told as a fault of TLS', async () => {
    const error = await refusal(open({ ssl_mode: 'require', ssl_cert: 'no certificate', ssl_key: 'no key' }).test());
    expect(error).toMatchObject({ code: 'database_unreachable', reason: 'tls_failed' });
  });

  test('a wrong password or account is told as such, and names neither', async () => {
    for (const changes of [{ password: 'wrong' }, { password: null }, { username: 'nobody_here' }]) {
      const error = await refusal(open(changes).test());
      expect(error).toMatchObject({ code: 'database_unreachable', reason: 'auth_failed' });
      expect(error.detail).not.toContain('wrong');
    }
  });

  test('a server that allows only encrypted logins tells so', async () => {
    await cluster.allow('hostssl all all all scram-sha-256');
    expect(await refusal(open({ ssl_mode: 'disable' }).test())).toMatchObject({ reason: 'auth_failed' });
    expect(await isEncrypted(open({ ssl_mode: 'require' }))).toBe(true);
    await cluster.allow('host all all all md5');
    expect(await isEncrypted(open({}))).toBe(true);
    await cluster.allow('host all all all password');
    expect(await isEncrypted(open({}))).toBe(true);
    await cluster.allow('host all all all scram-sha-256');
  });

  test.each(['md5', 'scram-sha-256'])(
    'an account whose password is kept as %s signs in, whatever its letters are',
    async (kept) => {
      const owner = open({});
      for (const [i, password] of ['plain', 'pässwörd ✓ "quoted"', 'ｆｕｌｌ width'].entries()) {
        const username = `kept_${kept.slice(0, 3)}_${i}`;
        await cluster.allow('host all all all md5');
        const create = `do $$ begin perform set_config('password_encryption', '${kept}', true); execute format('create role ${username} login password %L', '${password}'); end $$`;
        await owner.query(sql(create), WRITE);
        expect(await isEncrypted(open({ username, password }))).toBe(true);
        for (const wrong of [`${password}x`, 'other', null])
          expect(await refusal(open({ username, password: wrong }).test())).toMatchObject({ reason: 'auth_failed' });
        await cluster.allow('host all all all password');
        expect(await isEncrypted(open({ username, password }))).toBe(true);
        await cluster.allow('host all all all scram-sha-256');
      }
    },
  );

  test('a cancel request goes over TLS as well', async () => {
    const source = open({ ssl_mode: 'verify-full', ssl_ca: ca() });
    const caller = new AbortController();
    const call = refusal(source.query(sql('select pg_sleep(30)'), { ...READ, signal: caller.signal }));
    const watcher = open({});
    const busy = async () => {
      const text = `select count(*)::int as n from pg_stat_activity where state = 'active' and query like '%pg_sl' || 'eep%'`;
      return Number((await watcher.query(sql(text), FIXED)).rows[0]!['n']);
    };
    await until(async () => (await busy()) === 1);
    caller.abort();
    expect((await call).code).toBe('cancelled');
    await until(async () => (await busy()) === 0);
  });

  test('after a restart of the server the next call works, whatever its mode', async () => {
    const source = open({ pool_size: 3 });
    const all = () => Promise.all([FIXED, READ, WRITE].map((mode) => source.query(sql('select 1 as one'), mode)));
    await all();
    expect(source.sessions()).toBe(3);
    const running = refusal(source.query(sql('select pg_sleep(30)'), READ));
    await Bun.sleep(100);
    await cluster.restart();
    expect((await running).code).toBe('database_unreachable');
    for (const { rows } of await all()) expect(rows).toEqual([{ one: 1 }]);
    expect(source.sessions()).toBe(3);
  }, 60_000);

  test('a server without a free connection says so', async () => {
    const crowd = open({ pool_size: 30 });
    const calls = Array.from({ length: 30 }, () => crowd.query(sql('select pg_sleep(1)'), READ));
    const outcomes = await Promise.allSettled(calls);
    const refused = outcomes.filter((outcome) => outcome.status === 'rejected');
    expect(refused.length).toBeGreaterThan(0);
    for (const { reason } of refused) expect(reason).toMatchObject({ code: 'database_unreachable', reason: 'failed' });
    expect((await crowd.query(sql('select 1 as one'), READ)).rows).toEqual([{ one: 1 }]);
  }, 60_000);
});

async function isEncrypted(source: Source): Promise<unknown> {
  const text = 'select ssl from pg_stat_ssl where pid = pg_backend_pid()';
  const answers = await Promise.all([FIXED, WRITE].map((mode) => source.query(sql(text), mode)));
  return answers.every(({ rows }) => rows[0]!['ssl'] === true);
}
