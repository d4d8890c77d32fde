import { expect, test } from 'bun:test';
import { tablesToStartWith } from '#ui/src/pages/welcome/tables.ts';

test('the wizard offers large and related tables first, not the first of the alphabet', () => {
  const table = (name: string, more: object = {}) => ({
    schema: 'public',
    name,
    in_path: true,
    type: 'table',
    comment: null,
    ...more,
  });
  const tables = [
    table('a_log', { estimated_rows: 10 }),
    table('b_empty'),
    table('orders', { estimated_rows: 100_000, relations: 3 }),
    table('all_orders', { type: 'view' }),
    table('customers', { estimated_rows: 1_000, relations: 2 }),
  ];
  expect(tablesToStartWith(tables, 3).map(({ name }) => name)).toEqual(['orders', 'customers', 'a_log']);
  expect(tablesToStartWith(tables, 9).at(-1)?.name).toBe('all_orders');
});
