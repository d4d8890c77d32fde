import { describe, expect, test } from 'bun:test';
import type { Call } from '#ui/src/api.ts';
import { mentions } from '#core/lib/sql/mentions.ts';
import { createCatalog, completionPointAt, quoteName } from '#ui/src/features/builder/sql/completion.ts';
import { scanSql } from '#ui/src/features/builder/sql/scan.ts';

const tablesOf = (sql: string) =>
  mentions(sql, scanSql(sql, 'postgresql')).map(({ schema, table, alias }) => [schema, table, alias]);

test('the tables of a statement are found with their aliases', () => {
  expect(tablesOf('select * from orders o join shop.customers as c on c.id = o.customer_id where true')).toEqual([
    [null, 'orders', 'o'],
    ['shop', 'customers', 'c'],
  ]);
  expect(tablesOf('select * from a, "B c" b left join d on true')).toEqual([
    [null, 'a', 'a'],
    [null, 'B c', 'b'],
    [null, 'd', 'd'],
  ]);
  expect(tablesOf('update t set x = 1')).toEqual([[null, 't', 't']]);
  expect(tablesOf('select * from (select * from inside i) as o')).toEqual([[null, 'inside', 'i']]);
  expect(tablesOf('select * from')).toEqual([]);
});

describe('what is completed', () => {
  const at = (marked: string) => {
    const cursor = marked.indexOf('|');
    const sql = marked.replace('|', '');
    return completionPointAt(sql, scanSql(sql, 'postgresql'), cursor);
  };
  test('depends on what stands before the cursor', () => {
    expect(at('select * from or|')).toEqual({ kind: 'table', from: 14 });
    expect(at('select o.na| from orders o')).toEqual({ kind: 'member', of: 'o', from: 9 });
    expect(at('select na| from orders')).toEqual({ kind: 'any', from: 7 });
    expect(at('select a from t where b = :m|')).toEqual({ kind: 'parameter', from: 27 });
    expect(at('select a::in|')).toEqual({ kind: 'any', from: 10 });
  });
  test('is nothing inside strings and comments', () => {
    for (const sql of ["select 'a|b'", "select 'open |", '-- from |', 'select 1 /* from | */']) expect(at(sql)).toBeUndefined();
    expect(at("select 'a'|")).toBeDefined();
  });
});

test('names are quoted where the database needs it', () => {
  expect(quoteName('orders', 'postgresql')).toBe('orders');
  expect(quoteName('Orders', 'postgresql')).toBe('"Orders"');
  expect(quoteName('Orders', 'sqlite')).toBe('Orders');
  expect(quoteName('order', 'mysql')).toBe('`order`');
  expect(quoteName('a"b', 'sqlite')).toBe('"a""b"');
});

test('the catalogue asks once for each table, and again after a failure', async () => {
  const asked: string[] = [];
  let down = true;
  const call = (async (name: string, input: { table?: string }) => {
    asked.push(`${name} ${input.table ?? ''}`.trim());
    if (down) throw new TypeError('fetch failed');
    return { items: [{ schema: null, name: 'orders', in_path: true, type: 'table', comment: null }], total: 1 };
  }) as unknown as Call;
  const catalog = createCatalog(call, 'c1');
  expect(await catalog.tables()).toEqual([]);
  down = false;
  await Promise.all([catalog.tables(), catalog.tables()]);
  expect(catalog.known().map(({ name }) => name)).toEqual(['orders']);
  const orders = { schema: null, name: 'orders' };
  await Promise.all([catalog.columns(orders), catalog.columns(orders)]);
  expect(asked).toEqual(['schema.tables', 'schema.tables', 'schema.columns orders']);
});
