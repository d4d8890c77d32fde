import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { openPostgres } from '#core/engines/postgresql/source.ts';
import type { ConnectionSettings } from '#core/engines/shared/connection-settings.ts';
import type { Source } from '#core/engines/shared/source.ts';
import { localPolicy, reachable, type TestDatabase, testDatabase } from '#test/support/databases.ts';
import { FIXED, READ, refusal, sql, WRITE } from '../shared/suite.ts';

describe.skipIf(!reachable.postgres)('what PostgreSQL itself limits', () => {
  let database: TestDatabase;
  const opened: Source[] = [];
  beforeAll(async () => void (database = await testDatabase('postgresql')));
  afterAll(async () => {
    for (const source of opened) await source.close();
    await database.drop();
  });
  const open = (changes: Partial<ConnectionSettings> = {}): Source => {
    const source = openPostgres({ ...database.settings, ...changes }, localPolicy);
    opened.push(source);
    return source;
  };

  test('a smaller time limit of the account or the database holds, and the connection test names it', async () => {
    const { database: name } = database.settings;
    const role = `${name}_quick`;
    await database.run(`create role ${role} login`);
    try {
      await database.run(`alter database ${name} set statement_timeout = '20s'`);
      const slow = open({ username: role });
      expect((await slow.test()).limits).toEqual([{ name: 'statement_timeout', value: '20 s', source: 'database' }]);
      expect((await refusal(slow.query(sql('select pg_sleep(5)'), { ...READ, timeout_ms: 100 }))).detail).not.toContain('server');
      await database.run(`alter role ${role} set statement_timeout = '750ms'`);
      const quick = open({ username: role });
      for (const mode of [FIXED, READ, WRITE]) {
        const late = 'select pg_sleep(5) as x';
        const detail = expect.stringContaining('(statement_timeout: 0.75 s)') as string;
        expect(await refusal(quick.query(sql(late), mode))).toMatchObject({ code: 'timeout', detail });
        expect(
          (await quick.query(sql(`select current_setting('statement_timeout') as limit`), { ...mode, timeout_ms: 600 })).rows,
        ).toEqual([{ limit: '600ms' }]);
      }
      expect((await quick.test()).limits).toEqual([{ name: 'statement_timeout', value: '0.75 s', source: 'account' }]);
      expect((await open().test()).limits).toEqual([{ name: 'statement_timeout', value: '20 s', source: 'database' }]);
      await Promise.all([slow.close(), quick.close()]);
    } finally {
      await database.run(`alter database ${name} reset statement_timeout`);
      await database.run(`drop role ${role}`);
    }
  });

  test('a procedure answers its INOUT values, and one that commits is refused with a sentence', async () => {
    await database.run('create procedure doubled(inout n int, inout word text) language sql as $$ select n * 2, word || word $$');
    await database.run('create table steps (n int)');
    await database.run('create procedure stepped() language plpgsql as $$ begin insert into steps values (1); commit; end $$');
    const source = open();
    expect((await source.query(sql(`call doubled(4, 'a')`), WRITE)).rows).toEqual([{ n: 8, word: 'aa' }]);
    const error = await refusal(source.query(sql('call stepped()'), WRITE));
    expect(error).toMatchObject({ code: 'sql_error', reason: '2D000', detail: expect.stringContaining('COMMIT and ROLLBACK') });
    expect(await database.run('select * from steps')).toEqual([]);
  });
});
