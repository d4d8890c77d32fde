import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { ScalarType } from '#core/contract/definitions/parameters.ts';
import type { Json } from '#core/lib/sql/result.ts';
import { EVERY_ENGINE, type OpenEngine } from '../shared/every-engine.ts';
import { toolOn } from '../shared/tool-call.ts';

const CASES: readonly (readonly [expression: string, type: ScalarType, value: Json, back: Json])[] = [
  ['(select count(*) from range(:v))', 'integer', 3, 3],
  ["'n' || :v", 'integer', 3, 'n3'],
  ['7 / :v', 'integer', 2, 3.5],
  ['7 // :v', 'integer', 2, 3],
  ['year(:v)', 'date', '2026-01-05', 2026],
  ["(select id from t where due + :v = date '2026-01-06')", 'integer', 1, 1],
  ["lpad('x', :v, '*')", 'integer', 3, '**x'],
  ['round(2.555, :v)', 'integer', 1, '2.6'],
  ['(select id from t where r = :v)', 'number', 0.1, 1],
  ['(select id from t where d = :v)', 'number', 0.1, 1],
  ['(select id from t where ts = :v)', 'datetime', '2026-01-05T12:00:00+02:00', 1],
  ['(select id from t where :v is null or due = :v)', 'date', '2026-01-05', 1],
  ['(select max(id) from t where :v is null or due = :v)', 'date', null, 2],
  ['(select count(*) from (select date_trunc(:v, ts) as x from t group by date_trunc(:v, ts)))', 'string', 'day', 2],
  ['greatest(:v, 9)', 'integer', 10, 10],
  ["(select 'infinity'::date)", 'string', 'x', 'infinity'],
  ["[:v::date, '-infinity'::date]", 'string', 'infinity', ['infinity', '-infinity']],
  ['typeof(:v)', 'json', { a: 1 }, 'JSON'],
  ['coalesce(:v, 5)', 'integer', null, 5],
  ['case when true then :v else 0 end', 'number', 2.5, 2.5],
];

describe('a parameter of DuckDB is its value cast to the declared type', () => {
  let engine: OpenEngine | undefined;
  beforeAll(async () => {
    engine = await EVERY_ENGINE.find(({ kind }) => kind === 'duckdb')?.open([
      'create table t (id int, due date, r real, d double, ts timestamp)',
      "insert into t values (1, '2026-01-05', 0.1, 0.1, '2026-01-05 10:00:00'), (2, null, null, null, null)",
    ]);
  });
  afterAll(() => engine?.close());

  test.each(CASES)('%s, a %s', async (expression, type, value, back) => {
    if (engine === undefined) throw new Error('There is no DuckDB.');
    const parameter = { name: 'v', type, description: '', required: false };
    const tool = await toolOn(engine, `select ${expression} as back`, [parameter], { return_type: 'value' });
    expect(await tool.call({ v: value })).toEqual({ value: back });
  });
});
