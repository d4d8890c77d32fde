import { afterAll, expect, test } from 'bun:test';
import { mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { lastRead } from '#core/engines/duckdb/files/folder.ts';
import { createFileLock } from '#core/engines/duckdb/files/lock.ts';
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
  expect(lastRead(connection, files.policy)).toEqual([]);
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
  expect(lastRead(connection, files.policy)).toEqual([]);
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
