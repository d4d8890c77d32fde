import { afterAll, describe, expect, test } from 'bun:test';
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createClient } from '@libsql/client/sqlite3';
import { openEmbeddedClient } from '#core/store/embedded-client.ts';
import { databaseUrl, openStore } from '#core/store/open.ts';
import { fc } from '#test/support/chance.ts';

const folder = mkdtempSync(join(tmpdir(), 'sluice-client-'));
afterAll(() => rmSync(folder, { recursive: true }));
let files = 0;
const newFile = () => join(folder, `${++files}.sqlite`);

const value = fc.oneof(fc.constant(null), fc.integer(), fc.double({ noNaN: true, noDefaultInfinity: true }), fc.string());
/** What a program could do with two tables, several times and in any order. */
const statement = fc.oneof(
  fc.record({ sql: fc.constant('insert into t values (?, ?)'), args: fc.tuple(value, value) }),
  fc.record({ sql: fc.constant('insert into unique_t values (?)'), args: fc.tuple(fc.integer({ min: 0, max: 3 })) }),
  fc.record({ sql: fc.constant('update t set a = ? where b = ? returning a, b'), args: fc.tuple(value, value) }),
  fc.record({ sql: fc.constantFrom('select * from t', 'select count(*) n, max(a) from t where b > ?') }),
  fc.record({ sql: fc.constant('select a from t where b is ? limit 2'), args: fc.tuple(value) }),
  fc.record({ sql: fc.constantFrom('alter table t add column c default 7', 'alter table t drop column c') }),
  fc.record({ sql: fc.constantFrom('drop table unique_t', 'create table unique_t (a unique)', 'delete from t') }),
);

type Client = ReturnType<typeof openEmbeddedClient>;
async function answers(client: Client, statements: readonly (string | { sql: string; args?: unknown[] })[]): Promise<unknown[]> {
  const found: unknown[] = [];
  for (const one of ['pragma synchronous = off', 'create table t (a, b)', 'create table unique_t (a unique)', ...statements]) {
    const { sql, args = [] } = typeof one === 'string' ? { sql: one } : one;
    const answer = await client.execute({ sql, args: args as (string | number | null)[] }).catch(String);
    found.push(typeof answer === 'string' ? answer : { ...answer, rows: answer.rows.map((row) => ({ ...row })) });
  }
  return found;
}

describe('prepared statements', () => {
  test('answer as the driver does, also after a table has changed', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(statement, { minLength: 60, maxLength: 60 }), async (statements) => {
        const [plain, reusing] = [createClient({ url: `file:${newFile()}` }), openEmbeddedClient(newFile(), 0)];
        expect(await answers(reusing, statements)).toEqual(await answers(plain, statements));
        plain.close();
        reusing.close();
      }),
      { numRuns: 20 },
    );
  });

  test('of one connection follow a change by another', async () => {
    const client = openEmbeddedClient(newFile(), 0);
    await client.execute('create table t (a)');
    await client.execute('select * from t');
    const tx = await client.transaction('write');
    await tx.execute('insert into t values (1)');
    await tx.execute('alter table t add column b default 2');
    await tx.commit();
    const { columns, rows } = await client.execute('select * from t');
    expect([columns, rows.map(Object.values)]).toEqual([['a', 'b'], [[1, 2]]]);
    client.close();
  });

  test('that fail hold no lock', async () => {
    const file = newFile();
    const [client, other] = [openEmbeddedClient(file, 0), openEmbeddedClient(file, 0)];
    await client.execute('pragma journal_mode = wal');
    await client.execute('create table t (a unique)');
    for (let n = 0; n < 3; n++) {
      await client.execute({ sql: 'insert into t values (1)', args: [] }).catch(() => undefined);
      await client.execute('select abs(a - 9223372036854775807 - 2) from t').catch(() => undefined);
      await other.execute({ sql: 'insert into t values (?)', args: [10 + n] });
    }
    const { rows } = await other.execute('pragma wal_checkpoint(truncate)');
    expect(rows.map(Object.values)).toEqual([[0, 0, 0]]);
    expect((await client.execute('select count(*) n from t')).rows[0]?.['n']).toBe(4);
    client.close();
    other.close();
  });
});

test.each(['100%', 'c#', 'what?', 'a%20b', 'a b'])(
  'a data folder with the name %j holds its database, complete once it is closed',
  async (name) => {
    const data = mkdtempSync(join(folder, name));
    const store = await openStore(databaseUrl({ SVC_DATABASE_URL: null, SVC_DATA_DIR: data }));
    await store.write((tx) => tx.insert(store.tables.meta).values({ key: 'name', value: 'yes' }));
    await store.close();
    const copy = newFile();
    copyFileSync(join(data, 'sluice.sqlite'), copy);
    const client = openEmbeddedClient(copy, 0);
    expect((await client.execute("select value from meta where key = 'name'")).rows[0]?.['value']).toBe('yes');
    client.close();
  },
);
