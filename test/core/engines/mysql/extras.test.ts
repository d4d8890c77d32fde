import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { engineOf } from '#core/engines/index.ts';
import { openMysql } from '#core/engines/mysql/source.ts';
import { extraFault } from '#core/engines/shared/extras.ts';
import type { RunOptions, Source } from '#core/engines/shared/source.ts';
import { localPolicy, reachable, testDatabase } from '#test/support/databases.ts';
import { FIXED, READ, sql, WRITE } from '../shared/suite.ts';

test.each([
  ['charset', 'latin1'],
  ['charset', "utf8mb4' , sql_mode = '"],
  ['time_zone', 'Europe/Berlin'],
  ['time_zone', '+15:00'],
  ['time_zone', "+02:00', sql_mode = '"],
] as const)('%s does not take %p', (name, value) => {
  const extra = engineOf('mariadb').extras.find(({ field }) => field.name === name);
  expect(extra && extraFault(extra, value)).toStartWith(`extra_params.${name} must be `);
});

describe.skipIf(!reachable.mysql)('settings of a connection', () => {
  let database: Awaited<ReturnType<typeof testDatabase>>;
  let source: Source;
  const one = async (options: RunOptions, text: string) => (await source.query(sql(text), options)).rows[0];

  beforeAll(async () => {
    database = await testDatabase('mysql');
    await database.run(`set time_zone = '+00:00'; create table moments (at timestamp, wall datetime);
      insert into moments values ('2026-01-01 00:30:00', '2026-01-01 00:30:00')`);
    source = openMysql({ ...database.settings, extra_params: { charset: 'utf8mb4_bin', time_zone: '-03:30' } }, localPolicy);
  });
  afterAll(async () => {
    await source.close();
    await database.drop();
  });

  test.each([
    ['fixed', FIXED],
    ['read', READ],
    ['write', WRITE],
  ] as const)('hold in a %s session, also after it was cleaned', async (_, options) => {
    for (let call = 0; call < 2; call++) {
      expect(await one(options, "select at, wall, date(at) as day, 'a' = 'A' as same from moments")).toEqual({
        at: '2025-12-31T21:00:00-03:30',
        wall: '2026-01-01T00:30:00',
        day: '2025-12-31',
        same: 0,
      });
    }
  });

  test('take a bound moment for what it is', async () => {
    const text = 'select count(*) as n from moments where at = ?';
    for (const moment of ['2026-01-01T00:30:00Z', '2026-01-01T02:30:00+02:00']) {
      const statement = { text, values: [moment], types: ['datetime' as const] };
      expect((await source.query(statement, READ)).rows).toEqual([{ n: 1 }]);
    }
  });

  test('leave UTC and the collation of the server where none are given', async () => {
    const plain = openMysql(database.settings, localPolicy);
    const { rows } = await plain.query(sql("select at, 'a' = 'A' as same from moments"), READ);
    await plain.close();
    expect(rows).toEqual([{ at: '2026-01-01T00:30:00Z', same: 1 }]);
  });
});
