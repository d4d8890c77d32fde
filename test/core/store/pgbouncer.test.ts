import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { sql as query } from 'drizzle-orm';
import { openPostgres } from '#core/engines/postgresql/source.ts';
import { readMeta, writeMeta } from '#core/store/meta.ts';
import { openStore } from '#core/store/open.ts';
import { READ, refusal, sql } from '#test/core/engines/shared/suite.ts';
import { localPolicy, reachable, testDatabase, type TestDatabase } from '#test/support/databases.ts';
import { pgbouncer, type PgBouncer, startPgBouncer } from '#test/support/pgbouncer.ts';

describe.skipIf(!reachable.postgres || pgbouncer === null)('behind PgBouncer with its default settings (needs pgbouncer)', () => {
  let database: TestDatabase;
  const pools: Partial<Record<'session' | 'transaction', PgBouncer>> = {};
  beforeAll(async () => {
    database = await testDatabase('postgresql');
    for (const mode of ['session', 'transaction'] as const) pools[mode] = await startPgBouncer(mode, database.url);
  }, 30_000);
  afterAll(async () => {
    for (const pool of Object.values(pools)) await pool.stop();
    await database.drop();
  });

  test('the metadata database opens, migrates, and has the time limits of Sluice', async () => {
    const url = new URL(database.url);
    url.port = String(pools.session?.port);
    const store = await openStore(url.href);
    try {
      await Promise.all(
        Array.from({ length: 12 }, (_, n) => store.write((tx) => writeMeta(store, tx, `pooled ${n}`, String(n)))),
      );
      expect(await readMeta(store, store.db, 'pooled 11')).toBe('11');
      const limits = { statement_timeout: '9s', lock_timeout: '8s', idle_in_transaction_session_timeout: '20s', TimeZone: 'UTC' };
      for (const [name, limit] of Object.entries(limits)) {
        const value = query<string>`current_setting(${name})`;
        expect(await store.db.select({ value }).from(store.tables.meta).limit(1)).toEqual([{ value: limit }]);
      }
    } finally {
      await store.close();
    }
  }, 30_000);

  for (const mode of ['session', 'transaction'] as const) {
    test(`a connection reads, and is refused a write in a read-only tool, with pool_mode ${mode}`, async () => {
      const source = openPostgres({ ...database.settings, port: pools[mode]?.port ?? 0 }, localPolicy);
      try {
        await database.run(`create table if not exists items as select 1 as id, 'pen' as name`);
        const answers = await Promise.all(
          Array.from({ length: 20 }, () => source.query(sql('select id, name from items'), READ)),
        );
        for (const { rows } of answers) expect(rows).toEqual([{ id: 1, name: 'pen' }]);
        expect((await refusal(source.query(sql('delete from items'), READ))).code).toBe('not_read_only');
        expect(await database.run('select * from items')).toHaveLength(1);
      } finally {
        await source.close();
      }
    }, 30_000);
  }
});
