import { expect, test } from 'bun:test';
import { dialectNamed } from '#core/engines/index.ts';
import { isOrdered } from '#core/lib/sql/statement-tokens.ts';
import { parseSql } from '#test/support/sql.ts';

test.each([
  ['select id from t order by id', true],
  ['SELECT id FROM t WHERE a = :a ORDER /* by name */ BY name LIMIT 5', true],
  ['select id from t [[where a = :a]] [[order by :a]]', true],
  ['select a from t union select b from u order by 1', true],
  ['select id from t', false],
  ['select row_number() over (order by id) as n from t', false],
  ['select * from (select id from t order by id limit 3) as s', false],
  ["select 'order by' as text from t", false],
  ['select id from t -- order by id', false],
  ['select "order" as by from t', false],
])('%s: %p', (sql, expected) => {
  expect(isOrdered(parseSql(sql, 'sqlite', [{ name: 'a', type: 'string' }]), dialectNamed('sqlite'))).toBe(expected);
});
