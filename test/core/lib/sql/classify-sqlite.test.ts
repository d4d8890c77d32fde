import { describe, expect, test } from 'bun:test';
import { type DeclaredParameter } from '#core/lib/sql/parse.ts';
import { classify, parseSql } from '#test/support/sql.ts';

const PARAMETERS: readonly DeclaredParameter[] = [
  { name: 'a', type: 'string' },
  { name: 'ids', type: 'array', items: 'integer' },
];
const judge = (sql: string) => classify(parseSql(sql, 'sqlite', PARAMETERS));

describe('fixed: known functions only', () => {
  for (const sql of [
    'select 1',
    '/* a */ -- b\n values (1, :a)',
    'select [update], "delete", `insert`, pragma, attach, replace from t where t.x in (:ids)',
    "select replace(a, 'x', 'y'), a ->> '$.b', json_extract(a, '$.c'), strftime('%Y', b) from t, json_each(t.d)",
    'with recursive n(i) as (select 1 union all select i + 1 from n where i < 9) select * from n',
    'with x(a) as not materialized (select 1) select * from x',
    'with fresh(a) as materialized (select 1) select * from fresh',
    "select 'fsdir' as a from t where b = 'fsdir'",
    'select row_number() over (partition by a order by b), count(*) filter (where a > 1) from t group by a',
    "select * from pragma_table_info('t')",
    'select cast(a as varchar(10)), case when a then (1) else (2) end, a not in (1, 2) from t where exists (select 1)',
    'select snippet(f, 0, "a", "b", "c", 10), bm25(f) from f where f match :a',
    'select 1 from t where true [[ and a = :a ]]',
  ]) {
    test(sql, async () =>
      expect(await judge(sql)).toMatchObject({ read_only: true, fixed: true, passthrough: false, reason: null, forbidden: null }),
    );
  }
});

describe('reading, and not fixed', () => {
  for (const sql of ['select my_function(1)', 'select "my_function"(1)', 'explain select 1', 'explain query plan select 1']) {
    test(sql, async () => expect(await judge(sql)).toMatchObject({ read_only: true, fixed: false, forbidden: null }));
  }
});

describe('not reading', () => {
  for (const sql of [
    'insert into t values (1)',
    '-- select\rselect\ndelete from t',
    '/* select */ update t set a = 1 returning *',
    'replace into t values (1)',
    'with x as (select 1) insert into t select 1',
    'with x as (select 1) replace into t select 1',
    'with x as (select 1) delete from t',
    'create table u as select 1',
    'create temp table u (a)',
    'drop table t',
    'alter table t add a',
    'reindex',
    'analyze',
    'explain insert into t values (1)',
    "select optimize('f') from f",
    'select * from pragma_optimize',
    'select * from "pragma_optimize"',
    'select * from [pragma_optimize]',
    'selct 1',
    '"select" 1',
  ]) {
    test(sql, async () => {
      const found = await judge(sql);
      expect(found).toMatchObject({ read_only: false, fixed: false });
      expect(found.reason).toMatch(/\.$/);
    });
  }
});

describe('never in a tool', () => {
  for (const sql of [
    "attach 'a.db' as a",
    "/* a */ attach database 'a.db' as a",
    'detach a',
    'pragma query_only = 0',
    'pragma journal_mode',
    'explain pragma journal_mode = off',
    'explain query plan pragma journal_mode = off',
    'vacuum',
    "vacuum into 'a.db'",
    'begin immediate',
    'commit',
    'end',
    'rollback',
    'savepoint a',
    'release a',
    "select load_extension('a')",
    "select load_extension ('a')",
    "select load_extension/**/('a')",
    'select "load_extension"(:a)',
    'select [load_extension](:a)',
    'select `LOAD_EXTENSION`(:a)',
    "select writefile('a', 'b')",
    "select readfile('a')",
    "select * from fsdir('/')",
    "select fts3_tokenizer('a', :a)",
    "select edit('a')",
    "with x as (select load_extension('a')) select * from x",
    "insert into t select readfile('a')",
    'select 1 [[ , load_extension(:a) ]]',
    // A name without a bracket is the table itself; its arguments are columns then.
    "select data from fsdir where path = '/etc/passwd'",
    'select * from FSDIR',
    "select * from main.fsdir where path = '/'",
    'select * from "fsdir" where path = :a',
    'select * from [fsdir], t',
    'select * from t join `fsdir` on true',
    "select * from 'fsdir' where path = '/'",
    "select * from t, 'fsdir'('/')",
    "select * from main.'fsdir'('/')",
    "select * from (fsdir('/'))",
    "select (select max(data) from fsdir where path = '/x')",
    "with x as (select data from fsdir where path = '/x') select * from x",
    "create view v as select data from fsdir where path = '/x'",
    "create table u as select readfile('a')",
    // MATERIALIZED is an alias here, and no common table expression.
    "select * from fsdir('/') as materialized",
    "select load_extension('a') as materialized",
    "select readfile('a') as materialized from t",
    'select * from sqlite_dbpage',
    'update sqlite_dbpage set data = :a',
    'select sql from sqlite_stmt',
    "select sha3_query('select 1')",
    "select sqlite3mc_config('cipher', 'none')",
    'select file from pragma_database_list',
    "create virtual table x using csv(filename = '/etc/passwd')",
    "create virtual table if not exists main.x using 'zipfile'('a.zip')",
  ]) {
    test(sql, async () => {
      const found = await judge(sql);
      expect(found).toMatchObject({ read_only: false, fixed: false });
      expect(found.forbidden).toMatch(/\.$/);
    });
  }
});

describe('writing, and allowed', () => {
  for (const sql of [
    'create virtual table x using fts5(a)',
    'create table using_it (a)',
    'create view v as select * from a join b using (id)',
  ]) {
    test(sql, async () => expect(await judge(sql)).toMatchObject({ read_only: false, forbidden: null }));
  }
});

describe('passthrough', () => {
  for (const sql of [':a', '(:a)', ' /* a */ ( :a ) -- b', 'select eval(:a)']) {
    test(sql, async () => expect(await judge(sql)).toMatchObject({ passthrough: true, read_only: false, fixed: false }));
  }
  test('not: select :a', async () => expect(await judge('select :a')).toMatchObject({ passthrough: false }));
});
