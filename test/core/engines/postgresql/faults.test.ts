import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test';
import { openPostgres } from '#core/engines/postgresql/source.ts';
import type { ConnectionSettings } from '#core/engines/shared/connection-settings.ts';
import type { Row } from '#core/lib/sql/result.ts';
import type { RunOptions, Source } from '#core/engines/shared/source.ts';
import { localPolicy, reachable, testDatabase, type TestDatabase } from '#test/support/databases.ts';
import { openStrangeServer, openTcpProxy, type ProxyRules, type TcpProxy } from '#test/support/tcp-proxy.ts';
import { FIXED, READ, refusal, sql, WRITE } from '../shared/suite.ts';
import { until } from '#test/support/until.ts';
import { paced } from '#test/support/paced.ts';

describe.skipIf(!reachable.postgres)('PostgreSQL when things go wrong', () => {
  const opened: { close(): Promise<void> }[] = [];
  let database: TestDatabase;

  beforeAll(async () => {
    database = await testDatabase('postgresql');
    await database.run('create table notes (id int primary key, body text)');
  });

  afterEach(async () => {
    for (const each of opened.splice(0).toReversed()) await each.close();
  });

  afterAll(() => database.drop());

  function open(changes: Partial<ConnectionSettings> = {}): Source {
    const source = openPostgres({ ...database.settings, ...changes }, localPolicy);
    opened.push(source);
    return source;
  }

  async function through(
    rules: ProxyRules,
    changes: Partial<ConnectionSettings> = {},
  ): Promise<{ proxy: TcpProxy; source: Source }> {
    const { host, port } = database.settings;
    const proxy = await openTcpProxy({ host: host!, port: port! }, rules);
    opened.push(proxy);
    return { proxy, source: open({ port: proxy.port, ssl_mode: 'disable', ...changes }) };
  }

  const pid = (source: Source, options?: RunOptions) => queryRow(source, 'select pg_backend_pid() as pid', options);

  test('describing ends when its caller leaves, and frees its session', async () => {
    const source = open({ pool_size: 1 });
    const lock = database.run('begin; lock table notes in access exclusive mode; select pg_sleep(1.5); commit');
    await Bun.sleep(200);
    const caller = new AbortController();
    const started = performance.now();
    const described = refusal(source.describe('select * from notes', [], caller.signal));
    setTimeout(() => caller.abort(), 100);
    expect(await described).toMatchObject({ code: 'cancelled' });
    expect(await queryRow(source, 'select 1 as one')).toEqual({ one: 1 });
    expect(performance.now() - started).toBeLessThan(paced(1_000));
    await lock;
  });

  describe('a pooler in between', () => {
    const forgets: ProxyRules = { toServer: (bytes) => (isStart(bytes) ? withoutSettings(bytes) : bytes) };
    const refuses: ProxyRules = {
      toServer(bytes, { client }) {
        if (!isStart(bytes) || !bytes.includes('default_transaction_read_only')) return bytes;
        const text = 'SFATAL\0VFATAL\0C08P01\0Munsupported startup parameter: default_transaction_read_only\0\0';
        const head = Buffer.from([0x45, 0, 0, 0, 0]);
        head.writeUInt32BE(4 + text.length, 1);
        client.end(Buffer.concat([head, Buffer.from(text)]));
        return Buffer.alloc(0);
      },
    };

    test.each([
      ['forgets', forgets],
      ['refuses', refuses],
    ])('that %s the settings of the login: reading is still only reading, and values are still in UTC', async (_, rules) => {
      await database.run(`alter database ${database.settings.database} set timezone to 'Asia/Tokyo'`);
      const { source } = await through(rules);
      for (const mode of [FIXED, READ, FIXED]) {
        expect(await queryRow(source, `select timestamptz '2024-01-02 03:04:05Z' as at`, mode)).toEqual({
          at: '2024-01-02T03:04:05Z',
        });
        expect((await refusal(source.query(sql(`insert into notes values (1, 'x')`), mode))).code).toBe('not_read_only');
      }
      expect((await source.query(sql(`insert into notes values (1, 'x')`), WRITE)).affected_rows).toBe(1);
      expect((await refusal(source.query(sql('select pg_sleep(20)'), { ...FIXED, timeout_ms: 200 }))).code).toBe('timeout');
      await database.run('delete from notes');
    });

    test('makes no difference to values and names, whatever the account is set to', async () => {
      const { database: name, username } = database.settings;
      for (const setting of ["bytea_output = 'escape'", "intervalstyle = 'iso_8601'", 'standard_conforming_strings = off'])
        await database.run(`alter role ${username} in database ${name} set ${setting}`);
      const application_name = "Ann's \\ reports";
      const { source } = await through(forgets, { extra_params: { application_name } });
      const text = `select decode('00ff5c41', 'hex') as a, interval '1 day' as b, '\\n' as c, current_setting('application_name') as d`;
      for (const mode of [FIXED, READ, WRITE])
        expect(await queryRow(source, text, mode)).toEqual({ a: 'AP9cQQ==', b: '1 day', c: '\\n', d: application_name });
      await database.run(`alter role ${username} in database ${name} reset all`);
    });
  });

  describe('a connection that breaks', () => {
    test('while it is idle: the next call works', async () => {
      const { proxy, source } = await through({});
      for (const mode of [FIXED, READ, WRITE]) await queryRow(source, 'select 1 as one', mode);
      proxy.cut();
      for (const mode of [FIXED, READ, WRITE]) expect(await queryRow(source, 'select 1 as one', mode)).toEqual({ one: 1 });
    });

    test('without anybody noticing: reading is done again on another session', async () => {
      let broken = false;
      const { source } = await through({ toServer: (bytes) => (broken ? ((broken = false), null) : bytes) });
      for (const mode of [FIXED, READ]) {
        await queryRow(source, 'select 1 as one', mode);
        broken = true;
        expect(await queryRow(source, 'select 1 as one', mode)).toEqual({ one: 1 });
      }
    });

    test('while a statement runs: the call fails, and the next one works', async () => {
      const { proxy, source } = await through({});
      const call = refusal(source.query(sql('select pg_sleep(20)'), READ));
      await until(() => source.sessions() === 1);
      await Bun.sleep(100);
      proxy.cut();
      expect(await call).toMatchObject({ code: 'database_unreachable' });
      expect(await queryRow(source, 'select 1 as one', READ)).toEqual({ one: 1 });
    });

    test('during a commit: the caller is told that the outcome is unknown', async () => {
      let lost = false;
      const { source } = await through({
        toServer: (bytes) => {
          lost ||= bytes.includes('commit');
          return bytes;
        },
        toClient: (bytes) => (lost ? null : bytes),
      });
      const error = await refusal(source.query(sql(`insert into notes values (2, 'x')`), WRITE));
      expect(error).toMatchObject({ code: 'database_unreachable', reason: 'commit_unknown' });
      expect(await database.run('select id from notes')).toHaveLength(1);
      await database.run('delete from notes');
    });
  });

  test.each([FIXED, READ, WRITE])('rows that are no rows end the call, not the program (%j)', async (mode) => {
    // The first value claims to go on far beyond its message.
    const value = Buffer.from([0, 0, 0, 6, ...Buffer.from('marked')]);
    const { source } = await through({
      toClient(bytes) {
        const at = bytes.indexOf(value);
        if (at >= 0) bytes.writeInt32BE(0x7f_ff_ff_00, at);
        return bytes;
      },
    });
    const { code } = await refusal(source.query(sql(`select 'mark' || 'ed' as a, 1 as b`), mode));
    expect(['database_unreachable', 'internal']).toContain(code);
    expect(await queryRow(source, 'select 1 as one', mode)).toEqual({ one: 1 });
  });

  test('a write whose commit was sent is not cancelled any more', async () => {
    const caller = new AbortController();
    const { source } = await through({
      toServer(bytes, { server }) {
        if (!bytes.includes('commit')) return bytes;
        caller.abort();
        setTimeout(() => server.write(bytes), 200);
        return Buffer.alloc(0);
      },
    });
    const found = await source.query(sql(`insert into notes values (3, 'x')`), { ...WRITE, signal: caller.signal });
    expect(found.affected_rows).toBe(1);
    expect(await database.run('delete from notes returning id')).toEqual([{ id: 3 }]);
  });

  describe('a write that returns types which are not built in', () => {
    const MOOD = `insert into feelings values ('fine', '{fine,low}') returning mood, moods`;
    const written = () => database.run('delete from feelings returning mood');

    beforeAll(async () => {
      await database.run(`create type mood as enum ('fine', 'low')`);
      await database.run('create table feelings (mood mood, moods mood[])');
    });

    test('needs no other session behind its commit', async () => {
      let opened_before = 0;
      const { source } = await through({ toServer: (bytes, { sent }) => (sent === 1 && opened_before++ > 0 ? null : bytes) });
      const found = await source.query(sql(MOOD), WRITE);
      expect(found.rows).toEqual([{ mood: 'fine', moods: ['fine', 'low'] }]);
      expect(found.columns.map(({ type, kind }) => [type, kind])).toEqual([
        ['mood', 'string'],
        ['mood[]', 'array'],
      ]);
      expect(await written()).toHaveLength(1);
    });

    test.each([true, false])(
      'is written if and only if it is said to be, whoever leaves when (while committing: %p)',
      async (committing) => {
        const caller = new AbortController();
        const { source } = await through({
          toServer(bytes) {
            if (bytes.includes(committing ? 'commit' : 'pg_type')) caller.abort();
            return bytes;
          },
        });
        const outcome = source.query(sql(MOOD), { ...WRITE, signal: caller.signal });
        if (committing) expect((await outcome).rows).toHaveLength(1);
        else expect(await refusal(outcome)).toMatchObject({ code: 'cancelled' });
        expect(await written()).toHaveLength(committing ? 1 : 0);
      },
    );

    test('is not written when its time ends while its types are looked up', async () => {
      const { source } = await through({
        toServer(bytes, { server }) {
          if (!bytes.includes('pg_type')) return bytes;
          setTimeout(() => server.write(bytes), 400);
          return Buffer.alloc(0);
        },
      });
      expect(await refusal(source.query(sql(MOOD), { ...WRITE, timeout_ms: 200 }))).toMatchObject({ code: 'timeout' });
      expect(await written()).toEqual([]);
    });
  });

  const SCRAM = Buffer.from('R\0\0\0\x17\0\0\0\nSCRAM-SHA-256\0\0', 'latin1');
  const STRANGERS: readonly (readonly [name: string, greeting: string | Buffer, answer: string | Buffer])[] = [
    ['an SSH server', 'SSH-2.0-OpenSSH_9.2p1\r\n', ''],
    ['a MySQL server', Buffer.from('J\0\0\0\n8.0.33\0........', 'latin1'), ''],
    ['an HTTP server', '', 'HTTP/1.1 400 Bad Request\r\n\r\n'],
    ['a Redis server', '', '-ERR unknown command\r\n'],
    ['a mailer', '220 mail.example.test ESMTP\r\n', '500 what?\r\n'],
    ['bytes slipped in behind the answer about TLS', '', 'SR\0\0\0\x08\0\0\0\0'],
    ['lengths that cannot be', '', Buffer.from('R\xff\xff\xff\xff\0\0\0\0', 'latin1')],
    ['a message without length', '', Buffer.from('Z\0\0\0\0', 'latin1')],
    ['a login without salt', '', Buffer.concat([SCRAM, Buffer.from('R\0\0\0\x10\0\0\0\x0br=x,i=99', 'latin1')])],
    ['a login that never ends', '', Buffer.concat([SCRAM, Buffer.from('R\0\0\0\x1c\0\0\0\x0br=x,s=eA==,i=9999999', 'latin1')])],
  ];

  test.each(STRANGERS)('%s is told apart at once, and does no harm', async (_, greeting, answer) => {
    const server = await openStrangeServer(greeting, answer);
    opened.push(server);
    for (const ssl_mode of [null, 'disable', 'require'] as const) {
      const began = performance.now();
      const error = await refusal(open({ port: server.port, ssl_mode }).test());
      expect(error.code).toBe('database_unreachable');
      expect(performance.now() - began).toBeLessThan(paced(8_000));
    }
  });

  test('a server that says nothing ends in a timeout, and a caller can leave before', async () => {
    const server = await openStrangeServer('', '');
    opened.push(server);
    for (const ssl_mode of [null, 'disable'] as const) {
      const source = open({ port: server.port, ssl_mode });
      expect((await refusal(source.query(sql('select 1'), { ...READ, timeout_ms: 200 }))).code).toBe('timeout');
      const caller = new AbortController();
      const call = refusal(source.query(sql('select 1'), { ...READ, signal: caller.signal }));
      await Bun.sleep(50);
      caller.abort();
      expect((await call).code).toBe('cancelled');
      await until(() => source.sessions() === 0);
    }
  });

  test('a server that hangs up says so', async () => {
    const { source } = await through({ toServer: () => null });
    expect(await refusal(source.test())).toMatchObject({ code: 'database_unreachable' });
    expect(await refusal((await through({ toServer: () => null }, { ssl_mode: null })).source.test())).toMatchObject({
      code: 'database_unreachable',
    });
  });

  test('rows of a hundred megabytes are not held in memory', async () => {
    const source = open();
    const text = `select i, repeat('x', 100000000) as wide from generate_series(1, 20) as i`;
    Bun.gc(true);
    const before = process.memoryUsage.rss();
    // The database makes two gigabytes, which takes a busy machine longer than a call has.
    for (const mode of [FIXED, READ, FIXED, READ]) {
      const found = await source.query(sql(text), { ...mode, timeout_ms: 60_000 });
      expect(found).toMatchObject({ rows: [], truncated: true, affected_rows: null });
      expect(found.columns.map(({ name }) => name)).toEqual(['i', 'wide']);
    }
    expect(process.memoryUsage.rss() - before).toBeLessThan(96 * 1024 * 1024);
    const rows = await source.query(sql(`select i, repeat('x', i * i) as wide from generate_series(1, 20000) as i`), READ);
    expect([rows.truncated, rows.rows.length]).toEqual([true, 231]);
  }, 240_000);

  test('a write that returns more than may be held is rolled back and says so', async () => {
    const source = open();
    const text = `insert into notes values (4, repeat('x', 50000000)) returning *`;
    // A busy machine takes long for 50 MB.
    const patient = { ...WRITE, timeout_ms: 100_000 };
    expect((await refusal(source.query(sql(text), patient))).code).toBe('too_large');
    expect(await database.run('select id from notes')).toEqual([]);
  }, 240_000);

  test('a write that returns many rows runs to its end', async () => {
    const source = open();
    const text = 'insert into notes select i from generate_series(1, 5000) as i returning id';
    const found = await source.query(sql(text), { ...WRITE, max_rows: 10 });
    expect([found.rows.length, found.truncated]).toEqual([10, true]);
    expect(await database.run('select count(*)::int as n from notes')).toEqual([{ n: 5_000 }]);
    await database.run('delete from notes');
  });

  test('a fixed text that gave far too many rows is fetched in chunks from then on, by the same session', async () => {
    const source = open({ pool_size: 1 });
    const many = sql('select i, md5(i::text) as x from generate_series(1, 200000) as i');
    await source.query(many, FIXED);
    const { pid: second } = await pid(source);
    for (let i = 0; i < 3; i++) expect(await source.query(many, FIXED)).toMatchObject({ truncated: true });
    expect(await pid(source)).toEqual({ pid: second! });
  });

  test('a fixed session keeps its plans, and one with too many of them is replaced', async () => {
    const source = open({ pool_size: 1 });
    const first = await pid(source);
    for (let i = 0; i < 3; i++) await queryRow(source, 'select 1 as one');
    // Three of them are the commands of the transaction around each statement.
    expect(await queryRow(source, 'select count(*)::int as plans from pg_prepared_statements')).toEqual({ plans: 6 });
    for (let i = 0; i < 600; i++) await queryRow(source, `select ${i} as i`);
    expect(await pid(source)).not.toEqual(first);
    expect(Number((await queryRow(source, 'select count(*)::int as plans from pg_prepared_statements'))['plans'])).toBeLessThan(
      500,
    );
  });

  test('a session that is about to be replaced can still be cancelled', async () => {
    const source = open({ pool_size: 1 });
    for (let i = 0; i < 500; i++) await queryRow(source, `select ${i} as i`);
    const caller = new AbortController();
    const call = refusal(source.query(sql('select pg_sleep(21)'), { ...FIXED, signal: caller.signal }));
    const sleeping = () =>
      database.run(`select pid from pg_stat_activity where state = 'active' and query = 'select pg_sleep(21)'`);
    await until(async () => (await sleeping()).length === 1);
    caller.abort();
    expect((await call).code).toBe('cancelled');
    await until(async () => (await sleeping()).length === 0);
  });

  test('a table that changes under a prepared statement changes its columns', async () => {
    await database.run('create table shifting (id int)');
    await database.run('insert into shifting values (1)');
    const source = open({ pool_size: 1 });
    expect(await queryRow(source, 'select * from shifting')).toEqual({ id: 1 });
    await database.run(`alter table shifting add column name text default 'x'`);
    expect(await queryRow(source, 'select * from shifting')).toEqual({ id: 1, name: 'x' });
    await database.run('alter table shifting alter column id type text');
    expect((await source.query(sql('select * from shifting'), FIXED)).columns[0]).toMatchObject({ type: 'text', kind: 'string' });
  });

  test('the database itself knows the time limit of every call', async () => {
    const source = open({ pool_size: 1 });
    const text = `select current_setting('statement_timeout') as limit`;
    for (const mode of [FIXED, READ, WRITE]) {
      for (const timeout_ms of [7_000, 500, 500, 8_000]) {
        const limit = timeout_ms % 1_000 === 0 ? `${timeout_ms / 1_000}s` : `${timeout_ms}ms`;
        expect(await queryRow(source, text, { ...mode, timeout_ms })).toEqual({ limit });
      }
    }
  });

  test('COPY from and to the client is refused without hanging', async () => {
    const source = open();
    for (const [text, mode] of [
      ['copy (select 1) to stdout', READ],
      ['copy (select repeat($$x$$, 1000) from generate_series(1, 100000)) to stdout', FIXED],
      ['copy notes from stdin', WRITE],
    ] as const) {
      expect((await refusal(source.query(sql(text), mode))).code).toBe('sql_error');
    }
    expect(await queryRow(source, 'select 1 as one', WRITE)).toEqual({ one: 1 });
  });
});

async function queryRow(source: Source, text: string, options: RunOptions = FIXED): Promise<Row> {
  return (await source.query(sql(text), options)).rows[0]!;
}

/** The start message: its length, the version of the protocol, then names and values, each ended by a zero byte. */
function isStart(bytes: Buffer): boolean {
  return bytes.length > 8 && bytes.readUInt32BE(4) === 196_608;
}

function withoutSettings(bytes: Buffer): Buffer {
  const words = bytes.toString('utf8', 8).split('\0');
  const pairs = words.flatMap((name, i) => (i % 2 === 0 && ['user', 'database'].includes(name) ? [name, words[i + 1]!] : []));
  const body = Buffer.from(`${pairs.join('\0')}\0\0`);
  const head = Buffer.alloc(8);
  head.writeUInt32BE(8 + body.length, 0);
  head.writeUInt32BE(196_608, 4);
  return Buffer.concat([head, body]);
}
