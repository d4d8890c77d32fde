import { expect, test } from 'bun:test';
import { nearest } from '#ui/src/components/form/nearest.ts';

const NAMES = Array.from({ length: 10_000 }, (_, n) => `find_orders_${n}`);
const near = (typed: string, most: number, all: readonly string[] = NAMES) => nearest(all, (name) => name, typed, most);

test('of many suggestions only the nearest are drawn', () => {
  expect(near('', 3)).toEqual(NAMES.slice(0, 3));
  expect(near('ORDERS_9999', 50)).toEqual(['find_orders_9999']);
  expect(near('orders_99', 50)).toHaveLength(50);
  expect(near('nothing', 50)).toEqual([]);
  expect(near('9999 orders', 50)).toEqual(['find_orders_9999']);
  // What begins with it comes first, wherever it stands.
  expect(near('or', 2, ['stores', 'florists', 'orders', 'Oregon'])).toEqual(['orders', 'Oregon']);
  expect(near('or', 4, ['stores', 'florists', 'orders'])).toEqual(['orders', 'stores', 'florists']);
});
