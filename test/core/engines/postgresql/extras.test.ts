import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { engineOf } from '#core/engines/index.ts';
import { openPostgres } from '#core/engines/postgresql/source.ts';
import { extraFault } from '#core/engines/shared/extras.ts';
import type { RunOptions, Source } from '#core/engines/shared/source.ts';
import { localPolicy, reachable, testDatabase } from '#test/support/databases.ts';
import { processorMs } from '#test/support/processor-time.ts';
import { FIXED, READ, sql, WRITE } from '../shared/suite.ts';

const faultOf = (name: string, value: unknown): string | null => {
  const extra = engineOf('postgresql').extras.find(({ field }) => field.name === name);
  return extra === undefined ? 'unknown' : extraFault(extra, value);
};

test.each([
  ['application_name', 'reports of März'],
  ['application_name', 'x'.repeat(64)],
  ['application_name', 7],
  ['search_path', 'public, pg_catalog'],
  ['search_path', '"PG_CATALOG"'],
  ['search_path', 'pg_temp'],
  ['search_path', "a', 'b"],
  ['search_path', 'a,'],
  ['options', '-c default_transaction_read_only=off'],
  ['options', '-c work_mem=64MB -c search_path=public,pg_catalog'],
  ['options', '-c statement_timeout=0'],
  ['options', '-cwork_mem=1MB -d postgres'],
  ['options', 'work_mem=64MB'],
] as const)('%s does not take %p', (name, value) => {
  expect(faultOf(name, value)).toStartWith(`extra_params.${name} `);
});

test('a long value is refused without a look at it', () => {
  for (const { field } of engineOf('postgresql').extras) {
    const began = processorMs();
    expect(faultOf(field.name, `a${' '.repeat(60_000)}b`)).toEndWith('must have at most 4,000 characters.');
    expect(processorMs() - began).toBeLessThan(300);
  }
});

test.each([
  ['application_name', null],
  ['application_name', ''],
  ['search_path', '"$user", Sales, "Größe 1"'],
  ['options', '-c work_mem=64MB  -cjit=off'],
] as const)('%s takes %p', (name, value) => {
  expect(faultOf(name, value)).toBeNull();
});

const OWN = {
  application_name: 'reports',
  search_path: 'sales, public',
  options: '-c work_mem=7MB -c jit=off',
  unknown: 'x',
};
const ASKED = `select current_setting('application_name') as name, current_setting('search_path') as path,
  current_setting('work_mem') as memory, current_setting('default_transaction_read_only') as read_only`;

describe.skipIf(!reachable.postgres)('settings of a connection', () => {
  let database: Awaited<ReturnType<typeof testDatabase>>;
  let source: Source;
  const rows = async (text: string, options: RunOptions) => (await source.query(sql(text), options)).rows;

  beforeAll(async () => {
    database = await testDatabase('postgresql');
    await database.run(`create schema sales; create table sales.orders (id integer); insert into sales.orders values (1);
      create function sales.length(text) returns integer language sql as 'select 666';
      create domain sales.date as text;
      create function sales.act() returns boolean language plpgsql volatile as
        $f$ begin perform set_config('app.left', 'behind', false); return true; end $f$;
      create view sales.seen as select id from sales.orders where sales.act()`);
    source = openPostgres({ ...database.settings, extra_params: OWN }, localPolicy);
  });
  afterAll(async () => {
    await source.close();
    await database.drop();
  });

  test.each([
    ['fixed', FIXED, 'on'],
    ['read', READ, 'on'],
    ['write', WRITE, 'off'],
  ] as const)('hold in a %s session, also after it was cleaned', async (_, options, read_only) => {
    for (let call = 0; call < 2; call++) {
      expect(await rows(ASKED, options)).toEqual([{ name: 'reports', path: 'sales, public', memory: '7MB', read_only }]);
    }
    expect(await rows('select id from orders', options)).toEqual([{ id: 1 }]);
  });

  test('leave the name of this product and the path of the account where none are given', async () => {
    const plain = openPostgres(database.settings, localPolicy);
    const [row] = (await plain.query(sql(ASKED), READ)).rows;
    await plain.close();
    expect(row).toMatchObject({ name: 'sluice', path: '"$user", public' });
  });

  test("search paths put nothing before PostgreSQL's own functions, and share no session with their code", async () => {
    expect(await rows("select length('four') as n, pg_typeof('2026-01-01'::date)::text as t", FIXED)).toEqual([
      { n: 4, t: 'date' },
    ]);
    for (let call = 0; call < 3; call++) {
      expect(await rows('select id from seen', FIXED)).toEqual([{ id: 1 }]);
      expect(await rows("select current_setting('app.left', true) as left_behind", FIXED)).not.toEqual([
        { left_behind: 'behind' },
      ]);
    }
  });
});
