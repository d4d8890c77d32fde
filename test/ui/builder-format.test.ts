import { expect, test } from 'bun:test';
import { fc } from '#test/support/chance.ts';
import { formatSql, loadFormatter } from '#ui/src/features/builder/sql/format.ts';
import { type Dialect, optionalBlocks, parameterNames, scanSql } from '#ui/src/features/builder/sql/scan.ts';

const format = await loadFormatter();
const tidy = (sql: string, dialect: Dialect = 'postgresql') => formatSql(sql, dialect, format);

test('a statement is laid out, a clause a line', () => {
  expect(tidy('select id, name from products where price <= :max_price order by id')?.split('\n')).toEqual([
    'select',
    '  id,',
    '  name',
    'from',
    '  products',
    'where',
    '  price <= :max_price',
    'order by',
    '  id',
  ]);
});

test('optional blocks stay whole, each on a line of its own', () => {
  const sql = 'select * from orders where total > :least [[ and status in (:statuses) ]] [[ and day >= :since::date ]] limit 10';
  const result = tidy(sql) ?? '';
  expect(result).toContain('\n  [[ and status in (:statuses) ]]\n  [[ and day >= :since::date ]]\n');
  expect(optionalBlocks(result, scanSql(result, 'postgresql')).map(({ names }) => names)).toEqual([['statuses'], ['since']]);
});

test('parameters, casts, strings, comments and arrays are kept in every grammar', () => {
  const statements: readonly (readonly [Dialect, string])[] = [
    [
      'postgresql',
      "select a::int, ':no  two', $$ :x $$, array[[1,2],[3,4]], b[1:2] from t -- why\nwhere c = :c /* and */ and d ? 'e'",
    ],
    ['mysql', 'select `a  b`, "x  y", c from t where d = :d and e regexp \'a  b\' # why\n limit 5'],
    ['sqlite', 'select [a  b], "c  d", e from t where f = :f [[ and g like :g ]]'],
  ];
  for (const [dialect, sql] of statements) {
    const result = tidy(sql, dialect);
    expect([sql, result]).toEqual([sql, expect.any(String)]);
    expect(parameterNames(result ?? '', dialect)).toEqual(parameterNames(sql, dialect));
    expect(result?.replaceAll(/\s/g, '')).toBe(sql.replaceAll(/\s/g, ''));
  }
});

test('what cannot be read stays as it is', () => {
  expect(tidy("select 'open")).toBeUndefined();
  expect(tidy('select (1')).toBeUndefined();
});

test('formatting twice changes nothing, and never anything but space', () => {
  const part = fc.constantFrom('a = :a', 'b in (:b)', "c like '%  x'", 'd between :from and :to', 'e is null', 'f::text = :f');
  const wrapped = fc.tuple(part, fc.boolean()).map(([text, optional]) => (optional ? `[[ and ${text} ]]` : `and ${text}`));
  fc.assert(
    fc.property(fc.array(wrapped, { maxLength: 5 }), (parts) => {
      const sql = `select a, count(*) from t where true ${parts.join(' ')} group by a`;
      const once = tidy(sql);
      expect(once?.replaceAll(/\s/g, '')).toBe(sql.replaceAll(/\s/g, ''));
      expect(tidy(once ?? '')).toBe(once);
    }),
    { numRuns: 50 },
  );
});
