import { expect, test } from 'bun:test';
import { createSimilarityIndex, type Similar, SIMILAR_FROM, gramsOf } from '#core/definitions/lint/likeness.ts';
import { fc } from '#test/support/chance.ts';
import { processorMs } from '#test/support/processor-time.ts';

interface Text {
  readonly name: string;
  readonly grams: Uint32Array;
}
const WORDS = 'orders customers of the by newest first with totals region sum list find each product status 1 12 124 1234'.split(
  ' ',
);
const text = fc.array(fc.constantFrom(...WORDS), { minLength: 0, maxLength: 14 }).map((words) => words.join(' '));
const turn = async () => undefined;

/** Jaccard. */
function alike(one: Uint32Array, other: Uint32Array): number {
  const all = new Set([...one, ...other]);
  return all.size === 0 ? 0 : (one.length + other.length - all.size) / all.size;
}
/** The same by comparing with each of them. */
function compared(texts: readonly Text[], { name, grams }: Text): Similar<Text> | null {
  for (const other of texts.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    const share = alike(grams, other.grams);
    if (other.name !== name && share >= SIMILAR_FROM) return { other, share };
  }
  return null;
}

test('texts are compared by their letters', () => {
  expect(alike(gramsOf('Orders, newest first.'), gramsOf('orders newest  FIRST'))).toBe(1);
  expect(alike(gramsOf('orders'), gramsOf('customers'))).toBeLessThan(SIMILAR_FROM);
});

test('the first text that is like another is found, whatever came and went before', async () => {
  const step = fc.array(fc.tuple(fc.integer({ min: 0, max: 30 }), fc.option(text, { nil: null })), { maxLength: 15 });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 6 }), text, async (steps, draft) => {
      const likeness = createSimilarityIndex<Text>();
      const now = new Map<string, Text>();
      for (const changes of steps) {
        const [removed, added] = [new Set<Text>(), new Map<string, Text>()];
        for (const [n, words] of changes) {
          const name = `t${n}`;
          const known = now.get(name);
          if (known !== undefined) removed.add(known);
          added.delete(name);
          if (words !== null) added.set(name, { name, grams: gramsOf(words) });
        }
        for (const { name } of removed) now.delete(name);
        for (const one of added.values()) now.set(one.name, one);
        await likeness.move([...removed], [...added.values()], turn);
        const texts = [...now.values()];
        for (const one of texts) expect(likeness.likeOf(one)).toEqual(compared(texts, one));
        const asked = { name: 't7', grams: gramsOf(draft) };
        expect(likeness.likeAny(asked.grams, ({ name }) => name === 't7')).toEqual(compared(texts, asked));
      }
    }),
  );
});

test('a text that comes or goes among many costs about as much as it says, also when all are alike', async () => {
  for (const make of [
    (n: number) => `Rows of the table number ${n}`,
    () => 'The same text for all of them',
    (n: number) => `${n * 7_919} ${n * 104_729} ${n * 1_299_709}`,
  ]) {
    let read = 0;
    const counted = (n: number): Text => ({
      name: `t${String(n).padStart(5, '0')}`,
      get grams() {
        read++;
        return gramsOf(make(n));
      },
    });
    const likeness = createSimilarityIndex<Text>();
    const all = Array.from({ length: 2_000 }, (_, n) => counted(n));
    await likeness.move([], all, turn);
    expect(read).toBeLessThanOrEqual(2 * 2_000);
    read = 0;
    const began = processorMs();
    await likeness.move(all.slice(0, 1), [counted(3_000)], turn);
    expect(read).toBe(1);
    // All of them anew take many times as long.
    expect(processorMs() - began).toBeLessThan(250);
  }
});

test('texts that differ in a number only cost about as much each, however many there are', async () => {
  const costOf = async (count: number): Promise<number> => {
    const texts = Array.from({ length: count }, (_, n) => ({ name: `t${n}`, grams: gramsOf(`Products of shelf ${n}`) }));
    const began = processorMs();
    await createSimilarityIndex<Text>().move([], texts, turn);
    return processorMs() - began;
  };
  await costOf(1_000);
  // The least of three: a collection of garbage may fall into one of them.
  const leastOf = async (count: number) => Math.min(await costOf(count), await costOf(count), await costOf(count));
  const [few, many] = [await leastOf(2_000), await leastOf(8_000)];
  // Four times as many; compared with each other they would take sixteen times as long.
  expect(many).toBeLessThan(10 * few);
});
