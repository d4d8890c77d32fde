import { afterAll, beforeAll, expect, test } from 'bun:test';
import { openLibsql } from '#snapshots/generate/project/drivers/libsql.ts';
import { type SqldServer, startSqld } from '#test/support/sqld-server.ts';

let server: SqldServer;

beforeAll(async () => {
  server = await startSqld();
  await server.run('CREATE TABLE item (id INTEGER PRIMARY KEY, name TEXT)');
});

afterAll(() => server.stop());

test('the generated driver reads and writes a libSQL server, and keeps nothing of what only reads', async () => {
  const database = openLibsql({ url: `http://127.0.0.1:${server.port}`, token: await server.token('rw') });
  const run = (text: string, writes: boolean) =>
    database.query(
      { text, values: [], types: [], typed: false },
      { writes, max_rows: 10, max_bytes: 10_000, timeout_ms: 5_000, signal: AbortSignal.timeout(5_000) },
    );
  expect(await run("INSERT INTO item (name) VALUES ('pen')", true)).toMatchObject({ affected_rows: 1 });
  await run("INSERT INTO item (name) VALUES ('ink')", false).catch(() => undefined);
  expect((await run('SELECT id, name FROM item', false)).rows).toEqual([{ id: 1, name: 'pen' }]);
  await database.close();
});
