import { expect, test } from 'bun:test';
import { beginning, cut, shorten } from '#core/lib/text/shorten.ts';

test('names that begin alike are told apart in few characters', () => {
  expect(shorten('orders', 6)).toBe('orders');
  expect(shorten('orders_of', 6)).toBe('ord…of');
  const [month, year] = ['orders_of_the_last_month', 'orders_of_the_last_year'].map((name) => shorten(name, 16));
  expect([month, year]).toEqual(['orders_o…t_month', 'orders_o…st_year']);
  expect(month).toHaveLength(16);
});

test('no character is cut in half, wherever a text is cut', () => {
  const text = 'a🎉b🎉c🎉'.repeat(20);
  for (let most = 1; most < text.length; most++) {
    for (const short of [beginning(text, most), cut(text, most), shorten(text, most)]) {
      expect(short.isWellFormed()).toBe(true);
      expect(short.length).toBeGreaterThan(most - 3);
      expect(short.length).toBeLessThanOrEqual(most + 1);
    }
  }
  expect([beginning('🎉', 1), beginning('🎉', 2), beginning('🎉', 5)]).toEqual(['', '🎉', '🎉']);
});
