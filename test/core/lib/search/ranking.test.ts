import { describe, expect, test } from 'bun:test';
import { createRanking, overlapOf, type Ranking, termsOf } from '#core/lib/search/ranking.ts';
import { stemOf, wordsOf } from '#core/lib/search/words.ts';
import { fc } from '#test/support/chance.ts';
import { processorMs } from '#test/support/processor-time.ts';

const byName = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
const texts = (text: string) => termsOf([{ text, weight: 1 }]);
const rankingOf = (entries: Readonly<Record<string, string>>): Ranking<string> => {
  const ranking = createRanking<string>();
  for (const [name, text] of Object.entries(entries)) {
    ranking.add(
      name,
      termsOf([
        { text: name, weight: 3 },
        { text, weight: 1 },
      ]),
    );
  }
  return ranking;
};

describe('words', () => {
  test('are split at signs, case and underscores, without stop words', () => {
    const words = wordsOf('Which of the find_orders-perCustomer2Id do I need?').map(({ text }) => text);
    expect(words).toEqual(['find', 'orders', 'per', 'customer2', 'id']);
    expect(wordsOf('  ')).toEqual([]);
    expect(wordsOf('Straße naïve 注文').map(({ text }) => text)).toEqual(['straße', 'naïve', '注文']);
  });

  test.each([
    ['orders', 'order'],
    ['queries', 'query'],
    ['created', 'creating'],
    ['creates', 'create'],
    ['shipped', 'shipping'],
    ['addresses', 'address'],
    ['categories', 'category'],
    ['boxes', 'box'],
  ])('%s and %s have one stem', (a, b) => {
    expect(stemOf(a)).toBe(stemOf(b));
  });

  test.each([
    ['status', 'state'],
    ['order', 'border'],
    ['new', 'news_item'],
  ])('%s and %s do not', (a, b) => {
    expect(stemOf(a)).not.toBe(stemOf(b));
  });

  test('of any text have stems, and a stem is found again', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        for (const word of wordsOf(text)) {
          expect(word.stem.length).toBeGreaterThan(0);
          expect(word.text).toBe(word.text.toLowerCase());
          expect(stemOf(word.text)).toBe(word.stem);
        }
      }),
    );
  });
});

describe('a ranking', () => {
  test('puts the text first that says most of the question, and names what it matched', () => {
    const ranking = rankingOf({
      find_orders: 'Orders of one customer, newest first',
      list_products: 'Products with their price and stock',
      order_totals: 'Revenue per month',
    });
    const ranked = ranking.rank('Which orders did this customer place?', byName);
    expect(ranked.map(({ found }) => found)).toEqual(['find_orders', 'order_totals']);
    expect(ranked[0]?.matched).toEqual(['customer', 'orders']);
    expect(ranking.rank('the of and', byName)).toEqual([]);
    expect(ranking.rank('weather', byName)).toEqual([]);
  });

  test('asks only those that are wanted', () => {
    const ranking = rankingOf({ a_orders: 'x', b_orders: 'x' });
    expect(ranking.rank('orders', byName, (name) => name !== 'a_orders').map(({ found }) => found)).toEqual(['b_orders']);
  });

  const WORDS = 'orders customer product price month revenue stock region refund invoice'.split(' ');
  const text = fc.array(fc.constantFrom(...WORDS), { maxLength: 12 }).map((words) => words.join(' '));
  const named = fc.dictionary(fc.constantFrom(...Array.from('abcdefgh')), text);

  test('depends on what is in it alone, whatever entered and left before, and in any order', () => {
    fc.assert(
      fc.property(named, named, text, (gone, kept, question) => {
        const walked = createRanking<string>();
        for (const [name, words] of Object.entries(gone)) walked.add(`gone_${name}`, texts(words));
        for (const [name, words] of Object.entries(kept).toReversed()) walked.add(name, texts(`${words} ${words}`));
        for (const [name, words] of Object.entries(kept)) walked.add(name, texts(words));
        for (const name of Object.keys(gone)) walked.remove(`gone_${name}`);
        const fresh = createRanking<string>();
        for (const [name, words] of Object.entries(kept)) fresh.add(name, texts(words));
        expect(walked.size()).toBe(fresh.size());
        expect(walked.rank(question, byName)).toEqual(fresh.rank(question, byName));
      }),
    );
  });

  test('finds exactly the texts that share a stem, with positive scores in descending order', () => {
    fc.assert(
      fc.property(named, text, (entries, question) => {
        const ranking = createRanking<string>();
        for (const [name, words] of Object.entries(entries)) ranking.add(name, texts(words));
        const asked = new Set(wordsOf(question).map(({ stem }) => stem));
        const sharing = Object.entries(entries).filter(([, words]) => wordsOf(words).some(({ stem }) => asked.has(stem)));
        const ranked = ranking.rank(question, byName);
        expect(ranked.map(({ found }) => found).toSorted()).toEqual(sharing.map(([name]) => name).toSorted());
        for (const [n, { score, matched }] of ranked.entries()) {
          expect(score).toBeGreaterThan(0);
          expect(matched.length).toBeGreaterThan(0);
          expect(score).toBeLessThanOrEqual(ranked[n - 1]?.score ?? Infinity);
        }
      }),
    );
  });

  test('does not count the order of the words of a question, nor a word that is there twice', () => {
    fc.assert(
      fc.property(named, fc.array(fc.constantFrom(...WORDS), { minLength: 1 }), (entries, words) => {
        const ranking = rankingOf(entries);
        const once = ranking.rank(words.join(' '), byName);
        expect(ranking.rank([...words, ...words].toReversed().join(' '), byName)).toEqual(once);
      }),
    );
  });

  test('a text that says a word of the question once more does not fall behind one of the same length', () => {
    fc.assert(
      fc.property(fc.constantFrom(...WORDS), fc.integer({ min: 1, max: 6 }), (word, times) => {
        const filler = Array.from({ length: 8 - times }, () => 'zebra').join(' ');
        const more = `${Array.from({ length: times }, () => word).join(' ')} ${filler}`;
        const less = `${Array.from({ length: times - 1 }, () => word).join(' ')} ${filler} zebra`;
        const ranking = createRanking<string>();
        ranking.add('less', texts(less));
        ranking.add('more', texts(more));
        expect(ranking.rank(word, byName)[0]?.found).toBe('more');
      }),
    );
  });
});

test('an overlap is 1 for the same words, 0 for different ones, and the same both ways', () => {
  expect(overlapOf(texts('find orders'), texts('orders find find'))).toBe(1);
  expect(overlapOf(texts('orders'), texts('products'))).toBe(0);
  expect(overlapOf(texts(''), texts(''))).toBe(0);
  fc.assert(
    fc.property(fc.string(), fc.string(), (a, b) => {
      const share = overlapOf(texts(a), texts(b));
      expect(share).toBe(overlapOf(texts(b), texts(a)));
      expect(share).toBeWithin(0, 1.0001);
    }),
  );
});

test('ten thousand texts are ranked in a moment', () => {
  const ranking = createRanking<number>();
  for (let n = 0; n < 10_000; n++)
    ranking.add(n, texts(`tool ${n} reads table_${n % 97} of region ${n % 13} with orders and totals`));
  const since = processorMs();
  const ranked = ranking.rank('orders of region 7 in table_5', (a, b) => a - b);
  expect(ranked.length).toBe(10_000);
  expect(processorMs() - since).toBeLessThan(500);
});
