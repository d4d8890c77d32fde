import { afterEach, beforeEach, expect, test } from 'bun:test';
import { copyFileSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { SQLITE_FILES } from '#core/engines/sqlite/files.ts';

let folder: string;
let old: string;
let next: string;
let writer: DatabaseSync;
const open: DatabaseSync[] = [];
const database = (path: string) => {
  const made = new DatabaseSync(path);
  open.push(made);
  return made;
};
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-'));
  [old, next] = [join(folder, 'old.sqlite'), join(folder, 'next.sqlite')];
  database(next).exec('CREATE TABLE t AS SELECT 2 AS a');
  writer = database(old);
  writer.exec('PRAGMA journal_mode = wal; CREATE TABLE t AS SELECT 1 AS a');
});
afterEach(() => {
  for (const one of open.splice(0)) one.close();
  rmSync(folder, { recursive: true, force: true });
});
const accept = () => SQLITE_FILES.accept?.(next, old) ?? Promise.resolve();
/** What a file holds without what stands beside it. */
function rowsOf(path: string): unknown[] {
  const copy = join(folder, 'copy.sqlite');
  copyFileSync(path, copy);
  return database(copy)
    .prepare('SELECT a FROM t ORDER BY a')
    .all()
    .map((row) => row['a']);
}

test('a file whose place another one takes holds all that was committed, should the end come in between', async () => {
  writer.exec('INSERT INTO t VALUES (7)');
  await accept();
  expect(existsSync(`${old}-wal`)).toBe(false);
  expect(rowsOf(old)).toEqual([1, 7]);
});

test('a file that cannot hold it yet, because it is being read, keeps its place and its log', async () => {
  const reader = database(old);
  reader.exec('BEGIN');
  reader.prepare('SELECT * FROM t').all();
  writer.exec('INSERT INTO t VALUES (7)');
  const refused = await accept().catch((error: { code: string }) => error.code);
  expect([refused, existsSync(`${old}-wal`)]).toEqual(['unavailable', true]);
  reader.exec('COMMIT');
  expect(writer.prepare('SELECT count(*) AS n FROM t').get()).toEqual({ n: 2 });
  await accept();
  expect(rowsOf(old)).toEqual([1, 7]);
}, 60_000);

test('a file that is no database any more gives way, whatever stands beside it', async () => {
  writer.close();
  open.pop();
  writeFileSync(old, 'this is no database'.repeat(300));
  writeFileSync(`${old}-wal`, 'nor is this a log');
  await accept();
  expect(existsSync(`${old}-wal`)).toBe(false);
});
