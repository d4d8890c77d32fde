import { describe, expect, test } from 'bun:test';
import { checksOf, choicesOf } from '#core/engines/shared/choices.ts';
import { processorMs } from '#test/support/processor-time.ts';

describe('the values that a check lists', () => {
  test.each([
    ["status in ('open', 'it''s')", ['open', "it's"]],
    ["CHECK ((status = ANY (ARRAY['open'::text, 'shut'::character varying])))", ['open', 'shut']],
    ["CHECK (((status)::text = ANY ((ARRAY['a'::character varying(5), 'b'::character varying])::text[])))", ['a', 'b']],
    ['(`status` in (1,2,-3.5))', [1, 2, -3.5]],
    ["(`status` in (_utf8mb4\\'a\\',_utf8mb4\\'b\\'))", ['a', 'b']],
    ["status in ('a') and other > 1", null],
    ["other in ('a')", null],
  ])('%s', (check, choices) => expect(choicesOf([check], 'status')).toEqual(choices));

  test('are found in a table whose texts and comments hold brackets and quotes', () => {
    const create = `create table t ( -- it's (one
      a text default 'check (' check ( a in ('x)', 'y') ), /* ( */ "b)" text, "check" int, check("b)" in (1, (2))))`;
    expect(checksOf(create)).toEqual([" a in ('x)', 'y') ", '"b)" in (1, (2))']);
  });
});

test('texts of any database are read in time linear in their length', () => {
  const many = 200_000;
  const spaces = ' '.repeat(many);
  const started = processorMs();
  for (const text of ['check(', "'check(", '/*check(', 'check ']) checksOf(text.repeat(many));
  for (const check of [
    `${spaces}x`,
    `(${spaces}(status${spaces}x`,
    `status${')'.repeat(many)}${spaces}`,
    `status::${'a '.repeat(many)}${spaces}`,
    `status in ('a'::${'b '.repeat(many)}${spaces}`,
    `status in ('a')::${spaces}${'a '.repeat(many)}!`,
  ]) {
    expect(choicesOf([check], 'status')).toBe(null);
  }
  expect(processorMs() - started).toBeLessThan(2_000);
});
