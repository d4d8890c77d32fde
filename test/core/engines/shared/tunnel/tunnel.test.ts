import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { SshOf } from '#core/contract/definitions/connection-fields.ts';
import { openMysql } from '#core/engines/mysql/source.ts';
import { openPostgres } from '#core/engines/postgresql/source.ts';
import type { ConnectionSettings } from '#core/engines/shared/connection-settings.ts';
import type { DialPolicy, Source } from '#core/engines/shared/source.ts';
import { HostKeyFault } from '#core/engines/shared/tunnel/faults.ts';
import { TUNNEL_TIMING, type TunnelTiming } from '#core/engines/shared/tunnel/tunnel.ts';
import { openTunnelled } from '#core/engines/shared/tunnel/tunnelled-source.ts';
import { READ, refusal, sql, WRITE } from '#test/core/engines/shared/suite.ts';
import { localPolicy, reachable, type TestDatabase, testDatabase } from '#test/support/databases.ts';
import { createKey, type SshServer, sshd_is_here, startSshServer } from '#test/support/ssh-server.ts';
import { until } from '#test/support/until.ts';

const ONE = sql('select 1 as one');
const SLEEP = sql('select pg_sleep(30)');

describe.skipIf(!sshd_is_here || !reachable.postgres)('an SSH tunnel', () => {
  const user = sshd_is_here ? createKey() : { private_key: '', public_key: '', fingerprint: '' };
  const opened: Source[] = [];
  let database: TestDatabase;
  let server: SshServer;
  beforeAll(async () => {
    database = await testDatabase('postgresql');
    server = await startSshServer(user);
  });
  afterAll(async () => {
    await Promise.all(opened.map((source) => source.close()));
    await server.close();
    await database.drop();
  });

  interface Changes {
    readonly ssh?: Partial<SshOf<string>>;
    readonly settings?: Partial<ConnectionSettings>;
    readonly policy?: Partial<DialPolicy>;
    readonly timing?: Partial<TunnelTiming>;
    readonly at?: SshServer;
  }
  function open({ ssh, settings, policy, timing, at = server }: Changes = {}): Source {
    const source = openTunnelled(
      { ...at.hop, jump: [], ...ssh },
      { ...localPolicy, ...policy },
      (through) => openPostgres({ ...database.settings, ...settings }, through),
      { ...TUNNEL_TIMING, ...timing },
    );
    opened.push(source);
    return source;
  }
  /** How many sessions run a statement with this text; one whose tunnel was killed goes on for a while. */
  const sleepers = async (text: string) =>
    (
      await database.run(
        `select 1 from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and state = 'active' and query like '%${text}%'`,
      )
    ).length;
  const rowsOf = async (source: Source) => (await source.query(ONE, READ)).rows;

  test('statements run through one SSH connection that all sessions share', async () => {
    const source = open();
    const before = server.connections().length;
    await Promise.all(Array.from({ length: 8 }, () => source.query(sql('select pg_sleep(0.1)'), READ)));
    expect(source.sessions()).toBe(4);
    // sshd has one process for the connection, and one that dropped its privileges.
    expect(server.connections().length - before).toBeLessThanOrEqual(2);
    expect(
      (await source.query(sql('insert into t_none select 1'), WRITE).catch((error: unknown) => error)) instanceof Error,
    ).toBe(true);
    expect(await rowsOf(source)).toEqual([{ one: 1 }]);
  });

  test('each host of a list is reached through the tunnel', async () => {
    const { host, port } = database.settings;
    const source = open({ settings: { host: `${host}:1,${host}:${port}`, target: 'primary' } });
    expect(await rowsOf(source)).toEqual([{ one: 1 }]);
    expect(await source.hosts?.()).toMatchObject([{ role: null }, { role: 'primary' }]);
  });

  test('a tunnel passes jump servers in their order, each with its own key', async () => {
    const [first_user, last_user] = [createKey(), createKey()];
    const last = await startSshServer(last_user, `PermitOpen 127.0.0.1:${database.settings.port}`);
    const first = await startSshServer(first_user, `PermitOpen 127.0.0.1:${last.port}`);
    try {
      expect(await rowsOf(open({ at: last, ssh: { jump: [first.hop] } }))).toEqual([{ one: 1 }]);
      // The first server alone does not reach the database, and says so.
      const refused = await refusal(rowsOf(open({ at: first })));
      expect(refused).toMatchObject({ code: 'tunnel_refused', errors: [{ field: 'ssh.host' }] });
      expect(refused.detail).toContain('PermitOpen');
      const wrong_jump = { ...first.hop, private_key: last_user.private_key };
      expect(await refusal(rowsOf(open({ at: last, ssh: { jump: [wrong_jump] } })))).toMatchObject({
        code: 'tunnel_refused',
        errors: [{ field: 'ssh.jump.0.private_key' }],
      });
      const nowhere = await refusal(rowsOf(open({ at: last, ssh: { port: 1, jump: [server.hop] } })));
      expect(nowhere).toMatchObject({ code: 'tunnel_unreachable', errors: [{ field: 'ssh.host' }] });
    } finally {
      await first.close();
      await last.close();
    }
  });

  test('another host key is refused with both fingerprints, before anyone signs in', async () => {
    const other = createKey().fingerprint;
    const changed = await refusal(rowsOf(open({ ssh: { host_key: other } })));
    expect(changed).toMatchObject({ code: 'tunnel_host_key', errors: [{ field: 'ssh.host_key' }] });
    expect(changed.detail).toContain(other);
    expect(changed.detail).toContain(server.fingerprint);
    expect(changed).toBeInstanceOf(HostKeyFault);
  });

  test('without a stored host key nothing connects, and the error has the fingerprint', async () => {
    // With a wrong private key the sign-in would fail, if it were tried.
    const unknown = await refusal(rowsOf(open({ ssh: { host_key: null, private_key: createKey().private_key } })));
    expect(unknown.code).toBe('tunnel_host_key');
    expect(unknown instanceof HostKeyFault && unknown.fingerprint).toBe(server.fingerprint);
  });

  test('a refused sign-in names the field that is wrong', async () => {
    const encrypted = createKey('open sesame').private_key;
    const cases: readonly (readonly [Partial<SshOf<string>>, string])[] = [
      [{ private_key: createKey().private_key }, 'ssh.private_key'],
      [{ username: 'nobody-here' }, 'ssh.private_key'],
      [{ private_key: 'no key' }, 'ssh.private_key'],
      [{ private_key: encrypted }, 'ssh.passphrase'],
      [{ private_key: encrypted, passphrase: 'wrong' }, 'ssh.passphrase'],
      [{ private_key: null, password: 'wrong' }, 'ssh.password'],
      [{ private_key: null }, 'ssh.private_key'],
    ];
    for (const [ssh, field] of cases) {
      const refused = await refusal(rowsOf(open({ ssh })));
      expect([refused.code, refused.errors[0]?.field]).toEqual(['tunnel_refused', field]);
      // No secret leaves in a sentence.
      expect(refused.detail).not.toContain(ssh.password ?? encrypted);
    }
  });

  test('an encrypted private key signs in with its passphrase', async () => {
    const key = createKey('open sesame');
    const locked = await startSshServer(key);
    try {
      expect(await rowsOf(open({ at: locked, ssh: { passphrase: 'open sesame' } }))).toEqual([{ one: 1 }]);
    } finally {
      await locked.close();
    }
  });

  test('what cannot be reached is told from what the SSH server cannot reach', async () => {
    expect(await refusal(rowsOf(open({ ssh: { port: 1 } })))).toMatchObject({
      code: 'tunnel_unreachable',
      errors: [{ field: 'ssh.host' }],
    });
    // A server of another protocol.
    const port = database.settings.port ?? 0;
    expect((await refusal(rowsOf(open({ ssh: { port }, timing: { connect_ms: 1_500 } })))).code).toBe('tunnel_unreachable');
    expect(await refusal(rowsOf(open({ settings: { port: 1 } })))).toMatchObject({
      code: 'database_unreachable',
      reason: 'refused',
    });
    expect(await refusal(rowsOf(open({ settings: { host: 'db.invalid' } })))).toMatchObject({
      code: 'database_unreachable',
      reason: 'dns_failed',
    });
  });

  test('a tunnel that is killed during a call is an error of its kind, and the next call opens it again', async () => {
    const own = await startSshServer(user);
    try {
      const source = open({ at: own });
      const running = refusal(source.query(SLEEP, READ));
      await until(async () => (await sleepers('pg_sleep(30)')) > 0);
      own.signal('SIGKILL');
      const lost = await running;
      expect([lost.code, lost.reason]).toEqual(['tunnel_unreachable', 'connection_lost']);
      expect(await rowsOf(source)).toEqual([{ one: 1 }]);
      // Idle sessions die with the tunnel, and a read does not notice.
      own.signal('SIGKILL');
      await until(() => own.connections().length === 0);
      expect(await rowsOf(source)).toEqual([{ one: 1 }]);
    } finally {
      await own.close();
    }
  });

  test('a frozen SSH server is noticed by its missing answers, during a call and before one', async () => {
    const own = await startSshServer(user);
    try {
      const source = open({ at: own, timing: { keepalive_ms: 200 } });
      const running = refusal(source.query(sql('select pg_sleep(32)'), { ...READ, timeout_ms: 30_000 }));
      await until(async () => (await sleepers('pg_sleep(32)')) > 0);
      own.signal('SIGSTOP');
      expect((await running).code).toBe('tunnel_unreachable');
      own.signal('SIGCONT');
      expect(await rowsOf(source)).toEqual([{ one: 1 }]);
      // A new session needs a channel that never opens.
      const busy = open({ at: own, timing: { keepalive_ms: 60_000, connect_ms: 3_000 } });
      await rowsOf(busy);
      own.signal('SIGSTOP');
      const write = await refusal(busy.query(ONE, WRITE));
      expect(write.code).toBe('tunnel_unreachable');
      own.signal('SIGCONT');
    } finally {
      await own.close();
    }
  });

  test('a call that times out is cancelled in the database, through the tunnel', async () => {
    const source = open();
    const late = await refusal(source.query(sql('select pg_sleep(31)'), { ...READ, timeout_ms: 300 }));
    expect(late.code).toBe('timeout');
    await until(async () => (await sleepers('pg_sleep(31)')) === 0);
  });

  test('an unused tunnel is closed, and the next call opens it again', async () => {
    const own = await startSshServer(user);
    try {
      const source = open({ at: own, timing: { idle_ms: 50 } });
      await rowsOf(source);
      expect(own.connections().length).toBeGreaterThan(0);
      await source.close();
      await until(() => own.connections().length === 0);
    } finally {
      await own.close();
    }
  });

  test('after a failure the server is left alone for a moment', async () => {
    const own = await startSshServer(user);
    try {
      const source = open({ at: own, timing: { retry_ms: 60_000 } });
      await own.stop();
      const first = await refusal(rowsOf(source));
      await own.start();
      expect(await refusal(rowsOf(source))).toBe(first);
      const patient = open({ at: own, timing: { retry_ms: 1 } });
      await own.stop();
      await refusal(rowsOf(patient));
      await own.start();
      expect(await until(() => rowsOf(patient))).toEqual([{ one: 1 }]);
    } finally {
      await own.close();
    }
  });

  test('the rules for addresses hold behind the tunnel as they do here', async () => {
    const code = async (changes: Changes) => (await refusal(rowsOf(open(changes)))).code;
    expect(await code({ settings: { host: '169.254.169.254' } })).toBe('private_network_blocked');
    expect(await code({ settings: { host: '10.0.0.1' }, policy: { allow_private_networks: false } })).toBe(
      'private_network_blocked',
    );
    expect(await code({ ssh: { host: '169.254.169.254' } })).toBe('private_network_blocked');
    expect(await code({ ssh: { jump: [server.hop], host: '169.254.169.254' } })).toBe('private_network_blocked');
    // `localhost` behind a server on this machine is this machine.
    const forbidden = [{ host: '127.0.0.1', port: database.settings.port ?? 0 }];
    for (const host of ['localhost', '127.0.0.1', '[::1]']) {
      expect(await code({ settings: { host }, policy: { forbidden } })).toBe('private_network_blocked');
    }
    expect(await code({ policy: { forbidden: [{ host: 'localhost', port: server.port }] } })).toBe('private_network_blocked');
  });
});

describe.skipIf(!sshd_is_here || !reachable.mysql)('an SSH tunnel to MariaDB', () => {
  test('statements run through it, and a killed tunnel is an error of its kind', async () => {
    const user = createKey();
    const database = await testDatabase('mysql');
    const server = await startSshServer(user);
    const source = openTunnelled({ ...server.hop, jump: [] }, localPolicy, (policy) => openMysql(database.settings, policy));
    try {
      const running = refusal(source.query(sql('select sleep(30)'), READ));
      await until(
        async () =>
          (await database.run(`select 1 from information_schema.processlist where info like 'select sleep(30)%'`)).length > 0,
      );
      server.signal('SIGKILL');
      expect((await running).code).toBe('tunnel_unreachable');
      expect((await source.query(ONE, READ)).rows).toEqual([{ one: 1 }]);
    } finally {
      await source.close();
      await server.close();
      await database.drop();
    }
  });
});
