import { expect, test } from 'bun:test';
import { ALIKE, alike, gramsOf, likeEach, likeOne } from '#core/definitions/lint/similar.ts';
import { fc } from '#test/support/chance.ts';

const WORDS = 'orders customers of the by newest first with totals region sum list find each product status'.split(' ');
const text = fc.array(fc.constantFrom(...WORDS), { minLength: 1, maxLength: 14 }).map((words) => words.join(' '));
const turn = async () => undefined;

test('texts are compared by their letters', () => {
  expect(alike(gramsOf('Orders, newest first.'), gramsOf('orders newest  FIRST'))).toBe(1);
  expect(alike(gramsOf('orders'), gramsOf('customers'))).toBeLessThan(ALIKE);
  expect(alike(gramsOf(''), gramsOf(''))).toBe(0);
  expect(likeOne(gramsOf(''), [{ grams: gramsOf('') }])).toBeNull();
});

test('whoever is like another text is found, whatever the other texts are', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(text, { maxLength: 40 }), async (texts) => {
      const all = texts.map((one, n) => ({ n, grams: gramsOf(one) }));
      const found = await likeEach(all, turn);
      for (const one of all) {
        const others = all.filter((other) => other !== one);
        expect(found.has(one)).toBe(likeOne(one.grams, others) !== null);
        const like = found.get(one);
        if (like !== undefined) expect(alike(one.grams, like.other.grams)).toBe(like.share);
      }
    }),
  );
});

test('many texts cost about as much as reading them, also when all are alike', async () => {
  let compared = 0;
  const counted = (grams: Uint32Array) => ({
    get grams() {
      compared++;
      return grams;
    },
  });
  for (const make of [
    (n: number) => `Rows of the table number ${n}`,
    () => 'The same text for all of them',
    (n: number) => `${n * 7_919} ${n * 104_729} ${n * 1_299_709}`,
  ]) {
    compared = 0;
    const all = Array.from({ length: 2_000 }, (_, n) => counted(gramsOf(make(n))));
    await likeEach(all, turn);
    expect(compared).toBeLessThan(2_000 * 1_010);
  }
});
