import { expect, test } from 'bun:test';
import { shorten } from '#core/lib/text/shorten.ts';

test('names that begin alike are told apart in few characters', () => {
  expect(shorten('orders', 6)).toBe('orders');
  expect(shorten('orders_of', 6)).toBe('ord…of');
  const [month, year] = ['orders_of_the_last_month', 'orders_of_the_last_year'].map((name) => shorten(name, 16));
  expect([month, year]).toEqual(['orders_o…t_month', 'orders_o…st_year']);
  expect(month).toHaveLength(16);
});
