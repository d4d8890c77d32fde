import { describe, expect, test } from 'bun:test';
import type { Row } from '#core/lib/sql/result.ts';
import { type Answer, compare, unsteady } from '#mcp-host/replay/compare.ts';
import { fc } from '#test/support/chance.ts';

const answer = (rows: readonly Row[], more: Partial<Answer> = {}): Answer => ({
  columns: [...new Set(rows.flatMap((row) => Object.keys(row)))],
  rows,
  text: JSON.stringify(rows),
  truncated: false,
  ms: 1,
  ...more,
});
const said = (live: Answer, other: Answer, ordered = true) => compare(live, other, ordered).difference?.sentence ?? null;
const ROWS = [
  { id: 1, name: 'Ada', total: 10 },
  { id: 2, name: 'Bob', total: 20 },
  { id: 3, name: 'Cy', total: 30 },
];

describe('says what differs', () => {
  test.each<[string, readonly Row[], boolean, string | null]>([
    ['nothing', ROWS, true, null],
    [
      'a value',
      ROWS.map((row) => ({ ...row, total: row.total === 20 ? 21 : row.total })),
      true,
      '1 of 3 rows differs, in total.',
    ],
    ['fewer rows', ROWS.slice(1), true, 'The result has 2 rows instead of 3. 1 row of the live version is not among them.'],
    ['more rows', [...ROWS, { id: 4, name: 'Di', total: 40 }], false, 'The result has 4 rows instead of 3.'],
    [
      'none',
      [],
      true,
      'The column id is gone. The column name is gone. The column total is gone. The result has 0 rows instead of 3.',
    ],
    ['the order', ROWS.toReversed(), true, 'The same rows come in another order.'],
    ['an order that the statement leaves open', ROWS.toReversed(), false, null],
    ['a column', ROWS.map(({ id, name }) => ({ id, name })), true, 'The column total is gone.'],
    [
      'its name',
      ROWS.map(({ total, ...row }) => ({ ...row, sum: total })),
      true,
      'The column total is gone. The column sum is new.',
    ],
  ])('%s', (_, rows, ordered, sentence) => {
    expect(said(answer(ROWS), answer(rows), ordered)).toBe(sentence);
  });

  test('rows that are equal and written otherwise', () => {
    expect(said(answer(ROWS), answer(ROWS, { text: 'three customers' }))).toBe(
      'The rows are the same, but the answer is written in another way.',
    );
  });
});

test('rows that differ stand side by side, those that have most in common where the order is open', () => {
  const other = [ROWS[2], { id: 2, name: 'Bob', total: 21 }, ROWS[0]].map((row) => row as Row);
  expect(compare(answer(ROWS), answer(other), false).difference?.pairs).toEqual([
    { live: { id: 2, name: 'Bob', total: 20 }, other: { id: 2, name: 'Bob', total: 21 } },
  ]);
  const long = compare(answer([{ text: 'a'.repeat(500) }]), answer([{ text: 'b'.repeat(500) }]), true).difference?.pairs[0];
  expect(long?.live?.['text']).toBe(`${'a'.repeat(200)}…`);
});

test('what differs between two runs of the live version is left out', () => {
  const [first, second] = [1, 2].map((now) => answer(ROWS.map((row) => ({ ...row, now }))));
  const ignored = unsteady(first as Answer, second as Answer);
  expect([...ignored]).toEqual(['now']);
  const other = answer(ROWS.map((row) => ({ ...row, now: 3 })));
  expect(compare(first as Answer, other, true, ignored).difference).toBeNull();
});

const Value = fc.oneof(fc.constant(null), fc.integer(), fc.string(), fc.boolean());
const Rows = fc.array(fc.record({ id: fc.integer({ min: 0, max: 3 }), value: Value }), { maxLength: 8 });

test('an order that is left open never counts, and no sentence holds a value', () => {
  fc.assert(
    fc.property(Rows, fc.array(fc.nat(), { maxLength: 8 }), Rows, (rows, places, others) => {
      const live = answer(rows, { columns: ['id', 'value'] });
      const shuffled = rows.map((row, n) => [places[n] ?? 0, row] as const).toSorted(([a], [b]) => a - b);
      const same = answer(
        shuffled.map(([, row]) => row),
        { columns: ['id', 'value'] },
      );
      expect(compare(live, same, false).difference).toBeNull();
      const marked = (list: typeof rows) =>
        answer(
          list.map(({ id, value }) => ({ id, value: `canary-${String(value)}` })),
          { columns: ['id', 'value'] },
        );
      const { difference } = compare(marked(rows), marked(others), true);
      expect(difference?.sentence ?? '').not.toContain('canary');
      expect(difference === null).toBe(JSON.stringify(marked(rows).rows) === JSON.stringify(marked(others).rows));
    }),
  );
});
