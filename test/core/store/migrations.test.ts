import { afterEach, describe, expect, test } from 'bun:test';
import { createClient } from '@libsql/client';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { lookAtTokenEnds } from '#core/identity/ends/watch-ends.ts';
import { migrate, type Migration, migrationsOf, incompatibility } from '#core/store/migrate.ts';
import { openStore, openStoreAsIs } from '#core/store/open.ts';
import { testApp } from '#test/support/app.ts';
import { reachable, testDatabase } from '#test/support/databases.ts';
import { emptyMetadata, namedStores } from '#test/support/metadata.ts';

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end();
});

type Run = (text: string) => Promise<Record<string, unknown>[]>;

describe.each([...namedStores])('migrations (%s)', (dialect) => {
  const migrations = migrationsOf(dialect === 'postgresql' ? 'pg' : 'sqlite');
  const [first] = migrations;
  const newest = migrations.at(-1)?.folderMillis ?? 0;
  /** As a later version would bring it: a column, and a change of the rows that are there. */
  const next: Migration = {
    folderMillis: newest + 1,
    hash: 'next',
    sql: ['alter table people add column nickname text', 'update people set nickname = username'],
  };

  async function emptyDatabase(): Promise<{ readonly url: string; readonly run: Run }> {
    if (dialect === 'postgresql') {
      const database = await testDatabase('postgresql');
      ends.push(() => database.drop());
      return { url: database.url, run: async (text) => [...(await database.run(text))] };
    }
    const folder = mkdtempSync(join(tmpdir(), 'sluice-migrations-'));
    const url = `file:${join(folder, 'sluice.sqlite')}`;
    const client = createClient({ url });
    ends.push(() => {
      client.close();
      rmSync(folder, { recursive: true, force: true });
    });
    return { url, run: async (text) => (await client.execute(text)).rows };
  }

  async function insertRows(run: Run): Promise<void> {
    const on = dialect === 'postgresql' ? 'true' : '1';
    await run("insert into meta (key, value) values ('a', 'b')");
    await run(`insert into people (id, username, role, groups, enabled, sign_in, totp_enabled, version, created_at, updated_at)
      values ('1', 'ada', 'owner', '[]', ${on}, 'password', ${on}, 1, '', '')`);
  }

  test('lead from the first one with rows to the newest, and on to the next', async () => {
    const { url, run } = await emptyDatabase();
    await migrate(run, first === undefined ? [] : [first]);
    await insertRows(run);
    await (await openStore(url)).close();
    for (let times = 0; times < 2; times++) await migrate(run, [...migrations, next]);
    expect(await run('select username, nickname from people')).toMatchObject([{ username: 'ada', nickname: 'ada' }]);
    expect(await run('select key, value from meta')).toMatchObject([{ key: 'a', value: 'b' }]);
    expect(await run('select created_at from migrations')).toHaveLength(migrations.length + 1);
    // This version does not know the next one.
    expect(openStore(url)).rejects.toMatchObject({
      code: 'conflict',
      detail: expect.stringContaining('newer version') as string,
    });
  });

  test('give access tokens of the version before an end that is not in the past', async () => {
    const { url, run } = await emptyDatabase();
    const before = migrations.findIndex(({ sql }) => sql.join().includes('rotation_ends_at'));
    await migrate(run, migrations.slice(0, before));
    const off = dialect === 'postgresql' ? 'false' : '0';
    await run(`insert into mcp_tokens (id, name, token_prefix, digest, secret_hash, revoked, created_at)
      values ('1', 'old', 'svc_mcp_', 'd', '{"$sealed":""}', ${off}, '2020-01-01T00:00:00.000Z')`);
    const t = await testApp({ SVC_TOKEN_MAX_DAYS: '30' }, url);
    ends.push(() => t.close());
    await lookAtTokenEnds(t.app);
    const expires_at = new Date(t.app.clock().getTime() + 30 * 86_400_000).toISOString();
    const sql = 'select expires_at, previous_digest, rotation_ends_at from mcp_tokens';
    expect(await run(sql)).toMatchObject([{ expires_at, previous_digest: null, rotation_ends_at: null }]);
  });

  test('that are pending keep commands from a database', async () => {
    const state = { done: 1, pending: 2, unknown: 0, unreleased: 0 };
    expect(incompatibility(state)).toContain('2 of the migrations of this version are pending');
    expect(incompatibility({ ...state, pending: 0 })).toBe(null);
  });
});

test.skipIf(!reachable.postgres)('migrations run once when three servers start at once on PostgreSQL', async () => {
  const database = await testDatabase('postgresql');
  ends.push(() => database.drop());
  const stores = await Promise.all([1, 2, 3].map(() => openStore(database.url)));
  for (const store of stores) await store.close();
  expect(await database.run('select created_at from migrations')).toHaveLength(migrationsOf('pg').length);
});

test.skipIf(!reachable.postgres)('numbers of sessions and callers start again before their columns are full', async () => {
  const database = await testDatabase('postgresql');
  ends.push(() => database.drop());
  await (await openStore(database.url)).close();
  for (const name of ['mcp_sessions_id_seq', 'usage_callers_id_seq']) {
    await database.run(`select setval('${name}', 2147483647)`);
    expect(Number((await database.run(`select nextval('${name}') as next`))[0]?.['next'])).toBe(1);
  }
});

// Otherwise every app of every test runs the migrations again, which costs more than most tests.
test('the empty store that tests start with has been migrated', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'sluice-empty-'));
  const metadata = await emptyMetadata(directory, 'sqlite');
  const { store, migrations } = await openStoreAsIs(metadata.url);
  expect(migrations).toMatchObject({ pending: 0, unknown: 0 });
  expect(migrations.done).toBeGreaterThan(0);
  await store.close();
  await metadata.release();
  rmSync(directory, { recursive: true });
});
