import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { openPostgres } from '#core/engines/postgresql/source.ts';
import type { Source } from '#core/engines/shared/source.ts';
import { READ, refusal, sql } from '#test/core/engines/shared/suite.ts';
import { localPolicy, reachable, type TestDatabase, testDatabase } from '#test/support/databases.ts';

// Skipped where no PostgreSQL answers; with CI=true that is a failure.
describe.skipIf(!reachable.postgres)('PostgreSQL', () => {
  let database: TestDatabase;
  let source: Source;
  beforeAll(async () => {
    database = await testDatabase('postgresql');
    await database.run(`create table items as select 1 as id, 'pen' as name`);
    source = openPostgres(database.settings, localPolicy);
  });
  afterAll(async () => {
    await source.close();
    await database.drop();
  });

  test('a query returns the rows and the columns of its result', async () => {
    const { columns, rows } = await source.query(sql('select id, name from items'), READ);
    expect(columns.map(({ name, kind }) => `${name} ${kind}`)).toEqual(['id integer', 'name string']);
    expect(rows).toEqual([{ id: 1, name: 'pen' }]);
  });

  test('a statement that writes is refused in a read-only session and changes nothing', async () => {
    const { code } = await refusal(source.query(sql('delete from items'), READ));
    expect(code).toBe('not_read_only');
    expect(await database.run('select * from items')).toHaveLength(1);
  });
});
