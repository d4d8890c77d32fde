import { describe, expect, test } from 'bun:test';
import { type DeclaredParameter } from '#core/lib/sql/parse.ts';
import type { Statement } from '#core/lib/sql/statement.ts';
import { AppError } from '#core/errors.ts';
import { classify, parseSql } from '#test/support/sql.ts';

const PARAMETERS: readonly DeclaredParameter[] = [
  { name: 'a', type: 'string' },
  { name: 'ids', type: 'array', items: 'integer' },
];
const judge = (sql: string) => classify(parseSql(sql, 'mysql', PARAMETERS));
/** Past the parser, as a snapshot that somebody altered would be. */
const judgeRaw = (text: string) => {
  const statement: Statement = { dialect: 'mysql', nodes: [text], names: [], types: {} };
  return classify(statement);
};

describe('fixed: known functions only', () => {
  for (const sql of [
    'select 1',
    '# a\n-- b\n/* c */ (select 1)',
    'values (1, 2)',
    'select * from `update` where t.`delete` = :a and t.insert in (:ids) limit 10',
    "select replace(a, 'x', 'y'), insert(a, 1, 2, 'z'), left(a, 1), if(a, b, c), now(), count(distinct a) from t group by a",
    'with recursive n(i) as (select 1 union all select i + 1 from n where i < 9) select * from n',
    'select row_number() over (partition by a order by b rows between 1 preceding and current row), sum(c) over w from t window w as (order by a)',
    "select jt.* from t, json_table(t.doc, '$[*]' columns (a int path '$.a', nested path '$.b[*]' columns (b varchar(20) path '$'))) as jt",
    'select cast(a as decimal(10, 2)), cast(a as char(10) character set utf8mb4), convert(a using utf8mb4), date_add(a, interval 1 day) from t',
    "select a->>'$.b', a->'$.c', a <=> b, a regexp '^x', match(a) against ('x' in boolean mode) from t use index (a)",
    "select group_concat(a order by b separator ','), case when a then (1) else (2) end from t having (count(*) > 1)",
    'select 1 from t where true [[ and a = :a ]]',
  ]) {
    test(sql, async () =>
      expect(await judge(sql)).toMatchObject({ read_only: true, fixed: true, passthrough: false, reason: null, forbidden: null }),
    );
  }
});

describe('reading, and not fixed', () => {
  for (const sql of [
    'select my_function(1)',
    'select `my_function`(1)',
    'select app.lower(name) from t',
    'select sleep(1)',
    "select benchmark(10, md5('a'))",
    'select @@version',
    'select /*+ max_execution_time(1) */ 1',
    'select last_insert_id(5)',
    'show tables',
    'show create table t',
    "show variables like 'a%'",
    'describe t',
    'desc t',
    'explain select 1',
    'explain format=json select 1',
  ]) {
    test(sql, async () => expect(await judge(sql)).toMatchObject({ read_only: true, fixed: false, forbidden: null }));
  }
});

describe('not reading', () => {
  for (const sql of [
    'insert into t values (1)',
    '/* select */ delete from t',
    '# select\nupdate t set a = 1',
    '-- \rselect 1\ndelete from t',
    'replace into t values (1)',
    'with x as (select 1) delete from t',
    'with x as (select 1) update t set a = 1',
    'select * from t for update',
    'select * from t for share',
    'select * from t lock in share mode',
    'select * from t procedure analyse()',
    'select a into b',
    'explain analyze select 1',
    'explain format=tree analyze select 1',
    'explain update t set a = 1',
    'analyze select 1',
    'analyze table t',
    'create table u as select 1',
    'create temporary table u (a int)',
    'drop table t',
    'alter table t add a int',
    'truncate table t',
    'rename table t to u',
    'call p()',
    'grant all on *.* to a',
    'kill 1',
    'optimize table t',
    'select nextval(s)',
    'select next value for s',
    'select s.nextval',
    'select @a',
    'selct 1',
    '"select" 1',
    'select 1 [[ for update /* :a */ ]]'.replace('/* :a */', ', :a'),
  ]) {
    test(sql, async () => {
      const found = await judge(sql);
      expect(found).toMatchObject({ read_only: false, fixed: false });
      expect(found.reason).toMatch(/^[A-Z].*\.$/);
    });
  }
});

describe('never in a tool', () => {
  for (const sql of [
    'commit',
    'start transaction read write',
    'begin not atomic select 1',
    "xa start 'a'",
    'savepoint a',
    'set session transaction read write',
    'set @a = 1',
    'set statement max_statement_time = 0 for select 1',
    'use mysql',
    'lock tables t write',
    'unlock tables',
    'flush tables',
    'handler t open',
    'do sleep(1)',
    "prepare p from 'select 1'",
    'execute p',
    "execute immediate 'drop table t'",
    'deallocate prepare p',
    "load data infile '/etc/passwd' into table t",
    "install plugin a soname 'b'",
    'shutdown',
    "select 1 into outfile '/tmp/a'",
    "select 1 into dumpfile '/tmp/a'",
    'select 1 into @a',
    "select * from t into outfile '/tmp/a'",
    "(select 1) union select 2 into outfile '/tmp/a'",
    "values (1) into outfile '/tmp/a'",
    'select @a := 1',
    'explain format=json into @a select 1',
    "select load_file('/etc/passwd')",
    "select load_file ('/etc/passwd')",
    "select load_file/* a */('/etc/passwd')",
    "select `load_file`('/etc/passwd')",
    "insert into t select load_file('/etc/passwd')",
    "select load_file('/etc/passwd') as materialized",
    "create view v as select load_file('/etc/passwd')",
    "create table f (a text) engine = connect table_type = dos file_name = '/etc/passwd'",
    "create table f (a text) engine=`CONNECT` file_name = '/etc/passwd'",
    "create table f (a int) engine 'federated' connection = 'mysql://127.0.0.1/a/b'",
    'alter table t engine = spider',
    "select get_lock('a', 1)",
    'select release_all_locks()',
    "select sys_exec('id')",
    "select /*+ SET_VAR(sql_mode = '') */ 1",
    "select 1 [[ into outfile '/tmp/a' lines terminated by :a ]]",
  ]) {
    test(sql, async () => {
      const found = await judge(sql);
      expect(found).toMatchObject({ read_only: false, fixed: false });
      expect(found.forbidden).toMatch(/^[A-Z].*\.$/);
    });
  }
  test('a comment that the server executes, by parser and by classifier', async () => {
    for (const sql of ['/*! drop table t */', "select 1 /*!50000 into outfile '/tmp/a' */", 'select /*M!100100 sleep(1), */ 1']) {
      expect(() => parseSql(sql, 'mysql', PARAMETERS)).toThrow(AppError);
      expect(await judgeRaw(sql)).toMatchObject({
        read_only: false,
        fixed: false,
        forbidden: expect.stringContaining('executes'),
      });
    }
  });
});

describe('passthrough', () => {
  for (const sql of [
    ':a',
    '(:a)',
    ' /* a */ ( :a ) # b',
    '/*+ a */ :a',
    'execute immediate :a',
    'execute immediate concat(:a)',
    'prepare p from :a',
    'execute p using :a',
    'do :a',
    'call sys.execute_prepared_stmt(:a)',
  ]) {
    test(sql, async () => expect(await judge(sql)).toMatchObject({ passthrough: true, read_only: false, fixed: false }));
  }
  test('an allowed passthrough can run in the one form that MariaDB has for it', async () => {
    expect(await judge('execute immediate :a')).toMatchObject({ forbidden: null });
    expect(await judge("execute immediate 'drop table t'")).toMatchObject({ forbidden: expect.any(String) });
    expect(await judge('prepare p from :a')).toMatchObject({ forbidden: expect.any(String) });
  });
  for (const sql of ['select :a', 'select (:a)', 'call p(:a)']) {
    test(`not: ${sql}`, async () => expect(await judge(sql)).toMatchObject({ passthrough: false }));
  }
});
