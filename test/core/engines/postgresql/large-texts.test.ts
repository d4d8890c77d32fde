import { expect, test } from 'bun:test';
import { createLargeTexts } from '#core/engines/postgresql/plan.ts';

test('texts that flooded once are remembered up to a limit', () => {
  const large = createLargeTexts(2);
  for (const text of ['select 1', 'select 2', 'select 3']) large.add(text);
  expect(['select 1', 'select 2', 'select 3'].map((text) => large.has(text))).toEqual([true, true, false]);
});
