import { expect, test } from 'bun:test';
import { countWords, foundIn } from './count.ts';

/** They only go down. Nearly all that is left are names on the wire, and names of the interface. */
const MOST = { comment: 2, name: 314 };

test('comments and names hold few words that are no terms of the field', () => {
  const found = countWords();
  const sums = { comment: 0, name: 0 };
  for (const { kind } of found) sums[kind]++;
  process.stdout.write(`Words that are no terms of the field: ${sums.comment} lines of comments, ${sums.name} names.\n`);
  expect({ comments: sums.comment <= MOST.comment, names: sums.name <= MOST.name }).toEqual({ comments: true, names: true });
});

test('words are counted in comments and names, not in texts or parts of other words', () => {
  const source = `/** What was asked. */
const kept_ms = 1; // nobody
const text = 'told // said'; const showPlace = Object.hasOwn(basket, 'own');
const replaced = tasked;`;
  expect(foundIn('one.ts', source).map(({ line, kind, text }) => [line, kind, text])).toEqual([
    [1, 'comment', '/** What was asked. */'],
    [2, 'name', 'kept_ms'],
    [2, 'comment', '// nobody'],
    [3, 'name', 'showPlace'],
  ]);
});
