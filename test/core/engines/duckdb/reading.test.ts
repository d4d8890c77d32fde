import { afterAll, expect, test } from 'bun:test';
import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { lastRead } from '#core/engines/duckdb/files/folder.ts';
import { createFileLock } from '#core/engines/duckdb/files/lock.ts';
import { createProgress, readProgress } from '#core/engines/duckdb/files/progress.ts';
import { DUCKDB_FILES } from '#core/engines/duckdb/files/status.ts';
import { READ, refusal, sql } from '../shared/suite.ts';
import { children, createDuckdbFolder } from './fixture.ts';

const files = createDuckdbFolder();

afterAll(async () => {
  await files.remove();
  expect(children()).toEqual([]);
});

/** A folder that another program reads for the first time, until it is released. */
function readElsewhere(database: string) {
  files.write(`${database}/a.csv`, 'a\n1\n');
  const cache = files.policy.cache_dir ?? '';
  mkdirSync(cache, { recursive: true });
  const before = new Set(readdirSync(cache));
  const connection = { database, extra_params: {} };
  expect(lastRead(connection, files.policy).entries).toEqual([]);
  const [place = ''] = readdirSync(cache).filter((name) => !before.has(name));
  const lock = createFileLock().take(join(cache, place, 'lock'));
  expect(lock).not.toBeNull();
  return { connection, release: () => lock?.release() };
}

test('a list of files that was answered leaves nothing behind that waits for the folder', async () => {
  const { connection, release } = readElsewhere('listed');
  const listed = await DUCKDB_FILES.status(connection, files.policy);
  expect(listed.reading).toBe(true);
  release();
  await Bun.sleep(1_500);
  expect(lastRead(connection, files.policy).entries).toEqual([]);
  expect((await files.status('listed')).map(({ key }) => key)).toEqual(['a.csv']);
});

test('a call on a folder that is read for the first time is told so before its caller runs out of patience', async () => {
  const { release } = readElsewhere('asked');
  const source = files.open('asked');
  const began = performance.now();
  expect(await refusal(source.query(sql('SELECT a FROM a'), { ...READ, timeout_ms: 60_000 }))).toMatchObject({
    code: 'unavailable',
    retry_after: 5,
  });
  expect(performance.now() - began).toBeLessThan(10_000);
  release();
  await source.close();
});

test('who reads a folder says how far it is, file by file', async () => {
  for (let n = 0; n < 200; n++) files.write(`far/part_${n}.csv`, `a,b\n${n},x\n`);
  const connection = { database: 'far', extra_params: {} };
  const work = files.status('far');
  const seen: number[] = [];
  for (let is_done = false; !is_done;) {
    is_done = await Promise.race([work.then(() => true), Bun.sleep(50).then(() => false)]);
    const { progress } = lastRead(connection, files.policy);
    if (progress === null) continue;
    expect(progress).toMatchObject({ of: 200, key: expect.stringMatching(/^part_\d+\.csv$/) });
    seen.push(progress.done);
  }
  expect(seen.length).toBeGreaterThan(1);
  expect(seen).toEqual(seen.toSorted((a, b) => a - b));
  expect(lastRead(connection, files.policy).progress).toBeNull();
  expect((await work).filter(({ tables }) => tables[0]?.rows === 1)).toHaveLength(200);
});

test('reading goes on where its progress cannot be written', () => {
  const place = join(files.policy.cache_dir ?? '', 'a place that is gone');
  const { show, end } = createProgress(place);
  show({ done: 1, of: 2, key: 'a.csv' });
  end();
  expect(readProgress(place)).toBeNull();
});
