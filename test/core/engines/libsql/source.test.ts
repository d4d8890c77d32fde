import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { SQLITE_RULES } from '#core/engines/sqlite/rules.ts';
import { openLibsql } from '#core/engines/libsql/source.ts';
import type { ConnectionSettings } from '#core/engines/shared/connection-settings.ts';
import type { Source } from '#core/engines/shared/source.ts';
import { type Authority, createAuthority } from '#test/support/certificates.ts';
import { localPolicy } from '#test/support/databases.ts';
import { openTlsFront, type SqldServer, startSqld } from '#test/support/sqld-server.ts';
import { READ, refusal, sql, WRITE } from '../shared/suite.ts';
import { classify, parseSql } from '#test/support/sql.ts';
import { until } from '#test/support/until.ts';

const sources: Source[] = [];
let server: SqldServer;
let token: string;

beforeAll(async () => {
  server = await startSqld();
  token = await server.token('rw');
  for (const statement of [
    'CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT, price REAL, active BOOLEAN, extra JSON, picture BLOB, seen DATETIME)',
    `INSERT INTO item VALUES (1, 'pen "ü" 😀', 1.5, 1, '{"big":12345678901234567890,"exact":[12345678901234567890.5,1e400]}', x'00ff', '2020-01-02 03:04:05')`,
    'INSERT INTO item VALUES (9007199254740993, NULL, NULL, NULL, NULL, NULL, NULL)',
    'CREATE TABLE part (item_id INTEGER REFERENCES item)',
    'CREATE VIRTUAL TABLE word USING fts3 (body)',
    "INSERT INTO word VALUES ('one')",
    "INSERT INTO word VALUES ('two')",
    "CREATE VIEW stolen AS SELECT readfile('/etc/hostname') AS body",
    "CREATE VIEW listed AS SELECT name FROM fsdir('/etc')",
  ]) {
    await server.run(statement);
  }
});

afterAll(async () => {
  await Promise.all(sources.map((source) => source.close()));
  await server.stop();
});

function open(settings: Partial<ConnectionSettings> = {}, policy = localPolicy): Source {
  const source = openLibsql(
    {
      db_type: 'libsql',
      host: '127.0.0.1',
      port: server.port,
      database: 'default',
      username: null,
      password: token,
      ssl_mode: 'disable',
      ssl_ca: null,
      ssl_cert: null,
      ssl_key: null,
      extra_params: {},
      pool_size: 2,
      ...settings,
    },
    policy,
  );
  sources.push(source);
  return source;
}

const FILES = expect.stringContaining('readfile, writefile') as string;

const MILLION =
  "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c LIMIT 1000000) SELECT i, 'row number ' || i AS name FROM c";

/** The server has come to rest: what nobody reads any more does not go on there. */
async function rests(): Promise<void> {
  await until(async () => {
    const before = await server.worked();
    await Bun.sleep(100);
    return (await server.worked()) - before <= 20;
  });
}

describe('libSQL over HTTP', () => {
  test('every storage class comes in the encoding of the contract', async () => {
    const { rows, columns } = await open().query(sql('SELECT *, price * 2 AS twice FROM item ORDER BY price DESC'), READ);
    expect(rows[0]).toEqual({
      id: 1,
      name: 'pen "ü" 😀',
      price: 1.5,
      active: true,
      extra: { big: '12345678901234567890', exact: ['12345678901234567890.5', '1e400'] },
      picture: 'AP8=',
      seen: '2020-01-02T03:04:05',
      twice: 3,
    });
    expect(rows[1]).toMatchObject({ id: '9007199254740993', name: null });
    expect(await open().describe('SELECT *, price * 2 AS twice FROM item', [])).toEqual({ columns: [...columns] });
  });

  test('bound values have their declared types and a repeated name keeps every value', async () => {
    const text = 'SELECT typeof(?) AS a, typeof(?) AS a, ? AS big, ? AS none';
    const result = await open().query(
      sql(text, [5, 5, '9007199254740993', null], ['integer', 'number', 'integer', 'string']),
      READ,
    );
    expect(result.rows).toEqual([{ a: 'integer', a_2: 'real', big: '9007199254740993', none: null }]);
  });

  test('fetching stops at the row and byte limits, and the server stops too', async () => {
    const source = open();
    const few = await source.query(sql(MILLION), { ...READ, max_rows: 10 });
    expect(few.rows).toHaveLength(10);
    expect(few.truncated).toBe(true);
    const small = await source.query(sql(MILLION), { ...READ, max_rows: 1_000_000, max_bytes: 10_000 });
    expect(JSON.stringify(small.rows).length).toBeWithin(9_000, 10_001);
    const giant = await source.query(sql('SELECT hex(zeroblob(2000000)) AS a'), { ...READ, max_bytes: 10_000 });
    expect(giant).toMatchObject({ rows: [], truncated: true });
    expect((await source.query(sql('SELECT id FROM item LIMIT 2'), { ...READ, max_rows: 2 })).truncated).toBe(false);
    await rests();
    expect(source.sessions()).toBe(0);
  });

  test('a million rows do not grow the memory', async () => {
    const source = open();
    for (let i = 0; i < 2; i++) await source.query(sql(MILLION), { ...READ, max_rows: 100 });
    Bun.gc(true);
    const before = process.memoryUsage.rss();
    for (let i = 0; i < 5; i++)
      expect(await source.query(sql(MILLION), { ...READ, max_rows: 100 })).toMatchObject({ truncated: true });
    expect(process.memoryUsage.rss() - before).toBeLessThan(48 * 1024 * 1024);
  });

  test('a slow statement ends at its time limit or with its caller', async () => {
    const source = open();
    const count = 'SELECT count(*) AS n FROM item';
    expect(
      (await refusal(source.query(sql(MILLION), { ...READ, max_rows: 900_000, max_bytes: 1e9, timeout_ms: 100 }))).code,
    ).toBe('timeout');
    const controller = new AbortController();
    setTimeout(() => controller.abort(), 60);
    const options = { ...READ, max_rows: 900_000, max_bytes: 1e9, signal: controller.signal };
    expect((await refusal(source.query(sql(MILLION), options))).code).toBe('cancelled');
    await rests();
    expect((await source.query(sql(count), READ)).rows).toEqual([{ n: 2 }]);
  });

  test('a write is committed, a failed one leaves nothing', async () => {
    const source = open();
    expect(await source.query(sql('INSERT INTO part VALUES (?), (?)', [1, 1], ['integer', 'integer']), WRITE)).toEqual({
      columns: [],
      rows: [],
      truncated: false,
      affected_rows: 2,
    });
    const returning = await source.query(sql('INSERT INTO part VALUES (1), (1) RETURNING rowid AS id'), {
      ...WRITE,
      max_rows: 1,
    });
    expect(returning).toMatchObject({ rows: [{ id: 3 }], truncated: true, affected_rows: null });
    expect((await refusal(source.query(sql('INSERT INTO item (id) VALUES (50), (1)'), WRITE))).code).toBe('sql_error');
    expect(await server.run('SELECT (SELECT count(*) FROM part) AS p, (SELECT count(*) FROM item) AS i')).toEqual([['4', '2']]);
  });

  test('at most pool_size conversations are open at once', async () => {
    const source = open({ pool_size: 2 });
    const calls = Array.from({ length: 8 }, () =>
      source.query(sql(MILLION.replace('1000000', '3000')), { ...READ, max_rows: 3_000, max_bytes: 1e8 }),
    );
    expect(source.sessions()).toBe(2);
    expect((await Promise.all(calls)).every(({ rows }) => rows.length === 3_000)).toBe(true);
    await source.close();
    expect(source.sessions()).toBe(0);
  });

  test('a faulty statement is answered with the words of the server and the place', async () => {
    const error = await refusal(open().query(sql('SELECT id FORM item'), READ));
    expect(error).toMatchObject({ code: 'sql_error', detail: 'near "item": syntax error.', position: 15 });
    expect((await refusal(open().query(sql('SELECT 1; SELECT 2'), READ))).detail).toContain('more than one statement');
    expect(await refusal(open().query(sql("SELECT 'ü' AS a, nope"), READ))).toMatchObject({
      detail: 'no such column: nope.',
      position: 17,
    });
    const write = await refusal(open().query(sql('INSERT INTO item VALUS (1)'), WRITE));
    expect(write).toMatchObject({ code: 'sql_error', detail: 'near "VALUS": syntax error.', position: 17 });
  });

  test('the schema and the version are told', async () => {
    const source = open();
    const page = { skip: 0, limit: 100 };
    expect(await source.tables(page)).toMatchObject({
      items: expect.arrayContaining([expect.objectContaining({ name: 'item' })]) as unknown[],
    });
    expect((await source.columns({ name: 'part' }, page)).items[0]).toMatchObject({
      references: { table: 'item', column: 'id' },
    });
    expect((await refusal(source.columns({ name: 'none' }, page))).code).toBe('not_found');
    expect(await source.test()).toEqual({
      server_version: expect.stringMatching(/^libSQL \(SQLite 3\./) as string,
      warnings: [FILES],
      superuser: false,
    });
  });

  test('a connection that cannot be made says why', async () => {
    const at = (settings: Partial<ConnectionSettings>) => refusal(open(settings).test());
    expect(await at({ password: 'wrong' })).toMatchObject({ code: 'database_unreachable', reason: 'auth_failed' });
    expect(await at({ password: null })).toMatchObject({ reason: 'auth_failed' });
    expect(await at({ port: 1 })).toMatchObject({ reason: 'refused' });
    expect(await at({ host: 'no-such-host.invalid' })).toMatchObject({ reason: 'dns_failed' });
    const blocked = open({}, { ...localPolicy, allow_private_networks: false });
    expect((await refusal(blocked.test())).code).toBe('private_network_blocked');
  });
});

describe('a libSQL call that only reads', () => {
  const ATTACKS = [
    "INSERT INTO item (name) VALUES ('x')",
    'DELETE FROM item',
    'DELETE FROM item RETURNING id',
    'WITH x AS (SELECT 1) DELETE FROM item',
    'CREATE TABLE u (a)',
    'CREATE TEMP TABLE u (a)',
    'DROP TABLE item',
    "ATTACH 'other.db' AS o",
    "VACUUM INTO '/tmp/sluice-stolen.db'",
    'PRAGMA query_only = 0',
    'PRAGMA user_version = 5',
    '/* x */ PRAGMA writable_schema = 1',
    'BEGIN',
    'BEGIN READONLY',
    'COMMIT',
    'ROLLBACK',
    'SAVEPOINT a',
    'REINDEX',
    'SELECT 1; DELETE FROM item',
    'UPDATE sqlite_dbpage SET data = zeroblob(4096) WHERE pgno = 1',
    'SELECT * FROM stolen',
    'SELECT (SELECT body FROM stolen)',
    'SELECT * FROM listed',
  ];

  const state = () =>
    server.run(
      'SELECT (SELECT count(*) FROM item), (SELECT count(*) FROM sqlite_schema), (SELECT group_concat(hex(root)) FROM word_segdir)',
    );

  test('is refused by the server or by its word on the statement', async () => {
    const before = await state();
    for (const mode of ['read', 'fixed'] as const) {
      const source = open();
      for (const text of ATTACKS) {
        const error = await refusal(source.query(sql(text), { ...READ, mode }));
        expect([text, error.code]).toEqual([text, expect.stringMatching(/^(not_read_only|sql_error)$/) as string]);
      }
      expect((await source.query(sql('SELECT count(*) AS n FROM item'), READ)).rows).toEqual([{ n: 2 }]);
    }
    expect(await state()).toEqual(before);
  });

  test('leaves nothing of a function that writes behind the back of the statement', async () => {
    const before = await state();
    const source = open();
    const { rows } = await source.query(sql('SELECT optimize(word) AS done FROM word LIMIT 1'), READ);
    expect(rows).toEqual([{ done: 'Index optimized' }]);
    await source.close();
    expect(await state()).toEqual(before);
    // Nobody holds the lock of a writer either.
    expect(
      (await open().query(sql('UPDATE item SET price = 2 WHERE id = 1'), { ...WRITE, timeout_ms: 2_000 })).affected_rows,
    ).toBe(1);
  });

  test('cannot be ended by the statement: what follows it is not run', async () => {
    const before = await state();
    for (const text of [
      'SELECT 1; COMMIT',
      'SELECT 1; INSERT INTO item (name) VALUES (1)',
      "EXPLAIN INSERT INTO item (name) VALUES ('x')",
    ]) {
      await open()
        .query(sql(text), READ)
        .catch(() => undefined);
    }
    expect(await state()).toEqual(before);
  });

  test('goes with a token that only reads; a write says that it does not', async () => {
    const source = open({ password: await server.token('ro') });
    expect((await source.query(sql('SELECT count(*) AS n FROM item'), READ)).rows).toEqual([{ n: 2 }]);
    const error = await refusal(source.query(sql("INSERT INTO item (name) VALUES ('x')"), WRITE));
    expect(error).toMatchObject({
      code: 'database_unreachable',
      detail: expect.stringContaining('token allows writing') as string,
    });
  });

  test('a writing call reaches no other file and no setting either', async () => {
    for (const text of ATTACKS.filter((text) => /^(?:ATTACH|VACUUM|BEGIN|COMMIT|ROLLBACK|.*PRAGMA)/.test(text))) {
      expect((await refusal(open().query(sql(text), WRITE))).code).toBe('sql_error');
    }
    expect((await refusal(open().query(sql('INSERT INTO item (name) SELECT body FROM stolen'), WRITE))).code).toBe('sql_error');
  });
});

describe('what a libSQL server has compiled in', () => {
  /** Ways to a file of the server's machine: each of them works there, and none passes in a tool. */
  const WAYS = [
    "select readfile('/etc/hostname')",
    'select "readfile"(\'/etc/hostname\')',
    "select readfile /* a */ ('/etc/hostname') as materialized",
    "with x(a) as (select readfile('/etc/hostname')) select a from x",
    "select name from fsdir('/etc') limit 1",
    "select name from fsdir where path = '/etc' limit 1",
    "select name from main.fsdir('/etc') limit 1",
    'select name from "FSDIR" where path = \'/etc\' limit 1',
    "select name from 'fsdir' where path = '/etc' limit 1",
    "select name from fsdir('/etc') as materialized limit 1",
    "select name from (select 1), 'fsdir'('/etc') limit 1",
    "select name from (select 1) join [fsdir] on path = '/etc' limit 1",
    'select pgno from sqlite_dbpage limit 1',
    'select sql from sqlite_stmt',
    'select file from pragma_database_list',
    "select sha3_query('select readfile(1)')",
  ];

  test.each(WAYS)('%s: works there, and is refused in a tool', async (text) => {
    expect(await server.run(text)).toHaveLength(1);
    const found = await classify(parseSql(text, 'sqlite', []));
    expect([found.read_only, found.fixed, found.forbidden]).toEqual([false, false, expect.any(String) as string]);
  });

  test('holds no table that is neither refused nor known to be harmless', async () => {
    const modules = (await server.run('SELECT name FROM pragma_module_list')).map(([name]) => String(name));
    const known = new Set([...HARMLESS_MODULES, ...SQLITE_RULES.forbiddenTables.keys()]);
    expect(modules.filter((name) => !known.has(name) && SQLITE_RULES.pragmas?.has(name) !== true)).toEqual([]);
  });
});

/** What reads or keeps rows of its own database, or numbers. */
const HARMLESS_MODULES =
  `json_each json_tree generate_series fts3 fts4 fts5 fts3tokenize fts4aux fts5vocab rtree rtree_i32 geopoly
  vector_top_k carray dbstat`.split(/\s+/);

describe('libSQL over TLS', () => {
  let authority: Authority;
  let secure: { port: number; close(): void };

  beforeAll(async () => {
    authority = await createAuthority('Sluice test');
    secure = await openTlsFront(server.port, await authority.issue('DNS:localhost'));
  });

  afterAll(async () => {
    secure.close();
    await authority.remove();
  });

  const at = (settings: Partial<ConnectionSettings>) => open({ port: secure.port, host: 'localhost', ...settings }).test();

  test('the certificate is verified unless it is told otherwise', async () => {
    const version = { server_version: expect.any(String) as string, warnings: [FILES], superuser: false };
    expect(await at({ ssl_mode: null, ssl_ca: authority.ca })).toEqual(version);
    expect(await at({ ssl_mode: 'verify-full', ssl_ca: authority.ca })).toEqual(version);
    expect(await at({ ssl_mode: 'require' })).toEqual(version);
    expect(await at({ ssl_mode: 'verify-ca', ssl_ca: authority.ca, host: '127.0.0.1' })).toEqual(version);
    for (const settings of [
      { ssl_mode: null },
      { ssl_mode: 'verify-ca' },
      { ssl_mode: 'verify-full', ssl_ca: authority.ca, host: '127.0.0.1' },
    ] as const) {
      expect(await refusal(at(settings))).toMatchObject({ code: 'database_unreachable', reason: 'tls_failed' });
    }
  });
});
