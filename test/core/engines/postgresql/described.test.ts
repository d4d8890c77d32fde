import { afterAll, beforeAll, expect, test } from 'bun:test';
import { AppError } from '#core/errors.ts';
import { openPostgres } from '#core/engines/postgresql/source.ts';
import type { Source } from '#core/engines/shared/source.ts';
import { localPolicy, reachable, type TestDatabase, testDatabase } from '#test/support/databases.ts';

const COUNT = 60;
let database: TestDatabase;
let source: Source;

beforeAll(async () => {
  if (!reachable.postgres) return;
  database = await testDatabase('postgresql');
  await database.run(`create type mood as enum ('fair', 'foul')`);
  await database.run('create table products (id int primary key, name text, feeling mood)');
  await database.run('create view names as select name from products');
  source = openPostgres(database.settings, localPolicy);
});
afterAll(async () => {
  await source?.close();
  await database?.drop();
});

const asked = (column = '*', from = 'products') =>
  Array.from({ length: COUNT }, (_, n) => ({
    text: `select ${column}, ${n} as n from ${from} where id > $1`,
    types: ['integer'] as const,
  }));

async function describe(statements = asked()): Promise<(string[] | AppError)[]> {
  const described = (await source.describeAll?.(statements)) ?? [];
  return described.map((one) => (one instanceof AppError ? one : one.columns.map(({ name }) => name)));
}

const changes: readonly [string, string, (string | RegExp)[]][] = [
  ['a column that is added', 'alter table products add column price numeric', ['id', 'name', 'feeling', 'price', 'n']],
  ['a column that is renamed', 'alter table products rename column name to title', ['id', 'title', 'feeling', 'price', 'n']],
  ['a column that is dropped', 'alter table products drop column title cascade', ['id', 'feeling', 'price', 'n']],
  ['a column of another type', 'alter table products alter column price type int', ['id', 'feeling', 'price', 'n']],
];

const mark = () => source.schemaMark?.();

test.skipIf(!reachable.postgres)(
  'what is asked again under the same catalogue is answered alike, and the mark stays',
  async () => {
    const first = await describe();
    const before = await mark();
    expect(first).toHaveLength(COUNT);
    await database.run(`insert into products values (1, 'Pen', 'fair')`);
    expect(await describe()).toEqual(first);
    expect([typeof before, await mark()]).toEqual(['string', before]);
  },
);

test.skipIf(!reachable.postgres).each(changes)('%s is seen at the next question, and in the mark', async (_, change, columns) => {
  const before = await mark();
  await database.run(change);
  const [after] = await describe();
  expect(after).toEqual(columns as string[]);
  expect(await mark()).not.toBe(before);
});

test.skipIf(!reachable.postgres)('a dropped table, function, enum label and schema are seen', async () => {
  await database.run('create schema other');
  await database.run('create table other.things (id int)');
  await database.run(`create function twice(int) returns int language sql as 'select $1 * 2'`);
  const both = asked('twice(1) as two', 'other.things');
  const labelled = Array.from({ length: COUNT }, (_, n) => ({
    text: `select ${n} from products where feeling = 'grim' or id > $1`,
    types: ['integer'] as const,
  }));
  expect((await describe(both))[0]).toEqual(['two', 'n']);
  expect((await describe(labelled))[0]).toBeInstanceOf(AppError);
  await database.run(`alter type mood add value 'grim'`);
  expect((await describe(labelled))[0]).toEqual(['?column?']);
  await describe(both);
  await database.run('drop function twice(int)');
  expect((await describe(both))[0]).toBeInstanceOf(AppError);
});
