import { afterAll, beforeAll, expect, test } from 'bun:test';
import { asFault } from '#core/errors.ts';
import { openDuckdb } from '#snapshots/generate/project/drivers/duckdb.ts';
import { bind, sql, value, anyOf } from '#snapshots/generate/project/sql.ts';
import { createDuckdbFolder } from '#test/core/engines/duckdb/fixture.ts';
import { refusal } from '#test/core/engines/shared/suite.ts';
import { paced } from '#test/support/paced.ts';

const files = createDuckdbFolder();
const limits = { writes: false, timeout_ms: 5_000, max_rows: 2, max_bytes: 10_000, signal: new AbortController().signal };
let path: string;

beforeAll(async () => {
  path = await files.create('main.duckdb', 'CREATE TABLE t AS SELECT range AS id FROM range(5)');
});

afterAll(() => files.remove());

test('a generated project reads a DuckDB file with the same limits, values and refusals', async () => {
  const database = openDuckdb({ path });
  const statement = { dialect: 'duckdb', types: { low: 'integer', some: { array: 'integer' } } } as const;
  const text = sql`SELECT id FROM t WHERE id >= ${value('low')} AND id ${anyOf('some')} ORDER BY id`;
  const bound = bind({ ...statement, sql: text }, { low: 1, some: [0, 1, 2, 3] });
  expect(await database.query(bound, limits)).toMatchObject({
    rows: [{ id: 1 }, { id: 2 }],
    truncated: true,
    affected_rows: null,
  });
  const typed = bind({ ...statement, sql: sql`SELECT ${value('low', { as: 'BIGINT' })} AS a` }, { low: null });
  expect((await database.query(typed, limits)).rows).toEqual([{ a: null }]);
  const plain = (each: string) => database.query({ text: each, values: [], types: [] }, { ...limits, timeout_ms: 300 });
  expect((await refusal(plain("from read_csv('/etc/passwd')"))).code).toBe('sql_error');
  expect((await refusal(plain('drop table t'))).code).toBe('not_read_only');
  expect((await refusal(plain('select count(*) from range(1000000000000) where hash(range) = 5'))).code).toBe('timeout');
  expect((await refusal(database.query(bound, { ...limits, writes: true }))).code).toBe('not_read_only');
  await database.close();
});

test('a call of a generated project ends at its timeout or with its caller, beside another statement', async () => {
  const database = openDuckdb({ path });
  const ask = (text: string, more: object) =>
    database.query({ text, values: [], types: [] }, { ...limits, ...more }).catch(asFault);
  const started = performance.now();
  const slow = ask('select count(*) from range(1000000000000) where hash(range) = 5', { timeout_ms: 2_000 });
  expect(await ask('select 1', { timeout_ms: 200 })).toMatchObject({ code: 'timeout' });
  expect(performance.now() - started).toBeLessThan(paced(1_500));
  expect(await ask('select 1', { signal: AbortSignal.abort() })).toMatchObject({ code: 'cancelled' });
  expect(await slow).toMatchObject({ code: 'timeout' });
  expect(await ask('select 1 as one', {})).toMatchObject({ rows: [{ one: 1 }] });
  await database.close();
});

test('a folder of files is refused with a sentence', async () => {
  const database = openDuckdb({ path: files.folder });
  const error = await refusal(database.query({ text: 'select 1', values: [], types: [] }, limits));
  expect(error.detail).toStartWith('This project reads DuckDB from one .duckdb file');
});
