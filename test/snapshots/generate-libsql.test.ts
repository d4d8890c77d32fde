import { afterAll, beforeAll, expect, test } from 'bun:test';
import { asFault } from '#core/errors.ts';
import { openLibsql } from '#snapshots/generate/project/drivers/libsql.ts';
import { paced } from '#test/support/paced.ts';
import { type SqldServer, startSqld } from '#test/support/sqld-server.ts';

let server: SqldServer;

beforeAll(async () => {
  server = await startSqld();
  await server.run('CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT)');
});

afterAll(() => server.stop());

const open = async () => {
  const tls = { ssl_mode: null, ssl_ca: null, ssl_cert: null, ssl_key: null };
  const token = await server.token('rw');
  const url = `http://127.0.0.1:${server.port}`;
  return openLibsql({ db_type: 'libsql', ...tls, pool_size: 2, extra_params: {}, url, token });
};

/** Counts for many seconds. */
const LONG = 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000000) SELECT max(i) AS i FROM n';

test.each([
  { code: 'timeout', timeout_ms: 200, aborted_ms: 60_000 },
  { code: 'cancelled', timeout_ms: 60_000, aborted_ms: 200 },
])('the generated driver ends a call: $code', async ({ code, timeout_ms, aborted_ms }) => {
  const database = await open();
  const started = performance.now();
  const limits = { writes: false, max_rows: 10, max_bytes: 10_000, timeout_ms, signal: AbortSignal.timeout(aborted_ms) };
  const fault = await database.query({ text: LONG, values: [], types: [] }, limits).catch(asFault);
  expect(fault).toMatchObject({ code });
  expect(performance.now() - started).toBeLessThan(paced(3_000));
  await database.close();
});

test('the generated driver reads and writes a libSQL server, and keeps nothing of what only reads', async () => {
  const database = await open();
  const run = (text: string, writes: boolean) =>
    database.query(
      { text, values: [], types: [] },
      { writes, max_rows: 10, max_bytes: 10_000, timeout_ms: 5_000, signal: AbortSignal.timeout(5_000) },
    );
  expect(await run("INSERT INTO item (name) VALUES ('pen')", true)).toMatchObject({ affected_rows: 1 });
  await run("INSERT INTO item (name) VALUES ('ink')", false).catch(() => undefined);
  expect((await run('SELECT id, name FROM item', false)).rows).toEqual([{ id: 1, name: 'pen' }]);
  await database.close();
});
