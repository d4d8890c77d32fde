import { afterAll, describe, expect, test } from 'bun:test';
import { renameSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { gzipSync } from 'node:zlib';
import { DuckDBInstance } from '@duckdb/node-api';
import { planTables } from '#core/engines/duckdb/files/plan.ts';
import { DUCKDB_FILES } from '#core/engines/duckdb/files/status.ts';
import type { Source } from '#core/engines/shared/source.ts';
import { READ, refusal, sql } from '../shared/suite.ts';
import { children, createDuckdbFolder } from './fixture.ts';
import { until } from '#test/support/until.ts';
import { processorMs } from '#test/support/processor-time.ts';

const files = createDuckdbFolder();

afterAll(async () => {
  await files.remove();
  expect(children()).toEqual([]);
});

/** Bytes in no order: the digits of powers of a number. */
const NOISE = Buffer.from(Array.from({ length: 2_000 }, (_, n) => Number(75n ** BigInt(n + 1) % 65_537n) & 255));

const page = { skip: 0, limit: 5_000 };
const rows = async (source: Source, text: string) => (await source.query(sql(text), READ)).rows;
const errors = async (database: string) =>
  Object.fromEntries((await files.status(database)).flatMap(({ key, error }) => (error === null ? [] : [[key, error]])));
const names = async (source: Source) => (await source.tables(page)).items.map(({ schema, name }) => `${schema}.${name}`);

async function parquet(name: string, select: string): Promise<void> {
  const instance = await DuckDBInstance.create();
  const connection = await instance.connect();
  await connection.run(`COPY (${select}) TO '${join(files.folder, name)}' (FORMAT parquet)`);
  connection.closeSync();
  instance.closeSync();
}

describe('a folder of files', () => {
  test('is a database: every file a table, sub-folders and SQLite files schemas', async () => {
    files.write('shop/orders.csv', 'id,month,total\n1,2026-01-01,10.50\n2,2026-02-01,7\n');
    files.write('shop/people.tsv', 'name\tcode\nAda\t00123\n');
    files.write('shop/packed.csv.gz', gzipSync('a;b\n1;x\n'));
    files.write('shop/list.json', '[{"a":1,"b":[1,2]},{"a":2}]');
    files.write('shop/lines.ndjson', '{"a":1}\n{"a":"x"}\n');
    files.write('shop/2024 sales-total.csv', 'x\n1\n');
    files.write('shop/sub/deep/orders.csv', 'id\n9\n');
    files.write('shop/notes.txt', 'not a table');
    files.write('shop/.hidden.csv', 'a\n1\n');
    symlinkSync('/etc/passwd', join(files.folder, 'shop/link.csv'));
    await parquet('shop/numbers.parquet', `SELECT range AS n, 'row ' || range AS name FROM range(1000)`);
    const shop = new DatabaseSync(join(files.folder, 'shop/crm.sqlite'));
    shop.exec(`CREATE TABLE person (id INTEGER PRIMARY KEY, name TEXT, score REAL, photo BLOB, odd); INSERT INTO person VALUES
      (1, 'Ada', 1.5, x'00ff', 7), (9007199254740993, 'Bob', 2, NULL, 'seven'); CREATE TABLE empty (a);
      CREATE TABLE mixed (id INTEGER PRIMARY KEY, wide NUMERIC, narrow NUMERIC); INSERT INTO mixed VALUES (1, 9007199254740993, 1.5),
      (2, 0.5, -9007199254740992), (3, -9223372036854775808, 1e300), (4, NULL, NULL);
      CREATE VIEW seen AS SELECT 1 AS a`);
    shop.close();
    const source = files.open('shop');
    expect(await errors('shop')).toEqual({});
    expect(await names(source)).toEqual([
      'crm.empty',
      'crm.mixed',
      'crm.person',
      'main._2024_sales_total',
      'main.lines',
      'main.list',
      'main.numbers',
      'main.orders',
      'main.packed',
      'main.people',
      'sub_deep.orders',
    ]);
    expect(await rows(source, 'SELECT month, sum(total) AS total FROM orders GROUP BY month ORDER BY month')).toEqual([
      { month: '2026-01-01', total: 10.5 },
      { month: '2026-02-01', total: 7 },
    ]);
    expect(await rows(source, 'SELECT * FROM people')).toEqual([{ name: 'Ada', code: '00123' }]);
    expect(await rows(source, 'SELECT * FROM packed')).toEqual([{ a: 1, b: 'x' }]);
    expect(await rows(source, 'SELECT a, b FROM list ORDER BY a')).toEqual([
      { a: 1, b: [1, 2] },
      { a: 2, b: null },
    ]);
    expect(await rows(source, 'SELECT a FROM lines')).toEqual([{ a: 1 }, { a: 'x' }]);
    expect(await rows(source, 'SELECT name FROM numbers WHERE n = 7')).toEqual([{ name: 'row 7' }]);
    expect(await rows(source, 'SELECT id FROM sub_deep.orders')).toEqual([{ id: 9 }]);
    expect(await rows(source, 'SELECT * FROM crm.person ORDER BY score')).toEqual([
      { id: 1, name: 'Ada', score: 1.5, photo: 'AP8=', odd: '7' },
      { id: '9007199254740993', name: 'Bob', score: 2, photo: null, odd: 'seven' },
    ]);
    expect(await rows(source, 'SELECT wide, narrow FROM crm.mixed ORDER BY id')).toEqual([
      { wide: '9007199254740993', narrow: 1.5 },
      { wide: '0.5', narrow: -9_007_199_254_740_992 },
      { wide: '-9223372036854775808', narrow: 1e300 },
      { wide: null, narrow: null },
    ]);
    expect((await source.columns({ name: 'orders', schema: 'main' }, page)).items.map(({ type }) => type)).toEqual([
      'BIGINT',
      'DATE',
      'DOUBLE',
    ]);
    await source.close();
  });

  test('shows a changed, a new and a deleted file within a moment, and a running call ends on the old one', async () => {
    files.write('live/a.csv', 'id\n1\n');
    files.write('live/b.csv', 'id\n1\n');
    const source = files.open('live');
    expect(await rows(source, 'SELECT * FROM a')).toEqual([{ id: 1 }]);
    const mark = await source.schemaMark?.();
    const slow = rows(source, 'SELECT id, (SELECT count(*) FROM range(200000000)) AS n FROM a');
    await Bun.sleep(200);
    files.write('live/a.new', 'id,more\n2,x\n');
    renameSync(join(files.folder, 'live/a.new'), join(files.folder, 'live/a.csv'));
    files.write('live/c.csv', 'id\n3\n');
    rmSync(join(files.folder, 'live/b.csv'));
    const began = performance.now();
    await until(async () => (await rows(source, 'SELECT * FROM a'))[0]?.['more'] === 'x');
    expect(performance.now() - began).toBeLessThan(10_000);
    expect(await names(source)).toEqual(['main.a', 'main.c']);
    expect(await source.schemaMark?.()).not.toBe(mark);
    expect(await slow).toEqual([{ id: 1, n: 200_000_000 }]);
    await source.close();
  });

  test('keeps the last good table of a file that cannot be read, and says nothing of the others', async () => {
    files.write('bad/a.json', '[{"a":1}]');
    files.write('bad/b.csv', 'x\n1\n');
    const source = files.open('bad');
    expect(await errors('bad')).toEqual({});
    expect(await names(source)).toEqual(['main.a', 'main.b']);
    files.write('bad/a.json', '[{"a":1},\n{"a":');
    files.write('bad/b.csv', 'x\n2\n');
    files.write('bad/c.parquet', 'this is no parquet');
    files.write('bad/d.csv', NOISE);
    await until(async () => (await rows(source, 'SELECT x FROM b'))[0]?.['x'] === 2);
    expect(await rows(source, 'SELECT a FROM a')).toEqual([{ a: 1 }]);
    expect(await names(source)).toEqual(['main.a', 'main.b']);
    expect(await errors('bad')).toEqual({
      'a.json': { message: 'Malformed JSON in file "a.json", at byte 6 in record/value 3: unexpected end of data.', line: null },
      'c.parquet': { message: 'This is not a Parquet file, or only a part of one. Export it again.', line: null },
      'd.csv': {
        message:
          'The columns could not be detected. Check that this is a CSV file, or set how it is read: delimiter, first line and encoding.',
        line: null,
      },
    });
    await source.close();
  });

  test('says of a file whose name for its table is taken what the table is called instead', async () => {
    files.write('taken/A.csv', 'n\n1\n');
    files.write('taken/a.csv', 'n\n2\n');
    files.write('taken/a_3.csv', 'n\n3\n');
    files.write('taken/b.csv', 'n\n4\n');
    const extra_params = { files: JSON.stringify({ 'b.csv': { table: 'a' } }) };
    await files.status('taken', extra_params);
    const { items } = await DUCKDB_FILES.status({ database: 'taken', extra_params }, files.policy);
    const note = (name: string, table: string) =>
      `A.csv has the table ${name}, so this one is ${table}. Enter another table name for one of them.`;
    expect(items.map(({ name, tables, notes }) => [name, tables[0]?.name, notes])).toEqual([
      ['A.csv', 'A', []],
      ['a.csv', 'a_2', [note('a', 'a_2')]],
      ['a_3.csv', 'a_3', []],
      ['b.csv', 'a_4', [note('a', 'a_4')]],
    ]);
  });

  test('is read in the ways that people write CSV', async () => {
    files.write('csv/short.csv', 'id;name;when\n1;Ada;01.02.2026\n2;Bob;03.02.2026\n3\n');
    files.write('csv/latin.csv', Buffer.from('name,city\nJosé,Zürich\n', 'latin1'));
    files.write('csv/bom.csv', '\ufeffid,name\n1,x\n');
    files.write('csv/german.csv', 'amount;day\n1.234,50;31.12.2026\n');
    files.write('csv/comma.csv', 'amount;day;code\n10,50;31.12.2026;1.5.2\n-3,25;01.01.2027;2\n');
    files.write('csv/thousands.csv', 'amount;n\n1.234,50;1.000\n2,00;7\n');
    files.write('csv/point.csv', 'amount;text\n10.5;1,5\n');
    files.write('csv/header.csv', 'id,name\n');
    files.write('csv/empty.csv', '');
    files.write('csv/mixed.csv', 'a\n1\n2\nx\n');
    files.write('csv/quotes.csv', 'a,b\n"x, ""y""","line\nbreak"\n');
    files.write("csv/o'clock [1].csv", 'a\n5\n');
    files.write('csv/A.csv', 'a\n1\n');
    files.write('csv/a.csv', 'a\n2\n');
    files.write('csv/select.csv', 'from,order\n1,2\n');
    const wide = Array.from({ length: 3_000 }, (_, n) => `c${n}`).join(',');
    files.write('csv/wide.csv', `${wide}\n${wide.replaceAll('c', '')}\n`);
    const german = { delimiter: ';', decimal: ',', dates: '%d.%m.%Y', types: { day: 'DATE', amount: 'DOUBLE' } };
    const settings = { 'csv/x': {}, 'german.csv': german, 'select.csv': { table: 'words' }, 'header.csv': { header: true } };
    const extra_params = { files: JSON.stringify(settings) };
    const source = files.open('csv', { extra_params });
    const status = await files.status('csv', extra_params);
    expect(status.filter(({ error }) => error !== null)).toEqual([]);
    expect(status.find(({ key }) => key === 'short.csv')).toMatchObject({
      rejected_rows: 1,
      rejected: [{ line: 4, reason: 'The line has 1 value; 3 are expected.' }, { line: 4 }],
    });
    expect(status.find(({ key }) => key === 'latin.csv')?.notes).toEqual(['The file is not UTF-8 and was read as Latin-1.']);
    expect(await rows(source, 'SELECT id, name FROM short')).toEqual([
      { id: 1, name: 'Ada' },
      { id: 2, name: 'Bob' },
    ]);
    expect(await rows(source, 'SELECT * FROM latin')).toEqual([{ name: 'José', city: 'Zürich' }]);
    expect(await rows(source, 'SELECT id FROM bom')).toEqual([{ id: 1 }]);
    expect(await rows(source, 'SELECT * FROM german')).toEqual([{ amount: 1234.5, day: '2026-12-31' }]);
    const comma = await rows(source, 'SELECT sum(amount) AS amount, min(code) AS code FROM comma');
    expect(comma).toEqual([{ amount: 7.25, code: '1.5.2' }]);
    expect(await rows(source, 'SELECT sum(amount) AS amount, sum(n) AS n FROM thousands')).toEqual([{ amount: 1236.5, n: 1007 }]);
    expect(await rows(source, 'SELECT * FROM point')).toEqual([{ amount: 10.5, text: '1,5' }]);
    expect((await source.columns({ name: 'header' }, page)).items.map(({ name }) => name)).toEqual(['id', 'name']);
    expect(await rows(source, 'SELECT a FROM mixed')).toEqual([{ a: '1' }, { a: '2' }, { a: 'x' }]);
    expect(await rows(source, 'SELECT * FROM quotes')).toEqual([{ a: 'x, "y"', b: 'line\nbreak' }]);
    expect(await rows(source, 'SELECT a FROM o_clock_1')).toEqual([{ a: 5 }]);
    expect(await rows(source, 'SELECT (SELECT a FROM "A") + (SELECT a FROM a_2) AS n')).toEqual([{ n: 3 }]);
    expect(await rows(source, 'SELECT "from" FROM words')).toEqual([{ from: 1 }]);
    expect((await source.columns({ name: 'wide' }, page)).total).toBe(3_000);
    await source.close();
  });

  test('with a pattern is one table, and corrected types hold', async () => {
    files.write('many/2025.csv', 'code,n\n01,1\n');
    files.write('many/2026.csv', 'code,n,extra\n02,2,x\n');
    const settings = { '20*.csv': { table: 'years', types: { n: 'DECIMAL(10,2)' } } };
    const source = files.open('many', { extra_params: { files: JSON.stringify(settings) } });
    expect(await rows(source, 'SELECT * FROM years ORDER BY n')).toEqual([
      { code: '01', n: '1.00', extra: null, filename: '2025.csv' },
      { code: '02', n: '2.00', extra: 'x', filename: '2026.csv' },
    ]);
    await source.close();
  });

  test('with a pattern of JSON or Parquet files as text never says where the files are', async () => {
    files.write('texts/log_1.json', '[{"a":1}]');
    files.write('texts/log_2.JSON', '[{"a":2}]');
    await parquet('texts/part_1.parquet', 'SELECT 1 AS a');
    const settings = { 'LOG_*.json': { table: 'logs', as_text: true }, 'part_*.parquet': { table: 'parts', as_text: true } };
    const source = files.open('texts', { extra_params: { files: JSON.stringify(settings) } });
    expect(await rows(source, 'SELECT * FROM logs ORDER BY a')).toEqual([
      { a: '1', filename: 'log_1.json' },
      { a: '2', filename: 'log_2.JSON' },
    ]);
    expect(await rows(source, 'SELECT * FROM parts')).toEqual([{ a: '1', filename: 'part_1.parquet' }]);
    await source.close();
  });

  test('with a pattern of many stars takes no time for a name that almost matches', () => {
    const name = `${'a'.repeat(190)}.csv`;
    const file = { name, bytes: 1, changed_at: 0, mark: '1' };
    const started = processorMs();
    const [table] = planTables([file], { [`${'*a'.repeat(100)}*b.csv`]: {} });
    expect(table?.key).toBe(name);
    expect(processorMs() - started).toBeLessThan(1_000);
  });

  test('names what is in it and not read', async () => {
    files.write('beyond/a.csv', 'a\n1\n');
    files.write('beyond/packed.parquet.gz', gzipSync('PAR1'));
    files.write('beyond/1/2/3/near.csv', 'a\n1\n');
    files.write('beyond/1/2/3/4/far.csv', 'a\n1\n');
    files.write('beyond/1/2/3/5/readme.txt', 'nothing to read');
    const tables = new DatabaseSync(join(files.folder, 'beyond/wide.sqlite'));
    tables.exec(Array.from({ length: 501 }, (_, n) => `CREATE TABLE t${String(n).padStart(3, '0')} (a);`).join(''));
    tables.close();
    await files.status('beyond');
    const { items } = await DUCKDB_FILES.status({ database: 'beyond', extra_params: {} }, files.policy);
    const told = Object.fromEntries(items.map(({ name, error, notes }) => [name, error?.message ?? notes.join(' ')]));
    expect(told).toEqual({
      'a.csv': '',
      'packed.parquet.gz': expect.stringContaining('Unpack it.'),
      '1/2/3/near.csv': '',
      '1/2/3/4': expect.stringContaining('up to 4 deep'),
      'wide.sqlite': 'Only the first 500 tables of the file were read, up to t499.',
    });
  });

  test('that is not there is named, and one that comes later is found', async () => {
    const source = files.open('later');
    expect(await refusal(source.test())).toMatchObject({ code: 'database_unreachable', reason: 'database_missing' });
    files.write('later/a.csv', 'a\n1\n');
    await until(() =>
      source.test().then(
        () => true,
        () => false,
      ),
    );
    expect(await names(source)).toEqual(['main.a']);
    await source.close();
  });

  test('is read once for several programs, which share what was made of it', async () => {
    files.write('shared/a.csv', 'a\n1\n');
    const sources = Array.from({ length: 4 }, () => files.open('shared'));
    const found = await Promise.all(sources.map((source) => rows(source, 'SELECT a FROM a')));
    expect(found).toEqual(Array.from({ length: 4 }, () => [{ a: 1 }]));
    await Promise.all(sources.map((source) => source.close()));
  });
});
