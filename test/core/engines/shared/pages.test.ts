import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { Database } from 'bun:sqlite';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSource } from '#core/engines/index.ts';
import type { ConnectionSettings } from '#core/engines/shared/connection-settings.ts';
import type { Json } from '#core/lib/sql/result.ts';
import type { Source } from '#core/engines/shared/source.ts';
import { AppError } from '#core/errors.ts';
import type { QueryPlan } from '#core/query/query.ts';
import type { FrozenQuery } from '#core/query/frozen-query.ts';
import { fc, seed } from '#test/support/chance.ts';
import { localPolicy, reachable, testDatabase } from '#test/support/databases.ts';
import { startSqld } from '#test/support/sqld-server.ts';
import { createDuckdbFolder } from '../duckdb/fixture.ts';
import { planPages, walkPages } from './page-walk.ts';

interface Bench {
  readonly source: Source;
  readonly db_type: ConnectionSettings['db_type'];
  /** Absent: nothing writes to it while it is served. */
  readonly run?: (text: string) => Promise<unknown>;
  close(): Promise<void>;
}

const COLUMNS = ['small', 'word', 'code', 'price', 'day', 'seen', 'flag', 'big'] as const;
type Cells = Readonly<Record<(typeof COLUMNS)[number], string | null>>;

/** Few values, so that many rows are alike; some differ only for those who look closely. */
const CHOICES: Readonly<Record<keyof Cells, readonly (string | null)[]>> = {
  small: [null, '-1', '0', '1'],
  word: [null, "'a'", "'A'", "'a '", "'á'", "''", "'0'", "'10'", "'9'", "'it''s'"],
  code: [null, "'a'", "'ab'", "'A'", "'ab c'", "''"],
  price: [null, '0.10', '1.00', '10.25', '-3.50', '123456789012.34'],
  day: [null, "'2026-01-02'", "'1999-12-31'"],
  seen: [null, "'2026-01-02 03:04:05'", "'2026-01-02 03:04:06'", "'1999-01-01 00:00:00'"],
  flag: [null, 'true', 'false'],
  big: [null, '9007199254740993', '9007199254740992', '-9007199254740993', '5'],
};
const row = fc.record(
  Object.fromEntries(COLUMNS.map((name) => [name, fc.constantFrom(...CHOICES[name])])) as Record<
    keyof Cells,
    fc.Arbitrary<string | null>
  >,
);
const NOTHING = Object.fromEntries(COLUMNS.map((name) => [name, null])) as unknown as Cells;
const insert = (id: number, cells: Cells): string =>
  `insert into things (id, ${COLUMNS.join(', ')}) values (${id}, ${COLUMNS.map((name) => cells[name] ?? 'null').join(', ')})`;

const SCHEMA: Readonly<Record<string, string>> = {
  postgresql:
    'id int primary key, small smallint, word varchar(20), code char(4), price numeric(20,2), day date, seen timestamptz, flag boolean, big bigint',
  mysql:
    'id int primary key, small smallint, word varchar(20), code char(4), price decimal(20,2), day date, seen datetime(6), flag boolean, big bigint',
  sqlite:
    'id integer primary key, small smallint, word varchar(20) collate nocase, code char(4), price text, day date, seen datetime, flag boolean, big bigint',
  duckdb:
    'id int primary key, small smallint, word varchar, code char(4), price decimal(20,2), day date, seen timestamp, flag boolean, big bigint',
};

const KINDS: readonly { readonly kind: string; readonly up: boolean; readonly open: () => Promise<Bench> }[] = [
  ...(['postgresql', 'mysql'] as const).map((kind) => ({
    kind,
    up: kind === 'mysql' ? reachable.mysql : reachable.postgres,
    async open() {
      const database = await testDatabase(kind);
      await database.run(`create table things (${SCHEMA[kind]})`);
      const source = await openSource(database.settings, localPolicy);
      return {
        source,
        db_type: database.settings.db_type,
        run: (text: string) => database.run(text),
        close: async () => {
          await source.close();
          await database.drop();
        },
      };
    },
  })),
  {
    kind: 'sqlite',
    up: true,
    async open() {
      const folder = mkdtempSync(join(tmpdir(), 'sluice-pages-'));
      const db = new Database(join(folder, 'things.sqlite'), { create: true });
      db.run(`create table things (${SCHEMA['sqlite']})`);
      const source = await openSource(settingsOf('sqlite', { database: 'things.sqlite' }), {
        ...localPolicy,
        sqlite_dir: folder,
      });
      return {
        source,
        db_type: 'sqlite',
        run: async (text) => db.run(text),
        close: async () => {
          await source.close();
          db.close();
          rmSync(folder, { recursive: true });
        },
      };
    },
  },
  {
    kind: 'libsql',
    up: true,
    async open() {
      const server = await startSqld();
      await server.run(`create table things (${SCHEMA['sqlite']})`);
      const own = { host: '127.0.0.1', port: server.port, database: 'default', password: await server.token('rw') };
      const source = await openSource(settingsOf('libsql', { ...own, ssl_mode: 'disable' }), localPolicy);
      return {
        source,
        db_type: 'libsql',
        run: (text) => server.run(text),
        close: async () => {
          await source.close();
          await server.stop();
        },
      };
    },
  },
  {
    kind: 'duckdb',
    up: true,
    async open() {
      const files = createDuckdbFolder();
      const rows = fc.sample(row, { numRuns: 40, seed });
      await files.create(
        'things.duckdb',
        [`create table things (${SCHEMA['duckdb']})`, ...rows.map((cells, n) => insert(n, cells))].join(';'),
      );
      return { source: files.open('things.duckdb'), db_type: 'duckdb', close: () => files.remove() };
    },
  },
];

const settingsOf = (db_type: ConnectionSettings['db_type'], more: Partial<ConnectionSettings>): ConnectionSettings => ({
  db_type,
  host: null,
  port: null,
  database: '',
  username: null,
  password: null,
  ssl_mode: null,
  ssl_ca: null,
  ssl_cert: null,
  ssl_key: null,
  extra_params: {},
  pool_size: 2,
  ...more,
});

const SQL = 'select id, small, word, code, price, day, seen, flag, big from things where id <> 0 or id = 0 -- all of them';
const planOf = (bench: Bench, page_by: readonly { column: string; desc: boolean }[], limits: Partial<FrozenQuery>) =>
  planPages(bench, SQL, page_by, limits);
const walk = (bench: Bench, plan: QueryPlan, between?: (page: number) => Promise<unknown>) =>
  walkPages(bench.source, plan, between);

const order = fc.record({
  by: fc.uniqueArray(fc.record({ column: fc.constantFrom(...COLUMNS), desc: fc.boolean() }), {
    selector: ({ column }) => column,
    maxLength: 3,
  }),
  by_id: fc.record({ column: fc.constant('id'), desc: fc.boolean() }),
  unique: fc.boolean(),
  max_rows: fc.integer({ min: 1, max: 9 }),
});

for (const { kind, up, open } of KINDS) {
  describe.skipIf(!up && process.env['CI'] !== 'true')(`pages on ${kind}`, () => {
    let bench: Bench;
    beforeAll(async () => {
      bench = await open();
    });
    afterAll(() => bench.close());

    test(`every row of ${kind} comes once, whatever is alike, empty or inserted meanwhile`, async () => {
      await fc.assert(
        fc.asyncProperty(
          fc.array(row, { maxLength: 25 }),
          fc.array(row, { maxLength: 4 }),
          order,
          async (rows, late, { by, by_id, unique, max_rows }) => {
            const { run } = bench;
            let ids: Json[] = rows.map((_, n) => n);
            if (run === undefined) ids = Array.from({ length: 40 }, (_, n) => n);
            else {
              await run('delete from things');
              for (const [n, cells] of rows.entries()) await run(insert(n, cells));
            }
            const page_by = unique || by.length === 0 ? [...by, by_id] : by;
            const plan = await planOf(bench, page_by, { max_rows });
            try {
              const pages = await walk(bench, plan, async (page) => {
                const cells = late[page - 1];
                if (cells !== undefined) await run?.(insert(100 + page, cells));
              });
              const seen = pages.flat();
              expect(seen.filter((id) => Number(id) < 100).toSorted((a, b) => Number(a) - Number(b))).toEqual(ids);
              expect(new Set(seen).size).toBe(seen.length);
              expect(pages.every((page) => page.length <= max_rows)).toBe(true);
            } catch (error) {
              if (!(error instanceof AppError) || page_by.some(({ column }) => column === 'id')) throw error;
              expect(error.detail).toContain('Add a column to page_by');
            }
          },
        ),
        { numRuns: run_count(kind) },
      );
    });

    // Only there may a column hold anything.
    if (SCHEMA[kind] === undefined || kind === 'sqlite') {
      test(`pages of ${kind} go on behind fractions, texts and booleans of any kind`, async () => {
        const run = bench.run!;
        await run('delete from things');
        const moments = [
          '2461000.123456789',
          '2461000.1234567891',
          '0.1',
          '1e300',
          '9007199254740993',
          "'2026-01-02 03:04:05'",
          "''",
          "'5 o''clock'",
        ];
        const flags = ['true', 'false', '2', "'maybe'", '0.30000000000000004'];
        for (const [n, seen] of moments.entries()) await run(insert(n, { ...NOTHING, seen }));
        for (const [n, flag] of flags.entries()) await run(insert(10 + n, { ...NOTHING, seen: '7', flag }));
        for (const desc of [false, true]) {
          for (const column of ['seen', 'flag']) {
            const by = [column, 'id'].map((each) => ({ column: each, desc }));
            const [all = []] = await walk(bench, await planOf(bench, by, { max_rows: 100 }));
            expect(all).toHaveLength(moments.length + flags.length);
            expect((await walk(bench, await planOf(bench, by, { max_rows: 1 }))).flat()).toEqual(all);
          }
        }
      });
    }

    if (kind === 'postgresql') {
      test('pages end with a sentence when the type of their column is another one now', async () => {
        const run = bench.run!;
        await run('create table seen_days (id int, day date)');
        await run("insert into seen_days select n, date '2026-01-05' + n / 2 from generate_series(1, 6) as n");
        const plan = await planPages(
          bench,
          'select id, day from seen_days',
          [
            { column: 'day', desc: false },
            { column: 'id', desc: false },
          ],
          {
            max_rows: 1,
          },
        );
        const refused = await walkPages(bench.source, plan, async (page) => {
          if (page === 2)
            await run("alter table seen_days alter day type timestamptz using day + time '10:00' + id * interval '1 min'");
        }).catch((error: unknown) => error);
        expect(refused).toMatchObject({ code: 'sql_error', detail: expect.stringContaining('Deploy again') as string });
        const all = await planPages(bench, 'select id, day from seen_days', [{ column: 'id', desc: false }], { max_rows: 100 });
        expect((await walkPages(bench.source, all)).flat()).toEqual([1, 2, 3, 4, 5, 6]);
      });

      test('pages by a number of any digits keep the rows that have none', async () => {
        const run = bench.run!;
        const [is_recent] = (await run("select current_setting('server_version_num')::int >= 140000 as is")) as { is: boolean }[];
        const none = ["'NaN'", 'null', ...(is_recent?.is === true ? ["'Infinity'", "'-Infinity'"] : [])];
        const prices = ['1.5', '-1e200', '1e200', ...none, '1e-200', ...none];
        await run('create table prices (id int, price numeric)');
        for (const [id, price] of prices.entries()) await run(`insert into prices values (${id}, ${price})`);
        for (const desc of [false, true]) {
          const by = ['price', 'id'].map((column) => ({ column, desc }));
          const plan = (max_rows: number) => planPages(bench, 'select id, price from prices', by, { max_rows });
          const [all = []] = await walk(bench, await plan(100));
          expect(all).toHaveLength(prices.length);
          expect((await walk(bench, await plan(1))).flat()).toEqual(all);
        }
      });
    }

    test(`the order of ${kind} is total, and nulls come last in every column of it`, async () => {
      const { run } = bench;
      // Nothing writes to a database of files: its rows are as they were made.
      if (run !== undefined) {
        await run('delete from things');
        for (let n = 0; n < 12; n++) {
          const small = n % 3 === 0 ? null : String(n % 2);
          const day = n % 4 === 0 ? null : `'2026-01-0${1 + (n % 3)}'`;
          await run(insert(n, { small, word: null, code: null, price: null, day, seen: null, flag: null, big: null }));
        }
      }
      const { rows } = await bench.source.query(
        { text: 'select id, small, day from things', values: [], types: [] },
        { mode: 'read', timeout_ms: 10_000, max_rows: 1_000, max_bytes: 1_000_000 },
      );
      const groupOf = new Map(rows.map(({ id, small, day }) => [id, [small ?? null, day ?? null]] as const));
      for (const desc of [false, true]) {
        const page_by = ['small', 'day', 'id'].map((column) => ({ column, desc }));
        const walks = [];
        for (const max_rows of [1, 4, 100]) walks.push((await walk(bench, await planOf(bench, page_by, { max_rows }))).flat());
        const [order = []] = walks;
        expect(walks).toEqual([order, order, order]);
        expect(order).toHaveLength(rows.length);
        const smalls = order.map((id) => groupOf.get(id)?.[0] ?? null);
        expect(smalls.lastIndexOf(null)).toBe(smalls.length - 1);
        expect(smalls.slice(smalls.indexOf(null)).every((cell) => cell === null)).toBe(true);
        for (const group of new Set(smalls)) {
          const days = order.filter((_, index) => smalls[index] === group).map((id) => groupOf.get(id)?.[1] ?? null);
          const from = days.indexOf(null);
          if (from !== -1) expect(days.slice(from).every((cell) => cell === null)).toBe(true);
        }
      }
    });

    test(`a page of ${kind} ends at the limit of bytes and of tokens, and goes on behind it`, async () => {
      if (bench.run !== undefined) {
        await bench.run('delete from things');
        const cells = Object.fromEntries(COLUMNS.map((name) => [name, CHOICES[name][1]])) as unknown as Cells;
        for (let n = 0; n < 40; n++) await bench.run(insert(n, cells));
      }
      for (const limits of [{ max_bytes: 600 }, { max_tokens: 200 }]) {
        const pages = await walk(bench, await planOf(bench, [{ column: 'id', desc: true }], { max_rows: 100, ...limits }));
        expect(pages.flat()).toEqual(Array.from({ length: 40 }, (_, n) => 39 - n));
        expect(pages.length).toBeGreaterThan(4);
      }
      const tight = planOf(bench, [{ column: 'id', desc: false }], { max_rows: 100, max_bytes: 20 }).then((plan) =>
        walk(bench, plan),
      );
      expect(tight).rejects.toThrow('larger than a page can be');
      await tight.catch(() => undefined);
    });
  });
}

/** Rows of servers are inserted one by one. */
const run_count = (kind: string): number => (kind === 'duckdb' ? 15 : 40);
