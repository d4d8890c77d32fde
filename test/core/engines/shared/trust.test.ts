import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { openPostgres } from '#core/engines/postgresql/source.ts';
import type { Source } from '#core/engines/shared/source.ts';
import { parseUntrusted, untrustedSql } from '#core/engines/postgresql/sql/untrusted.ts';
import { createTrust, wordsOf } from '#core/engines/shared/trust.ts';
import { localPolicy, reachable, testDatabase, type TestDatabase } from '#test/support/databases.ts';
import { FIXED, sql } from './suite.ts';
import { until } from '#test/support/until.ts';

describe('the words of a statement', () => {
  test.each([
    ['select * from Orders', 'orders', true],
    ['select * from "orders"', 'orders', true],
    ['select * from api.orders', 'orders', true],
    ['select * from orders_view', 'orders', false],
    ['select * from "my ""odd"" view"', 'my "odd" view', true],
    ['select * from `a``b`', 'a`b', true],
    ['select * from größe', 'Größe', true],
    [`select * from ${'x'.repeat(70)}`, 'x'.repeat(63), true],
    ['select a$b from t', 'a$b', true],
  ])('%s mentions %s: %p', (text, name, expected) => {
    expect(wordsOf(text).mentions(name)).toBe(expected);
  });
});

describe('what is trusted', () => {
  test('is asked for again when a text is new, and by one question for all who wait', async () => {
    let asked = 0;
    let changes = 0;
    let answer = '["seen"]';
    const trust = createTrust<string[]>({
      ask: async () => {
        asked++;
        await Bun.sleep(5);
        return answer;
      },
      parse: (text) => JSON.parse(text) as string[],
      isNamed: (text, names) => names.some((name) => text.includes(name)),
      onChange: () => changes++,
    });
    expect(trust.known('select 1')).toBeNull();
    expect(await Promise.all([trust.check('select 1'), trust.check('from seen'), trust.check('from other')])).toEqual([
      true,
      false,
      true,
    ]);
    expect(asked).toBe(1);
    expect(trust.known('select 1')).toBe(true);
    answer = '["seen", "other"]';
    expect(await trust.check('from other')).toBe(false);
    expect([changes, trust.known('select 1')]).toEqual([1, null]);
  });

  test('is nothing when the database does not say', async () => {
    const ask = () => Promise.reject(new Error('permission denied'));
    const trust = createTrust<string[]>({ ask, parse: () => [], isNamed: () => false, onChange: () => {} });
    expect(await trust.check('select 1')).toBe(false);
    expect(trust.known('select 1')).toBe(false);
  });
});

/** Policies of the server's own code are no way to another; whatever they call or read besides may be one. */
const POLICIES = [
  { table: 'unpoliced', policy: null, plain: true },
  { table: 'by_setting', policy: "owner = (select nullif(current_setting('app.tenant', true), ''))", plain: true },
  { table: 'by_user', policy: 'owner = current_user and id > 0 or owner is null', plain: true },
  { table: 'by_helper', policy: 'helper(id) = 1', plain: false },
  { table: 'by_items', policy: 'exists (select from items where items.name = owner)', plain: false },
  { table: 'by_change', policy: "set_config('app.tenant', 'other', false) is not null", plain: false },
  { table: 'by_text', policy: "query_to_xml('select 1', true, true, '') is not null", plain: false },
];

describe.skipIf(!reachable.postgres)('statements that share sessions on PostgreSQL', () => {
  let database: TestDatabase;
  let source: Source;

  beforeAll(async () => {
    database = await testDatabase('postgresql');
    for (const text of [
      'create extension if not exists citext',
      'create extension if not exists pg_trgm',
      `create type mood as enum ('ok', 'sad')`,
      'create function helper(int) returns int language plpgsql as $$ begin return $1; end $$',
      'create table items (id int primary key default helper(1), name text, mail citext, feels mood, moods mood[], made text generated always as (id::text) stored)',
      'create index on items using gin (name gin_trgm_ops)',
      'create trigger t before insert on items for each row execute function suppress_redundant_updates_trigger()',
      'create view items_seen as select * from items',
      'create materialized view items_kept as select id from items',
      ...POLICIES.flatMap(({ table, policy }) => [
        `create table ${table} (id int, owner text)`,
        `alter table ${table} enable row level security`,
        ...(policy === null ? [] : [`create policy own on ${table} using (${policy})`]),
      ]),
      'create domain positive as int check (value > 0)',
      'create table measured (size positive)',
      'create schema api',
      'create view api.items as select * from public.items',
    ]) {
      await database.run(text);
    }
    source = openPostgres({ ...database.settings, pool_size: 1 }, localPolicy);
  });

  afterAll(async () => {
    await source.close();
    await database.drop();
  });

  /** Only what shares a session finds it prepared, once it is known to be quick. */
  const shares = async (text: string): Promise<boolean> => {
    await source.query(sql(text), FIXED);
    const slot = source.pipelineSlot?.(sql(text), 1) ?? null;
    await slot?.query(FIXED);
    return slot !== null;
  };

  test.each([
    'select id, name, mail, feels, moods, made from items where id = 1',
    'select count(*)::int as n from items_kept',
    "select count(*)::int as n from items where lower(name) like 'a%' and feels = 'ok'",
    'select now() is not null as now',
    ...POLICIES.filter(({ plain }) => plain).map(({ table }) => `select id from ${table}`),
  ])(
    '%s',
    async (text) => {
      await until(() => shares(text));
    },
    60_000,
  );

  test.each([
    'select id from items_seen',
    'select id from public."items_seen"',
    ...POLICIES.filter(({ plain }) => !plain).map(({ table }) => `select id from ${table}`),
    'select size from measured',
    'select id from api.items',
    'select helper(1)',
    'select U&"\\0069d" from items',
  ])(
    '%s does not',
    async (text) => {
      for (let n = 0; n < 12; n++) expect(await shares(text)).toBe(false);
    },
    60_000,
  );

  test('a database with thousands of functions is looked at all the same', async () => {
    const crowded = await testDatabase('postgresql');
    const own = openPostgres({ ...crowded.settings, pool_size: 1 }, localPolicy);
    try {
      await crowded.run(`do $$ begin
        for n in 1..3000 loop
          execute format('create function a_function_with_a_long_name_%s() returns int language sql as ''select 1''', n);
        end loop;
      end $$`);
      const text = sql('select 1 as one');
      const named = sql('select a_function_with_a_long_name_7() as one');
      const isShared = async (statement: typeof text) => {
        await own.query(statement, FIXED);
        const slot = own.pipelineSlot?.(statement, 1) ?? null;
        await slot?.query(FIXED);
        return slot !== null;
      };
      await until(() => isShared(text));
      for (let n = 0; n < 8; n++) expect(await isShared(named)).toBe(false);
    } finally {
      await own.close();
      await crowded.drop();
    }
  }, 60_000);

  test('what can run code is not sent again while nothing changes', async () => {
    const answerTo = async (before: string | null) => {
      const rows = await database.run(untrustedSql(before));
      return String(Object.values(rows.flat().find((row) => 'case' in row) ?? {})[0]);
    };
    const first = await answerTo(null);
    expect(parseUntrusted(first).functions).toContain('helper');
    expect(await answerTo(first)).toBe('');
    await database.run('create function another() returns int language sql as $$ select 1 $$');
    expect(parseUntrusted(await answerTo(first)).functions).toContain('another');
  });

  test('the clock goes on between the calls of a session', async () => {
    const text = sql('select now()::text as now');
    const [first, second] = [await source.query(text, FIXED), await source.query(text, FIXED)];
    expect(first.rows).not.toEqual(second.rows);
  });
});
