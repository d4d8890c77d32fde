import { describe, expect, test } from 'bun:test';
import { ENGINES } from '#core/engines/index.ts';
import { classify, parseSql } from '#test/support/sql.ts';

/** Functions that read or write files, or ask another machine, by the engine that has them; in quotes: the name of a table is one. */
const FUNCTIONS: Readonly<Record<string, readonly string[]>> = {
  postgresql: [
    "pg_read_file('/etc/passwd')",
    "pg_read_binary_file('/etc/passwd')",
    "pg_ls_dir('/etc')",
    'pg_ls_waldir()',
    "pg_stat_file('/etc/passwd')",
    "lo_import('/etc/passwd')",
    "lo_export(1, '/tmp/x')",
    "query_to_xml('select 1', true, false, '')",
    "dblink('host=127.0.0.1', 'select 1')",
    "dblink_exec('delete from t')",
    'pg_hba_file_rules()',
    'pg_available_wal_summaries()',
    "http_get('http://127.0.0.1')",
  ],
  mysql: ["load_file('/etc/passwd')", "sys_exec('id')", "sys_eval('id')"],
  sqlite: [
    "readfile('/etc/passwd')",
    "writefile('/tmp/x', 'a')",
    "fsdir('/etc')",
    "lsdir('/etc')",
    "zipfile('/tmp/x.zip')",
    "load_extension('x')",
    "edit('x')",
    "sqlite_dbpage('main')",
    "fts3_tokenizer('x')",
  ],
  duckdb: [
    "read_csv('/etc/passwd')",
    "read_csv_auto('/etc/passwd')",
    "read_text('/etc/passwd')",
    "read_blob('/etc/passwd')",
    "read_json('/etc/passwd')",
    "read_parquet('x.parquet')",
    "parquet_scan('x.parquet')",
    "sniff_csv('x.csv')",
    "glob('/etc/*')",
    "sqlite_scan('x.db', 't')",
    "postgres_scan('host=127.0.0.1', 'public', 't')",
    "iceberg_scan('x')",
    "query('select 1')",
    'enable_logging()',
  ],
  clickhouse: [
    "file('/etc/passwd')",
    "url('http://127.0.0.1/', CSV)",
    "s3('http://127.0.0.1/x')",
    "remote('127.0.0.1', system.one)",
    "mysql('127.0.0.1', 'a', 'b', 'c', 'd')",
    "executable('id', TSV, 'a String')",
    "hdfs('hdfs://x')",
    "filesystem('/etc')",
    "jdbc('x', 'y')",
    "dictionary('x')",
  ],
};

/** Tables that are files, settings or other sessions in disguise. */
const TABLES: Readonly<Record<string, readonly string[]>> = {
  postgresql: ['pg_hba_file_rules', 'pg_catalog.pg_file_settings', '"pg_ident_file_mappings"'],
  mysql: [],
  sqlite: [
    'fsdir',
    '"fsdir"',
    '[fsdir]',
    "'fsdir'",
    'main.fsdir',
    'sqlite_stmt',
    'sqlite_dbpage',
    'pragma_database_list',
    'zipfile',
  ],
  duckdb: [
    "'x.csv'",
    "'/etc/passwd'",
    '"x.parquet"',
    "'https://127.0.0.1/x.csv'",
    "'../x.json'",
    'pragma_database_list',
    'duckdb_secrets',
  ],
  clickhouse: [
    'system.processes',
    '"system"."query_log"',
    'system.users',
    '`system`.`settings`',
    'system.named_collections',
    'system.text_log',
  ],
};

/** Wherever a table or a value can stand. Lower case and upper case, blanks and comments change nothing. */
const AROUND_TABLES: readonly ((what: string) => string)[] = [
  (what) => `select * from ${what}`,
  (what) => `SELECT * FROM /* a */ ${what} AS x`,
  (what) => `select * from (select * from ${what}) as x`,
  (what) => `select * from t as a, ${what} as b`,
  (what) => `select * from t as a cross join ${what} as b`,
  (what) => `select * from t as a join t as c on a.x = c.x, ${what} as b`,
  (what) => `select * from (t as a cross join ${what} as b)`,
  (what) => `select a from t where a in (select 1 from ${what})`,
  (what) => `select (select count(*) from ${what}) as n`,
  (what) => `with x as (select * from ${what}) select * from x`,
  (what) => `select 1 union all select 1 from ${what}`,
  (what) => `select case when exists (select 1 from ${what}) then 1 else 2 end`,
];
const AROUND_VALUES: readonly ((what: string) => string)[] = [
  (what) => `select ${what}`,
  (what) => `select a from t where a = ${what}`,
  (what) => `select a from t order by ${what}`,
  (what) => `select max(length(${what})) from t group by a having count(*) > 1`,
  (what) => `select /* */ ${what.replace('(', ' /* */ (')} as x`,
];
const QUOTES: Readonly<Record<string, string>> = { postgresql: '"', mysql: '`', sqlite: '"', duckdb: '"', clickhouse: '`' };

/** The name in capitals and in quotes, which some engines read as the same. */
function spellings(dialect: string, call: string): string[] {
  const [, name = '', rest = ''] = /^(\w+)(\(.*)$/s.exec(call) ?? [];
  const quote = QUOTES[dialect] ?? '"';
  return [call, `${name.toUpperCase()}${rest}`, `${quote}${name}${quote}${rest}`, `${name} ${rest}`];
}

async function isRefused(dialect: string, text: string): Promise<string | null> {
  const found = await classify(parseSql(text, dialect, []));
  return found.read_only || found.fixed ? null : (found.forbidden ?? found.reason);
}

const dialects = [...new Set(ENGINES.map(({ dialect }) => dialect.name))];

test('every grammar has its list', () => {
  expect(Object.keys(FUNCTIONS).toSorted()).toEqual(dialects.toSorted());
  expect(Object.keys(TABLES).toSorted()).toEqual(dialects.toSorted());
});

describe.each(dialects)('what leads out of a database of %s', (dialect) => {
  test('is refused in words wherever a function can stand', async () => {
    const passed: string[] = [];
    for (const call of FUNCTIONS[dialect] ?? []) {
      for (const around of [...AROUND_TABLES, ...AROUND_VALUES]) {
        for (const spelling of spellings(dialect, call)) {
          // MySQL has no functions that stand in the place of a table.
          if (dialect === 'mysql' && AROUND_TABLES.includes(around)) continue;
          const text = around(spelling);
          const sentence = await isRefused(dialect, text).catch(() => 'It cannot be read.');
          if (sentence === null || sentence.length < 15) passed.push(text);
        }
      }
    }
    expect(passed).toEqual([]);
  });

  test('is refused in words wherever a table can stand', async () => {
    const passed: string[] = [];
    for (const table of TABLES[dialect] ?? []) {
      for (const around of AROUND_TABLES) {
        const sentence = await isRefused(dialect, around(table));
        if (sentence === null || !/not allowed|only read/.test(sentence)) passed.push(`${around(table)}: ${sentence}`);
      }
    }
    expect(passed).toEqual([]);
  });

  test('is not what only looks like it', async () => {
    for (const text of ['select a from t where b = 1', 'select count(*) as file, max(a) as url from t group by b order by 1']) {
      expect([text, (await classify(parseSql(text, dialect, []))).read_only]).toEqual([text, true]);
    }
  });
});
