import { afterAll, describe, expect, test } from 'bun:test';
import { spawnSync } from 'node:child_process';
import { appendFileSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { gzipSync } from 'node:zlib';
import { DuckDBInstance } from '@duckdb/node-api';
import type { AppError } from '#core/errors.ts';
import { resolveDuckdb } from '#core/engines/duckdb/path.ts';
import type { Source } from '#core/engines/shared/source.ts';
import { READ, sql } from '../shared/suite.ts';
import { children, createDuckdbFolder } from './fixture.ts';

const files = createDuckdbFolder();
/** Most of what is read takes a second; a machine that does other things as well needs many. */
const CALL = { ...READ, timeout_ms: 60_000 };

afterAll(async () => {
  await files.remove();
  expect(children()).toEqual([]);
});

const page = { skip: 0, limit: 5_000 };
const rows = async (source: Source, text: string) => (await source.query(sql(text), CALL)).rows;
const names = async (source: Source) => (await source.tables(page)).items.map(({ schema, name }) => `${schema}.${name}`);

/** KiB that the programs of the engine have in memory. */
function memory(): number {
  const found = Bun.spawnSync(['ps', '-o', 'rss=', '-p', children().join(',') || '1']).stdout.toString();
  return Math.max(0, ...found.trim().split(/\s+/).map(Number));
}

/**
 * Reads a folder with a good file among the others. Nothing outside of the cache is written, no program takes more memory than it may,
 * and a call on the good file is answered while and after.
 * @returns the tables, and the files that could not be read.
 */
async function read(folder: string) {
  files.write(`${folder}/good.csv`, 'a\n1\n');
  const before = files.contents();
  const source = files.open(folder);
  let peak = 0;
  const watch = setInterval(() => (peak = Math.max(peak, memory())), 100);
  const status = await files.status(folder);
  clearInterval(watch);
  expect(peak).toBeLessThan(2_000_000);
  expect(await rows(source, 'SELECT a FROM good')).toEqual([{ a: 1 }]);
  expect(files.contents()).toEqual(before);
  const tables = await names(source);
  await source.close();
  for (const { error } of status) expect(error?.message ?? '').not.toContain(files.root);
  return { tables, status, failed: status.filter(({ error }) => error !== null).map(({ key }) => key) };
}

async function parquet(name: string, select: string, options = ''): Promise<Buffer> {
  const path = join(files.folder, name);
  mkdirSync(join(path, '..'), { recursive: true });
  const instance = await DuckDBInstance.create();
  const connection = await instance.connect();
  await connection.run(`COPY (${select}) TO '${path}' (FORMAT parquet${options})`);
  connection.closeSync();
  instance.closeSync();
  return readFileSync(path);
}

describe('a hostile file is named, and takes nothing along', () => {
  test('texts: bombs, long lines, many columns, NULs, mixed encodings', async () => {
    files.write('texts/bomb.csv.gz', gzipSync(Buffer.alloc(100_000_000, 'a')));
    files.write('texts/bomb.json.gz', gzipSync(Buffer.alloc(20_000_000, '[')));
    files.write('texts/twice.csv.gz', gzipSync(gzipSync('a\n1\n')));
    files.write('texts/cut.csv.gz', gzipSync('a\n1\n'.repeat(10_000)).subarray(0, 40));
    files.write('texts/liar.csv.gz', 'a,b\n1,2\n');
    files.write('texts/long.csv', `a\n1\n${'x'.repeat(5_000_000)}\n`);
    truncateSync(files.write('texts/gigabyte.csv', 'a\n'), 1024 ** 3);
    files.write('texts/nul.csv', 'a,b\n1,\0\n');
    files.write('texts/mixed.csv', Buffer.concat([Buffer.from('a,b\nZürich,1\n'), Buffer.from('Zürich,2\n', 'latin1')]));
    files.write('texts/utf16.csv', Buffer.from('\ufeffa,b\nZürich,1\n', 'utf16le'));
    files.write('texts/quote.csv', `a,b\n"${'x,'.repeat(10_000)}\n`);
    files.write('texts/header.csv', 'a,b\n');
    files.write('texts/empty.csv', '');
    files.write('texts/columns.csv', `"a""; DROP TABLE good; --",'x',a,A,a,""\n1,2,3,4,5,6\n`);
    files.write('texts/deep.json', '['.repeat(100_000));
    files.write('texts/nested.ndjson', `${'{"a":'.repeat(200)}1${'}'.repeat(200)}\n`);
    files.write('texts/keys.json', JSON.stringify(Object.fromEntries(Array.from({ length: 2_000 }, (_, n) => [`k${n}`, n]))));
    files.write('texts/object.json', `{"a":"${'x'.repeat(20_000_000)}"}`);
    files.write('texts/names.json', `{"a\\u0000b":1,"x\\"; DROP TABLE good":2,"a":3,"A":4,"":5}`);
    const { failed, status } = await read('texts');
    expect(failed).toEqual([
      'bomb.csv.gz',
      'bomb.json.gz',
      'deep.json',
      'gigabyte.csv',
      'liar.csv.gz',
      'long.csv',
      'object.json',
      'quote.csv',
      'twice.csv.gz',
    ]);
    const errorOf = (name: string) => status.find(({ key }) => key === name)?.error;
    expect(errorOf('long.csv')).toEqual({ message: 'Line 3 is longer than 2,000,000 bytes.', line: 3 });
    expect(errorOf('gigabyte.csv')).toMatchObject({ line: 2 });
    expect(errorOf('bomb.csv.gz')).toMatchObject({ line: 1 });
  }, 400_000);

  test('ten thousand columns end at the limit of memory', async () => {
    const wide = Array.from({ length: 10_000 }, (_, n) => `c${n}`).join(',');
    files.write('wide/wide.csv', `${wide}\n${wide.replaceAll('c', '')}\n`);
    const { status } = await read('wide');
    expect(status.find(({ key }) => key === 'wide.csv')?.error?.message).toMatch(/more memory/);
  }, 300_000);

  test('names: quotes, newlines, stars, dots, and what is no file', async () => {
    for (const name of [
      'x"; DROP TABLE good; --.csv',
      "it's.csv",
      'two\nlines.csv',
      'a..b.csv',
      '..csv.csv',
      '[x]*?.csv',
      '~.csv',
      '$(id).csv',
      'month=1.csv',
      'pg_catalog.csv',
      `${'long'.repeat(60)}.csv`,
      '\u202egood.csv',
    ])
      files.write(`names/${name}`, 'a\n5\n');
    files.write('names/year=2024/x.csv', 'a\n5\n');
    files.write('names/temp/x.csv', 'a\n5\n');
    files.write('names/main/x.csv', 'a\n5\n');
    files.write('names/information_schema/tables.csv', 'a\n5\n');
    files.write('outside.csv', 'secret\n1\n');
    mkdirSync(join(files.folder, 'names/folder.csv'));
    symlinkSync(join(files.folder, 'outside.csv'), join(files.folder, 'names/link.csv'));
    symlinkSync('/etc', join(files.folder, 'names/etc'));
    symlinkSync('/etc/passwd', join(files.folder, 'names/passwd.csv'));
    symlinkSync('/dev/zero', join(files.folder, 'names/zero.csv'));
    symlinkSync('loop.csv', join(files.folder, 'names/loop.csv'));
    spawnSync('mkfifo', [join(files.folder, 'names/pipe.csv')]);
    const { failed, tables } = await read('names');
    expect(failed).toEqual([]);
    expect(tables).toEqual([
      'information_schema_.tables',
      'main.a_b',
      'main.file',
      'main.good',
      'main.good_2',
      'main.id',
      'main.it_s',
      `main.${'long'.repeat(15)}`,
      'main.month_1',
      'main.pg_catalog',
      'main.two_lines',
      'main.x',
      'main.x_DROP_TABLE_good',
      'main_.x',
      'temp_.x',
      'year_2024.x',
    ]);
  }, 300_000);

  test('Parquet: sizes that are lies, cut and changed bytes, and much in little', async () => {
    const whole = await parquet('parquet/whole.parquet', `SELECT range AS n, 'row ' || range AS name FROM range(2000)`);
    const changed = (name: string, change: (bytes: Buffer) => void) => {
      const bytes = Buffer.from(whole);
      change(bytes);
      files.write(`parquet/${name}.parquet`, bytes);
    };
    files.write('parquet/fake.parquet', 'PAR1'.repeat(1_000));
    files.write('parquet/tiny.parquet', 'PAR1');
    files.write('parquet/cut.parquet', whole.subarray(0, whole.length / 2));
    for (const [name, size] of Object.entries({ huge: 0xffff_ffff, negative: 0x8000_0000, zero: 0, file: whole.length }))
      changed(`footer_${name}`, (bytes) => bytes.writeUInt32LE(size >>> 0, bytes.length - 8));
    // Every part of the footer, which is read without checks of its own.
    const footer = whole.readUInt32LE(whole.length - 8);
    for (let n = 0; n < 24; n++) {
      const at = whole.length - 8 - footer + Math.floor((n * footer) / 24);
      changed(`byte_${n}`, (bytes) => bytes.fill(0xff, at, Math.min(at + 4, bytes.length - 8)));
    }
    for (let n = 0; n < 8; n++) changed(`page_${n}`, (bytes) => bytes.fill(n * 31, 4 + n * 64, 4 + n * 64 + 16));
    const { failed, tables } = await read('parquet');
    expect(tables).toContain('main.whole');
    expect(failed).toEqual(
      expect.arrayContaining(
        ['fake', 'tiny', 'cut', 'footer_huge', 'footer_negative', 'footer_zero'].map((name) => `${name}.parquet`),
      ),
    );
  }, 300_000);

  test('Parquet of some kilobytes that holds gigabytes ends within its limits', async () => {
    const bomb = await parquet('bomb/bomb.parquet', `SELECT repeat('x', 1000000) AS a FROM range(1500)`, ', COMPRESSION zstd');
    expect(bomb.length).toBeLessThan(5_000_000);
    const began = performance.now();
    const { failed } = await read('bomb');
    expect(failed).toEqual(['bomb.parquet']);
    expect(performance.now() - began).toBeLessThan(120_000);
  }, 300_000);

  test('SQLite files with views, triggers, virtual tables, generated columns, a changed schema, and logs', async () => {
    const create = (name: string, script: string) => {
      files.write(`sqlite/${name}`, '');
      const database = new DatabaseSync(join(files.folder, `sqlite/${name}`));
      database.exec(script);
      return database;
    };
    create(
      'schema.db',
      `CREATE TABLE t (a DEFAULT (hex(zeroblob(9)))); INSERT INTO t DEFAULT VALUES;
       CREATE VIEW v AS SELECT load_extension('/tmp/evil.so') AS a;
       CREATE VIEW endless AS WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT n FROM c;
       CREATE TRIGGER tr AFTER INSERT ON t BEGIN INSERT INTO t SELECT randomblob(1000000); END;
       CREATE VIRTUAL TABLE words USING fts5(body); CREATE VIRTUAL TABLE area USING rtree(id, a, b);
       CREATE TABLE d (a, b DEFAULT (load_extension('/tmp/evil.so'))); INSERT INTO d (a, b) VALUES (1, 2);
       CREATE TABLE g (a, b AS (hex(zeroblob(100000000))) VIRTUAL); INSERT INTO g (a) VALUES (1);
       CREATE TABLE "x""; DROP TABLE t; --" ("a""b", "c;d"); CREATE TABLE "two
lines" (a);
       CREATE TABLE "pg_catalog" (a); CREATE TABLE w (a PRIMARY KEY) WITHOUT ROWID;`,
    ).close();
    // A virtual table in the place of a table, as only whoever writes the file itself can have it.
    create(
      'changed.db',
      `CREATE TABLE victim (a /* ${' '.repeat(40)} */); INSERT INTO victim VALUES (1); CREATE TABLE t (a)`,
    ).close();
    const changed = readFileSync(join(files.folder, 'sqlite/changed.db'), 'latin1');
    const before = `CREATE TABLE victim (a /* ${' '.repeat(40)} */)`;
    const after = 'CREATE VIRTUAL TABLE victim USING fts5(a)'.padEnd(before.length);
    expect(changed).toContain(before);
    files.write('sqlite/changed.db', Buffer.from(changed.replace(before, after), 'latin1'));
    create('many.db', Array.from({ length: 510 }, (_, n) => `CREATE TABLE t${n} (a);`).join('')).close();
    const log = create('log.db', 'PRAGMA journal_mode = wal; CREATE TABLE t (a); INSERT INTO t VALUES (7)');
    files.write('sqlite/fake.sqlite', 'SQLite format 3\0'.padEnd(4_096, 'x'));
    create('small.db', Array.from({ length: 20 }, (_, n) => `CREATE TABLE t${n} (a);`).join('')).close();
    const whole = readFileSync(join(files.folder, 'sqlite/small.db'));
    for (let n = 0; n < 8; n++) {
      const bytes = Buffer.from(whole);
      bytes.fill(0xff, 100 + n * 500, 100 + n * 500 + 8);
      files.write(`sqlite/byte_${n}.db`, bytes);
    }
    // A journal that is left over makes whoever may write undo what it names.
    files.write('sqlite/journal.db', whole);
    files.write('sqlite/journal.db-journal', Buffer.concat([Buffer.from('d9d505f920a163d7', 'hex'), Buffer.alloc(600, 1)]));
    const { failed, tables } = await read('sqlite');
    log.close();
    expect(failed).toEqual(expect.arrayContaining(['fake.sqlite', 'journal.db']));
    expect(tables.filter((name) => !/^(many|small|byte_\d|journal)\./.test(name))).toEqual([
      'changed.t',
      'log.t',
      'main.good',
      'schema.area_node',
      'schema.area_parent',
      'schema.area_rowid',
      'schema.d',
      'schema.g',
      'schema.pg_catalog',
      'schema.t',
      'schema.two\nlines',
      'schema.w',
      'schema.words_config',
      'schema.words_content',
      'schema.words_data',
      'schema.words_docsize',
      'schema.words_idx',
      'schema.x"; DROP TABLE t; --',
    ]);
  }, 300_000);
});

test('a folder that holds a file of the product itself is refused, however deep', () => {
  const own = files.write('mine/sub/own.db', '');
  const resolve = (database: string) => resolveDuckdb(database, { ...files.policy, forbidden_files: [own] });
  for (const database of ['mine', 'mine/sub']) expect(() => resolve(database)).toThrow('inside the folder of SVC_SQLITE_DIR');
  files.write('yours/own.db', '');
  expect(resolve('yours').kind).toBe('folder');
});

describe('a file that changes while it is read', () => {
  test('is read again until it is whole, and running calls keep what they have', async () => {
    const content = (value: number) => `a,b\n${`${value},x\n`.repeat(400_000)}`;
    files.write('moving/good.csv', 'a\n1\n');
    const path = files.write('moving/big.csv', content(0));
    const source = files.open('moving');
    await files.status('moving');
    let writes = 0;
    for (const ends = performance.now() + 6_000; performance.now() < ends; writes++) {
      if (writes % 3 === 0) appendFileSync(path, `${writes},x\n`.repeat(1_000));
      else if (writes % 3 === 1) rmSync(path, { force: true });
      else {
        writeFileSync(`${path}.next`, content(writes));
        renameSync(`${path}.next`, path);
      }
      expect(await rows(source, 'SELECT a FROM good')).toEqual([{ a: 1 }]);
      await Bun.sleep(150);
    }
    writeFileSync(path, content(77));
    const isWhole = async () => (await rows(source, 'SELECT min(a) = 77 AND max(a) = 77 AS whole FROM big'))[0]?.['whole'];
    // Until the folder is looked at again there may be no table: the file was away when it was looked at last.
    const isWholeYet = () => isWhole().catch((error: AppError) => error.reason !== 'Catalog');
    for (const ends = performance.now() + 60_000; performance.now() < ends && (await isWholeYet()) !== true;)
      await Bun.sleep(500);
    expect(await isWhole()).toBe(true);
    await source.close();
  }, 300_000);

  test('and becomes a link meanwhile is not followed', async () => {
    files.write('swapped/good.csv', 'a\n1\n');
    const path = files.write('swapped/x.csv', 'a\n1\n');
    const source = files.open('swapped');
    await files.status('swapped');
    await source.query(sql('SELECT a FROM x'), CALL);
    rmSync(path);
    symlinkSync('/etc/passwd', path);
    for (const ends = performance.now() + 60_000; performance.now() < ends && (await names(source)).includes('main.x');)
      await Bun.sleep(500);
    expect(await names(source)).toEqual(['main.good']);
    await source.close();
  }, 60_000);
});
