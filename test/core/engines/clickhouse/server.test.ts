import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { openClickhouse } from '#core/engines/clickhouse/source.ts';
import type { ConnectionSettings } from '#core/engines/shared/connection-settings.ts';
import type { Source } from '#core/engines/shared/source.ts';
import { type Authority, createAuthority } from '#test/support/certificates.ts';
import { ACCOUNTS, type ClickhouseServer, hasClickhouse, startClickhouse } from '#test/support/clickhouse-server.ts';
import { localPolicy, reachable } from '#test/support/databases.ts';
import { paced } from '#test/support/paced.ts';
import { openTlsFront } from '#test/support/sqld-server.ts';
import { FIXED, READ, refusal, sql, WRITE } from '../shared/suite.ts';
import { ENDLESS, SETTINGS, SHOP } from './fixture.ts';
import { until } from '#test/support/until.ts';

const sources: Source[] = [];
let server: ClickhouseServer;

function open(settings: Partial<ConnectionSettings> = {}, policy = localPolicy): Source {
  const source = openClickhouse({ ...SETTINGS, port: server.port, ...settings }, policy);
  sources.push(source);
  return source;
}

/** Queries of ours that run there now. */
const busy = async (): Promise<number> =>
  Number(
    await server.run(`SELECT count() FROM system.processes WHERE query LIKE '%system.numbers%' AND query NOT LIKE '%processes%'`),
  );

const numbers = (count: number): string => `SELECT number + 1 AS n FROM system.numbers LIMIT ${count}`;

describe.skipIf(!hasClickhouse)('ClickHouse 18.16 over HTTP', () => {
  let source: Source;

  beforeAll(async () => {
    server = await startClickhouse();
    for (const statement of SHOP) await server.run(statement);
    source = open();
  });

  afterAll(async () => {
    await Promise.all(sources.map((each) => each.close()));
    await server?.stop();
  });

  for (const mode of [READ, FIXED]) {
    test(`${mode.mode}: values come as the contract says, and the description agrees`, async () => {
      const text = 'SELECT *, id AS again, 1 / 0 AS infinite, (1, [NULL, 2]) AS pair FROM item ORDER BY id';
      const { rows, columns } = await source.query(sql(text), mode);
      expect(rows[0]).toEqual({
        id: 1,
        name: 'pen',
        price: '1.50',
        state: 'new',
        big: '9007199254740993',
        seen: '2026-01-02T03:04:05Z',
        born: '2026-01-02',
        tags: ['a', "b'"],
        again: 1,
        infinite: null,
        pair: [1, [null, 2]],
      });
      expect(rows[1]).toMatchObject({ name: 'ünïcode 😀 "quoted" \n\t\\', born: null, tags: [] });
      expect(await source.describe(text, [])).toEqual({ columns: [...columns] });
      expect(columns.map(({ kind }) => kind).join(' ')).toBe(
        'integer string string string bigint string string array integer number json',
      );
    });

    test(`${mode.mode}: rows end at the limits, and exactly the limit is not truncated`, async () => {
      for (const [count, truncated] of [
        [0, false],
        [999, false],
        [1_000, false],
        [1_001, true],
        [200_000, true],
      ] as const) {
        const found = await source.query(sql(numbers(count)), mode);
        expect([found.rows.length, found.truncated]).toEqual([Math.min(count, 1_000), truncated]);
        expect(found.columns.map(({ name }) => name)).toEqual(['n']);
      }
      const small = await source.query(sql(numbers(100_000)), { ...mode, max_rows: 100_000, max_bytes: 4_096 });
      expect(small.truncated).toBe(true);
      expect(JSON.stringify(small.rows).length).toBeWithin(1_024, 8_192);
      const giant = sql(`SELECT arrayStringConcat(arrayMap(x -> 'xxxxxxxxxx', range(200000))) AS a`);
      expect(await source.query(giant, { ...mode, max_bytes: 10_000 })).toMatchObject({ rows: [], truncated: true });
      await until(async () => (await busy()) === 0);
    });

    test(`${mode.mode}: what takes too long, and what nobody waits for, ends on the server`, async () => {
      const began = performance.now();
      expect((await refusal(source.query(sql(ENDLESS), { ...mode, timeout_ms: 400 }))).code).toBe('timeout');
      expect(performance.now() - began).toBeLessThan(paced(2_000));
      await until(async () => (await busy()) === 0);
      const caller = new AbortController();
      const call = refusal(source.query(sql(`${ENDLESS} -- again`), { ...mode, signal: caller.signal }));
      await until(async () => (await busy()) === 1);
      caller.abort();
      expect((await call).code).toBe('cancelled');
      await until(async () => (await busy()) === 0);
      const gone = refusal(source.query(sql(ENDLESS), { ...mode, signal: AbortSignal.abort() }));
      expect((await gone).code).toBe('cancelled');
      expect((await source.query(sql('SELECT 1 AS one'), mode)).rows).toEqual([{ one: 1 }]);
      expect(source.sessions()).toBe(0);
    });
  }

  test('an endless answer that is read in part ends on the server, and does not grow the memory', async () => {
    const endless = 'SELECT number, toString(number) AS text FROM system.numbers';
    for (let i = 0; i < 2; i++) await source.query(sql(endless), READ);
    Bun.gc(true);
    const before = process.memoryUsage.rss();
    for (let i = 0; i < 5; i++) expect(await source.query(sql(endless), READ)).toMatchObject({ truncated: true });
    expect(process.memoryUsage.rss() - before).toBeLessThan(48 * 1024 * 1024);
    await until(async () => (await busy()) === 0);
  });

  test('a query in the place of a value, which describing runs, has the same limits', async () => {
    const text = 'SELECT (SELECT count() FROM system.numbers WHERE number % 7 = 8) AS n';
    expect((await refusal(open().query(sql(text), { ...READ, timeout_ms: 400 }))).code).toBe('timeout');
    await until(async () => (await busy()) === 0);
  });

  test('a fault after the first rows is a fault, and no row', async () => {
    const text = `SELECT number, throwIf(number = 300000) AS t FROM system.numbers LIMIT 400000`;
    const error = await refusal(source.query(sql(text), { ...READ, max_rows: 500_000, max_bytes: 64 * 1024 * 1024 }));
    expect(error.code).toBe('sql_error');
    expect(error.detail).toContain('throwIf');
    expect((await source.query(sql(text), READ)).truncated).toBe(true);
  });

  test('faults say what the server says, and where', async () => {
    expect(await refusal(source.query(sql(`SELECT 'äö', id FORM item WHERE`), READ))).toMatchObject({
      code: 'sql_error',
      detail: `Syntax error near 'item WHERE'.`,
    });
    const placed = await refusal(source.describe(`SELECT 'äö' AS a, nope FROM item`, []));
    expect(placed).toMatchObject({ code: 'sql_error', detail: 'Unknown identifier: nope.' });
    expect((await refusal(source.describe('SELECT 1 FROM nothing_like_it', []))).detail).toContain('nothing_like_it');
    const away = await refusal(source.describe(`SELECT 'äö', 1 + + FROM item`, []));
    expect(away.position).toBeWithin(12, 20);
    expect(away.detail).not.toContain('Expected one of');
    expect((await refusal(source.describe('SELECT id FROM item WHERE', []))).detail).toBe(
      'Syntax error at the end of the statement.',
    );
    expect((await source.query(sql('SELECT 1 AS one'), READ)).rows).toEqual([{ one: 1 }]);
  });

  test('a tool with parameters says that the server is too old for them', async () => {
    const error = await refusal(source.query(sql('SELECT {p1:Nullable(Int64)} AS a', [1], ['integer']), READ));
    expect([error.code, error.detail]).toEqual(['sql_error', expect.stringContaining('need ClickHouse 20') as string]);
  });

  test('accounts: the profile decides, and one that cannot be held to reading is refused', async () => {
    const as = (username: keyof typeof ACCOUNTS, more: Partial<ConnectionSettings> = {}) =>
      open({ username, password: ACCOUNTS[username], ...more });
    expect((await as('ada').query(sql('SELECT currentDatabase() AS d'), READ)).rows).toEqual([{ d: 'shop' }]);
    const reader = as('reader');
    expect((await reader.query(sql('SELECT big, price FROM item WHERE id = 1'), READ)).rows).toEqual([
      { big: '9007199254740993', price: '1.50' },
    ]);
    const warnings = (await reader.test()).warnings.join(' ');
    expect(warnings).toContain('readonly = 1');
    expect(warnings).toContain('not in UTC');
    expect((await refusal(reader.query(sql(ENDLESS), { ...READ, timeout_ms: 300 }))).code).toBe('timeout');
    await until(async () => (await busy()) === 0);
    for (const ask of ['test', 'query', 'describe'] as const) {
      const loose = as('loose');
      const work = {
        test: () => loose.test(),
        query: () => loose.query(sql('SELECT 1'), READ),
        describe: () => loose.describe('SELECT 1', []),
      };
      expect((await refusal(work[ask]())).detail).toContain('readonly = 2');
    }
    const set = await refusal(as('reader', { extra_params: { max_threads: '1' } }).query(sql('SELECT 1'), READ));
    expect(set.detail).toContain('extra_params cannot be set');
  });

  test('settings of the connection reach every statement', async () => {
    const held = open({ extra_params: { max_threads: '1', max_memory_usage: '1000000' } });
    const text = 'SELECT name, value FROM system.settings';
    // The table of settings is none of a tool's business.
    expect((await refusal(held.query(sql(text), READ))).detail).toContain('system.settings');
    const large = 'SELECT uniqExact(number) AS n FROM (SELECT number FROM system.numbers LIMIT 1000000)';
    expect((await refusal(held.query(sql(large), READ))).detail).toContain('Memory limit');
    expect((await source.query(sql(large), READ)).rows).toEqual([{ n: 1_000_000 }]);
  });

  test('what cannot be reached says why', async () => {
    const at = (settings: Partial<ConnectionSettings>) => refusal(open(settings).test());
    expect(await at({ username: 'ada', password: 'wrong' })).toMatchObject({
      code: 'database_unreachable',
      reason: 'auth_failed',
    });
    expect(await at({ username: 'nobody' })).toMatchObject({ reason: 'auth_failed' });
    expect(await at({ port: 1 })).toMatchObject({ reason: 'refused' });
    expect(await at({ database: 'no_such_database' })).toMatchObject({ reason: 'database_missing' });
    expect(await at({ host: 'no-such-host.invalid' })).toMatchObject({ reason: 'dns_failed' });
    const secure = await at({ ssl_mode: null });
    expect(secure).toMatchObject({ code: 'database_unreachable' });
    const blocked = open({}, { ...localPolicy, allow_private_networks: false });
    expect((await refusal(blocked.query(sql('SELECT 1'), READ))).code).toBe('private_network_blocked');
    const own = open({}, { ...localPolicy, forbidden: [{ host: 'localhost', port: server.port }] });
    expect((await refusal(own.test())).code).toBe('private_network_blocked');
    const redis = open({ port: 6379 }).test();
    expect((await refusal(redis)).code).toBe('database_unreachable');
  });

  test('the catalogue lists tables and columns with the exact total', async () => {
    const page = { skip: 0, limit: 100 };
    const all = await source.tables(page);
    expect(all.items).toEqual([
      { schema: 'shop', name: 'cheap', in_path: true, type: 'view', comment: null },
      { schema: 'shop', name: 'item', in_path: true, type: 'table', comment: null },
      { schema: 'shop', name: 'victim', in_path: true, type: 'table', comment: null },
    ]);
    expect(all.total).toBe(3);
    expect(await source.tables({ skip: 1, limit: 1, search: 'I' })).toMatchObject({ items: [{ name: 'victim' }], total: 2 });
    expect(await source.tables({ ...page, schema: 'other' })).toMatchObject({ total: 1 });
    expect(await source.tables({ ...page, schema: 'system' })).toEqual({ items: [], total: 0 });
    expect(await source.tables({ ...page, search: `' OR 1 = 1 --` })).toEqual({ items: [], total: 0 });
    expect(await source.tables({ skip: 50, limit: 1 })).toEqual({ items: [], total: 3 });
    const { items, total } = await source.columns({ name: 'item' }, page);
    expect(total).toBe(8);
    expect(items.slice(0, 4)).toMatchObject([
      { name: 'id', type: 'UInt32', nullable: false, primary_key: true, default: null, comment: null },
      {
        name: 'name',
        nullable: true,
        primary_key: false,
        default: expect.stringContaining("'none'") as string,
        comment: 'As printed',
      },
      { name: 'price', type: 'Nullable(Decimal(10, 2))' },
      { name: 'state', enum: ['new', "it's old"] },
    ]);
    expect(await source.columns({ name: 'item' }, { ...page, search: 'TAG' })).toMatchObject({
      items: [{ name: 'tags' }],
      total: 1,
    });
    expect(await source.columns({ name: 'item' }, { ...page, search: 'nothing' })).toEqual({ items: [], total: 0 });
    expect(await source.columns({ schema: 'other', name: 'item' }, page)).toMatchObject({ items: [{ name: 'x' }] });
    for (const name of ['none', `item' --`, 'ITEM']) {
      expect((await refusal(source.columns({ name }, page))).code).toBe('not_found');
    }
    const before = await source.schemaMark?.();
    expect(await source.schemaMark?.()).toBe(before);
    await server.run('ALTER TABLE shop.item ADD COLUMN later UInt8');
    expect(await source.schemaMark?.()).not.toBe(before);
    await server.run('ALTER TABLE shop.item DROP COLUMN later');
  });

  test('at most pool_size statements run at once, and closing waits for them', async () => {
    const small = open({ pool_size: 2 });
    let most = 0;
    const calls = Array.from({ length: 12 }, async (_, i) => {
      const { rows } = await small.query(sql(`SELECT ${i} AS i`), READ);
      most = Math.max(most, small.sessions());
      return rows[0]?.['i'];
    });
    expect(await Promise.all(calls)).toEqual(Array.from({ length: 12 }, (_, i) => i));
    expect(most).toBeLessThanOrEqual(2);
    const running = small.query(sql(numbers(3)), READ);
    const closed = small.close();
    expect((await running).rows).toHaveLength(3);
    await closed;
    expect((await refusal(small.query(sql('SELECT 1'), READ))).code).toBe('unavailable');
  });

  test('writing is refused with a sentence', async () => {
    for (const work of [
      () => source.query(sql('INSERT INTO victim VALUES (2)'), READ),
      () => source.query(sql('INSERT INTO victim VALUES (2)'), WRITE),
      () => source.query(sql('SELECT 1'), WRITE),
      () => source.describe('DROP TABLE victim', []),
    ]) {
      expect(await refusal(work())).toMatchObject({
        code: 'not_read_only',
        detail: expect.stringContaining('read-only') as string,
      });
    }
    expect(await server.run('SELECT groupArray(id) FROM shop.victim')).toBe('[1]');
  });

  test('the test names the version, and an encrypted connection is verified', async () => {
    expect(await source.test()).toMatchObject({ server_version: 'ClickHouse 18.16.1', superuser: false });
    const authority: Authority = await createAuthority('Sluice test');
    const front = await openTlsFront(server.port, await authority.issue('DNS:localhost'));
    const at = (settings: Partial<ConnectionSettings>) => open({ port: front.port, host: 'localhost', ...settings }).test();
    try {
      expect((await at({ ssl_mode: null, ssl_ca: authority.ca })).server_version).toBe('ClickHouse 18.16.1');
      expect((await at({ ssl_mode: 'verify-full', ssl_ca: authority.ca })).server_version).toBe('ClickHouse 18.16.1');
      expect((await at({ ssl_mode: 'require' })).server_version).toBe('ClickHouse 18.16.1');
      expect((await at({ ssl_mode: 'verify-ca', ssl_ca: authority.ca, host: '127.0.0.1' })).server_version).toBe(
        'ClickHouse 18.16.1',
      );
      for (const settings of [
        { ssl_mode: null },
        { ssl_mode: 'verify-ca' },
        { ssl_mode: 'verify-full', ssl_ca: authority.ca, host: '127.0.0.1' },
      ] as const) {
        expect(await refusal(at(settings))).toMatchObject({ code: 'database_unreachable', reason: 'tls_failed' });
      }
      // The usual port of a server of one's own speaks plain HTTP.
      const { detail, reason } = await refusal(open({ ssl_mode: null }).test());
      expect([reason, detail]).toEqual(['tls_failed', expect.stringContaining('set ssl_mode to disable') as string]);
    } finally {
      front.close();
      await authority.remove();
    }
  });

  test('a port that is not the HTTP port of ClickHouse is called that', async () => {
    const others = [server.native_port, ...(reachable.postgres ? [5432] : []), ...(reachable.mysql ? [3306] : [])];
    for (const port of others) {
      const { code, reason, detail } = await refusal(open({ port }).test());
      expect([port, code, reason]).toEqual([port, 'database_unreachable', 'failed']);
      expect(detail).toContain('Sluice needs the HTTP port of ClickHouse, usually 8443, or 8123 without TLS; not 9000 or 9440.');
    }
  });

  test('a server that is killed ends its calls, and serves again once it is back', async () => {
    const call = refusal(source.query(sql(ENDLESS), { ...READ, timeout_ms: 20_000 }));
    await until(async () => (await busy()) === 1);
    await server.kill();
    expect(await call).toMatchObject({ code: 'database_unreachable' });
    expect(await refusal(source.query(sql('SELECT 1 AS one'), READ))).toMatchObject({ reason: 'refused' });
    await server.start();
    expect((await source.query(sql('SELECT 1 AS one'), READ)).rows).toEqual([{ one: 1 }]);
    // Memory of the server: gone with it.
    await server.run('INSERT INTO shop.victim VALUES (1)');
  });
});
