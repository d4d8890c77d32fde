import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { ScalarType } from '#core/contract/definitions/parameters.ts';
import type { Json } from '#core/lib/sql/result.ts';
import { EVERY_ENGINE, type OpenEngine } from '../shared/every-engine.ts';
import { toolOn } from '../shared/tool-call.ts';

const CLICKHOUSE = EVERY_ENGINE.find(({ kind }) => kind === 'clickhouse');

/** Functions that take no type which may be null. */
const CASES: readonly (readonly [expression: string, type: ScalarType, value: Json, back: Json])[] = [
  ['(select count() from numbers(:v))', 'integer', 3, 3],
  ["toString(date_trunc(:v, toDateTime('2026-01-05 10:20:30', 'UTC')))", 'string', 'hour', '2026-01-05 10:00:00'],
  ['JSONExtractInt(\'{"k": 5}\', :v)', 'string', 'k', 5],
  ["repeat('a', :v)", 'integer', 3, 'aaa'],
  ['(select max(x) from (select lagInFrame(number, :v) over (order by number) as x from numbers(5)))', 'integer', 1, 3],
  ['toYear(:v)', 'date', '2026-01-05', 2026],
  ['round(2.345, :v)', 'integer', 1, 2.3],
];

describe.skipIf(CLICKHOUSE?.up !== true)('a parameter of ClickHouse that always has a value', () => {
  let engine: OpenEngine | undefined;
  beforeAll(async () => {
    engine = await CLICKHOUSE?.open([]);
  }, 60_000);
  afterAll(() => engine?.close());

  test.each(CASES)('%s, a %s', async (expression, type, value, back) => {
    if (engine === undefined) throw new Error('There is no ClickHouse.');
    const parameter = { name: 'v', type, description: '', required: true };
    const tool = await toolOn(engine, `select ${expression} as back`, [parameter], { return_type: 'value' });
    expect(await tool.call({ v: value })).toEqual({ value: back });
  });
});
