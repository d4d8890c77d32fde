import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { createClient } from '@libsql/client';
import mysql from 'mysql2/promise';
import postgres from 'postgres';
import { type DeclaredParameter } from '#core/lib/sql/parse.ts';
import { openClickhouse } from '#core/engines/clickhouse/source.ts';
import type { BoundType, Json } from '#core/lib/sql/result.ts';
import { SETTINGS } from '#test/core/engines/clickhouse/fixture.ts';
import { READ } from '#test/core/engines/shared/suite.ts';
import { type Chdb, hasChdb, startChdb } from '#test/support/chdb.ts';
import { localPolicy } from '#test/support/databases.ts';
import { describeWith } from './reachable.ts';
import { bind, classify, parseSql, type Dialect } from '#test/support/sql.ts';

const PARAMETERS: readonly DeclaredParameter[] = [
  { name: 'ids', type: 'array', items: 'integer' },
  { name: 'low', type: 'integer' },
];
/** Rows 1, 2, 3 and one whose id is null. */
const T = '(select 1 as id union all select 2 union all select 3 union all select null) as t';
type Run = (text: string, values: readonly Json[], types: readonly BoundType[]) => Promise<readonly unknown[]>;

const CASES: readonly (readonly [string, string, Record<string, Json>, readonly (number | null)[]])[] = [
  ['an empty list gives no row', 'id in (:ids)', { ids: [] }, []],
  ['not in an empty list gives every row, the null one too', 'id not in (:ids)', { ids: [] }, [1, 2, 3, null]],
  ['a list of one', 'id in (:ids)', { ids: [2] }, [2]],
  ['a padded list', 'id in (:ids)', { ids: [1, 2, 9] }, [1, 2]],
  ['a value that is null is never in a list', 'id not in (:ids)', { ids: [1, 2, 9] }, [3]],
  ['a list that is not given gives no row', 'id in (:ids)', {}, []],
  ['not in a list that is not given gives no row', 'id not in (:ids)', {}, []],
  ['the same list twice', 'id in (:ids) and not id not in (:ids)', { ids: [3, 1] }, [1, 3]],
  ['a block that is kept', 'true [[ and id > :low ]]', { low: 1 }, [2, 3]],
  ['a block that is dropped', 'true [[ and id > :low ]]', {}, [1, 2, 3, null]],
  ['a list in a block, empty', 'true [[ and id not in (:ids) ]]', { ids: [] }, [1, 2, 3, null]],
  ['a list in a block, not given', 'true [[ and id in (:ids) ]]', {}, [1, 2, 3, null]],
  ['a text without a space', 'id in(:ids)and id>:low', { ids: [1, 2, 3], low: 2 }, [3]],
];

function semantics(dialect: Dialect, run: Run): void {
  for (const [name, where, values, expected] of CASES) {
    test(name, async () => {
      const statement = parseSql(`select id from ${T} where ${where} order by id is null, id`, dialect, PARAMETERS);
      expect(await classify(statement)).toMatchObject({ read_only: true, fixed: true });
      const bound = bind(statement, values);
      const rows = await run(bound.text, bound.values, bound.types);
      expect(rows.map((row) => (row as { id: number | null }).id)).toEqual([...expected]);
    });
  }
  test('a list of 10 000', async () => {
    const statement = parseSql(`select count(*) as found from ${T} where id in (:ids)`, dialect, PARAMETERS);
    const bound = bind(statement, { ids: Array.from({ length: 10_000 }, (_, i) => i) });
    expect(Number(((await run(bound.text, bound.values, bound.types))[0] as { found: unknown }).found)).toBe(3);
  });
}

const port = Number(process.env['TEST_POSTGRES_PORT'] ?? 5432);

await describeWith('PostgreSQL', port, () => {
  const sql = postgres(`postgres://postgres@127.0.0.1:${port}/postgres`, { max: 1 });
  afterAll(() => sql.end());
  semantics('postgresql', (text, values) => sql.unsafe(text, values as never[], { prepare: true }));
});

await describeWith('MariaDB', 3306, () => {
  const pool = mysql.createPool({ host: '127.0.0.1', user: 'root', database: 'test', connectionLimit: 1 });
  afterAll(() => pool.end());
  semantics('mysql', async (text, values) => (await pool.execute(text, values as never[]))[0] as unknown[]);
});

describe('with SQLite', () => {
  const db = new Database(':memory:');
  afterAll(() => db.close());
  semantics('sqlite', async (text, values) => db.query(text).all(...(values as never[])));
});

describe('with libSQL', () => {
  const db = createClient({ url: ':memory:' });
  afterAll(() => db.close());
  semantics('sqlite', async (text, values) => (await db.execute({ sql: text, args: values as never[] })).rows);
});

describe.skipIf(!hasChdb)('with the engine of ClickHouse', () => {
  let chdb: Chdb;
  beforeAll(async () => {
    chdb = await startChdb();
  }, 60_000);
  afterAll(() => chdb?.stop());
  semantics('clickhouse', async (text, values, types) => {
    const source = openClickhouse({ ...SETTINGS, database: 'default', port: 8123 }, { ...localPolicy, fetch: chdb.fetch });
    const { rows } = await source.query({ text, values, types }, READ);
    await source.close();
    return rows;
  });
});
