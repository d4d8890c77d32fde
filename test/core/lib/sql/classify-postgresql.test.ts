import { describe, expect, test } from 'bun:test';
import { type DeclaredParameter } from '#core/lib/sql/parse.ts';
import { classify, parseSql } from '#test/support/sql.ts';

const PARAMETERS: readonly DeclaredParameter[] = [
  { name: 'a', type: 'string' },
  { name: 'b', type: 'string' },
  { name: 'ids', type: 'array', items: 'integer' },
];
const judge = (sql: string) => classify(parseSql(sql, 'postgresql', PARAMETERS));

describe('fixed: built-ins of the closed list only', () => {
  for (const sql of [
    'select 1',
    '/* a */ -- b\n (select 1)',
    'values (1, :a)',
    'table accounts',
    'select * from app.accounts where id in (:ids) and name ilike :a order by 1 desc nulls last limit 10',
    'with recursive r(n) as (select 1 union all select n + 1 from r where n < 10) select sum(n) from r',
    'select count(*) filter (where a > 1), rank() over (partition by b order by c) from t group by rollup(a, b)',
    "select date_trunc('day', at at time zone 'UTC'), extract(year from at), now() - interval '1 day', current_date from t",
    'select x::int, y::pg_catalog.text, (cast(z as numeric(10, 2)[]))[1], array[[1,2],[3,4]] from t',
    "select d->>'a', d #> '{a,b}', d @> '{}'::jsonb, d ? 'a', jsonb_agg(d) from t group by d",
    'select coalesce(a, b), nullif(a, b), greatest(a, b), case when a then 1 else 2 end from t',
    'select u.id, u.ordinality from unnest(:ids) with ordinality as u(id, ordinality)',
    'select j.key, j.value from t, jsonb_each(t.d) as j',
    'select (r).* from (select row(1, 2) as r) x',
    'select a between 1 and 2, a is distinct from b, a similar to :b, (a, b) overlaps (c, d) from t',
    "select pg_catalog.lower('A'), a operator(pg_catalog.+) 1 from t",
    'select 1 from t where true [[ and a = :a ]] [[ and b = lower(:b) ]]',
    "select * from json_table('[]', '$[*]' columns (id int path '$.a', b text path '$.b' default 'x' on empty)) j",
    "select * from json_to_recordset('[]') as x(a int, b text)",
    'select * from t tablesample bernoulli (1)',
    'select a, b from t union all select c, d from u except select 1, 2',
    "select xmlelement(name a, 1), json_object('a': 1), json_arrayagg(a returning jsonb) from t",
  ]) {
    test(sql, async () =>
      expect(await judge(sql)).toMatchObject({ read_only: true, fixed: true, passthrough: false, reason: null, forbidden: null }),
    );
  }
});

describe('reading, and not fixed', () => {
  for (const sql of [
    'select my_function(1)',
    'select app.lower(name) from t',
    'select pg_sleep(1)',
    'select a <~~~> b from t',
    'select a operator(app.+) b from t',
    'select a::app.mood, b::mood, c::t.a%type from t',
    'select (row).field from t',
    'select u.my_function from unnest(:ids) as u',
    'select unnest.my_function from unnest(:ids)',
    'select f.pg_sleep from t as f',
    'select * from my_rows() as m',
    'select * from t tablesample my_method (1)',
    'select * from t order by a using <~~~>',
    'select 1 = any (select 2) where a <~~~> all (select 3)',
    'explain select 1',
    'explain (costs off, format json) select * from t',
    'show search_path',
    'select 1 where true [[ and a = :a ]] [[ and f(:b) ]]',
    `select 1 where true ${'[[ and a = :a ]]'.repeat(9)}`,
    // Relatives of PostgreSQL know SELECTs that its grammar does not.
    'select * from t as of system time 1',
    'select top 10 * from t qualify row_number() over (order by a) = 1',
  ]) {
    test(sql, async () => expect(await judge(sql)).toMatchObject({ read_only: true, fixed: false, forbidden: null }));
  }
});

describe('not reading', () => {
  for (const sql of [
    'insert into t values (1)',
    '-- select\ninsert into t select 1',
    '/* select */ delete from t',
    'update t set a = 1 returning *',
    'merge into t using u on t.a = u.a when matched then delete',
    'with x as (delete from t returning *) select * from x',
    'with x as (select 1) insert into t select * from x',
    'select * from (with x as (update t set a = 1 returning a) select * from x) y',
    'select * into u from t',
    'create table u as select 1',
    'select * from t for update',
    'select * from t for no key update skip locked',
    'select * from (select * from t for share) x',
    'explain analyze select 1',
    'explain (analyze) select 1',
    'explain (analyze false) select 1',
    'explain analyze create table u as select 1',
    'explain (verbose, analyze true) delete from t',
    'explain insert into t values (1)',
    'explain create table u as select 1',
    'truncate t',
    'lock table t',
    'notify a',
    'call p()',
    'refresh materialized view v',
    'vacuum',
    'analyze t',
    'checkpoint',
    'create function f() returns int language sql as $$select 1$$',
    'grant all on t to public',
    'comment on table t is null',
    "select nextval('s')",
    "select setval('s', 1)",
    'select pg_advisory_xact_lock(1)',
    "select * from dblink('', 'delete from t') as x(a int)",
    "select dblink_exec('delete from t')",
    "select query_to_xml('select 1', true, true, '')",
    "select * from ts_stat('select 1')",
    'select pg_terminate_backend(1)',
    'select lo_unlink(1)',
    'select pg_notify(:a, :b)',
    'select x.nextval from unnest(array[:a]) as x',
    'select (:a::regclass).nextval',
    'selct 1',
    'select 1 [[ into t where :a is null ]]',
    '[[ explain analyze select :a union ]] select 1',
    'values (1) [[ , (nextval(:a)) ]]',
    // Harmless alone; together they write.
    'select 1 [[ as x, :a ]] [[ into t from (select 1, :b) y ]]',
    '[[ with x as (select :a) ]] [[ delete from t where a = :b -- ]]\n ]] select 1',
  ]) {
    test(sql, async () => {
      const found = await judge(sql);
      expect(found).toMatchObject({ read_only: false, fixed: false });
      expect(found.reason).toMatch(/^[A-Z].*[.)]$/s);
    });
  }
});

describe('never in a tool', () => {
  for (const sql of [
    'commit',
    'begin',
    'rollback to savepoint a',
    'set transaction read write',
    'set default_transaction_read_only to off',
    'set local role postgres',
    'set session authorization postgres',
    'set constraints all deferred',
    'reset all',
    'discard all',
    "load 'a'",
    "alter system set a = 'b'",
    'copy t to stdout',
    "copy t from program 'id'",
    "copy (select 1) to '/tmp/a'",
    'do $$begin perform 1; end$$',
    'listen a',
    'unlisten *',
    'prepare p as select 1',
    'execute p',
    'deallocate all',
    'declare c cursor for select 1',
    'fetch c',
    'close c',
    "select set_config('default_transaction_read_only', 'off', false)",
    "with x as (select set_config('a', 'b', true)) select * from x",
    "select 1 order by pg_catalog.set_config('a', 'b', false)",
    "select 1 where exists (select from pg_read_file('/etc/passwd'))",
    "select * from pg_catalog.pg_ls_dir('/')",
    "select * from rows from (pg_ls_dir('/'), pg_read_file('/etc/passwd'))",
    'select * from pg_hba_file_rules',
    'table pg_catalog.pg_file_settings',
    'create view v as select * from pg_ident_file_mappings',
    "select * from pg_stat_file('/')",
    "select pg_read_binary_file('/')",
    'select (select array_agg(x) from pg_ls_waldir() x)',
    "select lo_import('/etc/passwd')",
    "select lo_export(1, '/tmp/a')",
    'select U&"pg\\005fread_file"(\'/\')',
    'select "pg_read_file"(:a)',
    'select pg_advisory_lock(1)',
    'select pg_try_advisory_lock(1)',
    "select dblink_connect('a')",
    // a.b is also a spelling of b(a).
    "select f.pg_ls_dir from unnest(array['/']) f",
    "select ('/etc/passwd'::text).pg_read_file",
    "select (array['/'])[1].pg_ls_dir",
    "insert into t select pg_read_file('/')",
    'select 1 [[ , pg_ls_dir(:a) ]]',
    'select * from t as of system time pg_read_file(1)',
    "select 5 ! , (array['/'])[1].pg_ls_dir as",
  ]) {
    test(sql, async () => {
      const found = await judge(sql);
      expect(found).toMatchObject({ read_only: false, fixed: false });
      expect(found.forbidden).toMatch(/^[A-Z].*[.)]$/s);
    });
  }
});

describe('passthrough', () => {
  for (const sql of [
    ':a',
    '(:a)',
    '((:a))',
    ' /* a */ ( :a ) -- b\n;',
    ':a::text',
    '[[ :a ]]',
    ':a :b',
    'execute :a',
    'execute immediate :a',
    'prepare p from :a',
    'prepare p as :a',
    'do :a',
    "select query_to_xml(:a, true, true, '')",
    "select query_to_xml('select ' || :a, true, true, '')",
    'select pg_catalog."query_to_xml" (:a, true, true, \'\')',
    "select * from dblink('', :a) as x(a int)",
    'select dblink_exec(:a)',
    'select * from ts_stat(:a)',
    'select exec_sql(:a)',
    'call app.execute_sql(:a)',
  ]) {
    test(sql, async () => expect(await judge(sql)).toMatchObject({ passthrough: true, read_only: false, fixed: false }));
  }
  for (const sql of [
    'select :a',
    'select * from t where a = (:a)',
    'values (:a)',
    'call p(:a)',
    "select query_to_xml('select 1', true, true, '') || :a",
  ]) {
    test(`not: ${sql}`, async () => expect(await judge(sql)).toMatchObject({ passthrough: false }));
  }
});

test('the command is the first word', async () => {
  for (const [sql, command] of [
    ['((select 1))', 'select'],
    ['/* a */ WITH x as (select 1) select 1', 'with'],
    [':a', ''],
    ['Insert into t values (1)', 'insert'],
  ] as const) {
    expect((await judge(sql)).command).toBe(command);
  }
});

test('what is nested too deeply is not reading, and the parser goes on working', async () => {
  for (let i = 0; i < 3; i++) {
    for (const sql of [
      `select ${'1+'.repeat(30_000)}1`,
      `select ${'not '.repeat(20_000)}true`,
      `select 1${' union select 1'.repeat(5_000)}`,
    ]) {
      expect(await judge(sql)).toMatchObject({ fixed: expect.any(Boolean) });
    }
    expect(await judge('select 1')).toMatchObject({ read_only: true, fixed: true });
  }
});
