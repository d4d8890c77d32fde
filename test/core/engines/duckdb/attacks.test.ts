import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { symlinkSync } from 'node:fs';
import { join } from 'node:path';
import type { RunOptions, Source } from '#core/engines/shared/source.ts';
import { classify, parseSql } from '#test/support/sql.ts';
import { FIXED, READ, refusal, sql } from '../shared/suite.ts';
import { children, createDuckdbFolder } from './fixture.ts';

const files = createDuckdbFolder();
let source: Source;

beforeAll(async () => {
  await files.create('main.duckdb', `CREATE TABLE t (id INTEGER); INSERT INTO t VALUES (1); CREATE SEQUENCE s; CHECKPOINT`);
  await files.create('other.duckdb', 'CREATE TABLE secret (a VARCHAR)');
  files.write('x.csv', 'id,name\n1,secret\n');
  files.write('x.parquet', 'PAR1');
  symlinkSync('/etc/hostname', join(files.folder, 'link.csv'));
  source = files.open('main.duckdb', { pool_size: 3 });
});

afterAll(async () => {
  await files.remove();
  expect(children()).toEqual([]);
});

/** `$dir` is the folder of the database. */
const ATTACKS: Readonly<Record<string, readonly string[]>> = {
  'logging and profiling': [
    `from enable_logging(storage := 'file', storage_config := {'path': '$dir/log'})`,
    `select * from enable_logging(storage := 'stdout')`,
    `FROM enable_logging(storage := 'file', storage_config := {'path': '$dir/main.duckdb.wal'})`,
    `with a as (select * from enable_profiling(format := 'json', save_location := '$dir/x.json')) select * from a`,
    `from enable_profiling(format := 'query_tree', save_location := '$dir/x.txt')`,
    `from enable_profiling(format := 'html', save_location := '$dir/x.html')`,
    `from "enable_profiling"(format := 'json', save_location := '$dir/x.csv')`,
    `from system.main.enable_logging()`,
    `select (select count(*) from enable_logging())`,
    `from disable_logging()`,
    `from truncate_duckdb_logs()`,
    `select write_log('x')`,
    `select system.main.write_log('x', level := 'ERROR')`,
    `select list_transform([1], lambda x: write_log('x'))`,
    `from check_peg_parser('select 1')`,
    `from enable_peg_parser()`,
  ],
  'statements that write': [
    `copy t to '$dir/out.csv'`,
    `copy (select 1) to '$dir/main.duckdb.wal' (use_tmp_file false)`,
    `copy t from '$dir/x.csv'`,
    `copy from database main to other`,
    `export database '$dir/out'`,
    `import database '$dir'`,
    `attach '$dir/other.duckdb' as o`,
    `attach ':memory:' as o`,
    `detach main`,
    `insert into t values (2)`,
    `update t set id = 2 returning *`,
    `delete from t`,
    `merge into t using t as u on t.id = u.id when matched then delete`,
    `create temp table x as select 1`,
    `create or replace temp macro abs(a) as 'other'`,
    `create temp view v as select 1`,
    `drop table t`,
    `alter table t add column x int`,
    `truncate t`,
    `vacuum`,
    `analyze`,
    `checkpoint`,
    `force checkpoint`,
    `comment on table t is 'x'`,
    `explain analyze copy t to '$dir/out.csv'`,
    `explain analyze insert into t values (1)`,
    `explain select 1`,
  ],
  'files and other databases': [
    `select * from read_csv('$dir/x.csv')`,
    `select * from read_csv_auto('/etc/passwd', header = false)`,
    `from read_text('/etc/hostname')`,
    `from read_blob('$dir/main.duckdb')`,
    `from read_json('$dir/x.json')`,
    `from read_parquet(['$dir/x.parquet'])`,
    `from parquet_metadata('$dir/x.parquet')`,
    `from parquet_scan('$dir/x.parquet')`,
    `from glob('$dir/*')`,
    `from sniff_csv('$dir/x.csv')`,
    `from read_duckdb('$dir/other.duckdb')`,
    `from 'x.csv'`,
    `from '$dir/x.csv'`,
    `from "$dir/x.csv"`,
    `from 'file:$dir/x.csv'`,
    `from '../x.csv'`,
    `from '$dir/link.csv'`,
    `from 's3://bucket/x.parquet'`,
    `from 'https://127.0.0.1/x.parquet'`,
    `from "main.csv".t`,
    `select * from t, 'x.csv'`,
    `select (select name from 'x.csv' limit 1)`,
    `install httpfs`,
    `load httpfs`,
    `force install sqlite`,
    `update extensions`,
  ],
  'the session': [
    `set threads = 4`,
    `set variable x = 1`,
    `reset threads`,
    `pragma threads = 4`,
    `pragma database_list`,
    `pragma enable_profiling`,
    `use temp`,
    `prepare p as select 1`,
    `execute p`,
    `deallocate p`,
    `begin transaction`,
    `commit`,
    `rollback`,
    `select getvariable('x')`,
    `select nextval('s')`,
    `select currval('s')`,
    `select setseed(0.5)`,
    `call enable_logging()`,
    `call pragma_version()`,
    `show databases`,
    `show all tables; show tables`,
  ],
  'text that is run': [
    `from query('select 1')`,
    `from query_table('t')`,
    `from query_table(['t'])`,
    `from json_execute_serialized_sql(json_serialize_sql('select 1'))`,
    `select json_serialize_plan('select 1')`,
    `from sql_auto_complete('sel')`,
  ],
  'what others do and have': [
    `from duckdb_settings()`,
    `from duckdb_databases()`,
    `from duckdb_databases`,
    `from pragma_database_list`,
    `from main."pragma_database_list"`,
    `from duckdb_secrets()`,
    `from which_secret('x', 's3')`,
    `from duckdb_logs`,
    `from duckdb_logs()`,
    `from pg_catalog.pg_settings`,
    `from duckdb_prepared_statements()`,
    `from duckdb_temporary_files()`,
    `select current_setting('temp_directory')`,
    `from duckdb_extensions()`,
    `from duckdb_variables()`,
    `from pragma_user_agent()`,
    `from arrow_scan(1, 2, 3)`,
    `from seq_scan('t')`,
  ],
};

describe('a statement can do nothing but read the tables of its database', () => {
  test.each(Object.entries(ATTACKS))('%s', async (_kind, texts) => {
    const before = files.contents();
    const check = async (options: RunOptions) =>
      expect((await source.query(sql('select id from t'), options)).rows).toEqual([{ id: 1 }]);
    for (const template of texts) {
      const text = template.replaceAll('$dir', files.folder);
      for (const options of [READ, FIXED]) {
        const error = await refusal(source.query(sql(text), options));
        expect([text, error.code]).toEqual([text, expect.stringMatching(/^(sql_error|not_read_only)$/) as string]);
        // The words of the statement may come back, the place of the database never does.
        if (!template.includes('$dir')) expect(error.detail).not.toContain(files.root);
      }
      expect([text, (await refusal(source.describe(text, []))).code]).toEqual([
        text,
        expect.stringMatching(/^(sql_error|not_read_only)$/) as string,
      ]);
      await check(READ);
    }
    expect(files.contents()).toEqual(before);
    expect(source.sessions()).toBe(1);
  });

  test('and a tool that tries is refused when it is saved, but for names that could be those of tables', async () => {
    const claiming: string[] = [];
    for (const template of Object.values(ATTACKS).flat()) {
      const text = template.replaceAll('$dir', '/dir');
      const found = await Promise.resolve()
        .then(() => classify(parseSql(text, 'duckdb', [])))
        .catch(() => null);
      if (found !== null && found.read_only && found.forbidden == null) claiming.push(text);
    }
    expect(claiming).toEqual(['show databases']);
  });

  test('nothing of one call is left for the next', async () => {
    const texts = ['select * from temp.information_schema.tables', 'select current_schema() as a, current_database() as b'];
    for (const text of texts) await source.query(sql(text), READ).catch(() => undefined);
    const { rows } = await source.query(sql('select current_schema() as a'), READ);
    expect(rows).toEqual([{ a: 'main' }]);
  });
});

/** Constants that are made before anything can be interrupted, endless work, and rows as large as the memory. */
const BOMBS: readonly string[] = [
  'select list_sum(range(300000000))',
  'select len(range(1000000000))',
  'select len(range(100000000000))',
  `select length(repeat('x', 4000000000))`,
  `select length(repeat(repeat('x', 100000), 100000))`,
  `select length(lpad('x', 2000000000, 'y'))`,
  `select length(rpad('x', 2000000000, 'y'))`,
  'select count(*) from (select unnest(range(2000000000)))',
  'select len(list_transform(range(200000000), lambda x: x + 1))',
  'select len(list_filter(range(200000000), lambda x: x % 2 = 0))',
  `select length(array_to_string(range(100000000), ','))`,
  'select len(list_sort(list_transform(range(100000000), lambda x: hash(x))))',
  'with recursive c as (select 1 as n union all select n + 1 from c) select count(*) from c',
  'select count(*) from range(100000000000) a',
  'select count(*) from range(1000000) a, range(1000000) b where hash(a.range + b.range) = 5',
  'select list(range) from range(1000000000)',
  `select string_agg(range::varchar, ',') from range(1000000000)`,
  `select repeat('x', 1000000000) as a`,
  'select * from range(100000000) a order by hash(range) desc',
  'select count(distinct hash(a.range * 31 + b.range)) from range(100000) a, range(100000) b',
  `select regexp_matches(repeat('a', 50000000), '(a*)*b')`,
  'select map_from_entries(list_transform(range(100000000), lambda x: {k: x, v: x}))',
  'select len(flatten(list_transform(range(100000), lambda x: range(100000))))',
  'select json_array_length(to_json(range(200000000)))',
];

describe('a bomb ends within its time and memory while other calls go on', () => {
  const LIMIT = 1_500;

  test.each(BOMBS)(
    '%s',
    async (text) => {
      for (const run of [
        () => source.query(sql(text), { ...READ, timeout_ms: LIMIT }).then(({ rows }) => rows.length),
        () => source.describe(text, []).then(() => 0),
      ]) {
        const began = performance.now();
        const state = { done: false };
        const bomb = run()
          .then(
            () => 'ended',
            (error: unknown) => (error as { code?: string }).code,
          )
          .finally(() => (state.done = true));
        let calls = 0;
        while (!state.done) {
          expect((await source.query(sql('select id from t'), { ...READ, timeout_ms: 20_000 })).rows).toEqual([{ id: 1 }]);
          calls++;
          const used = Bun.spawnSync(['ps', '-o', 'rss=', '-p', children().join(',') || '1']).stdout.toString();
          for (const kib of used.trim().split(/\s+/)) expect(Number(kib)).toBeLessThan(900_000);
          await Bun.sleep(20);
        }
        expect(['ended', 'timeout', 'sql_error', 'cancelled']).toContain((await bomb) ?? '');
        expect(performance.now() - began).toBeLessThan(14_000);
        expect(calls).toBeGreaterThan(0);
      }
    },
    60_000,
  );
});
