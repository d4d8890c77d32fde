import { describe, expect, test } from 'bun:test';
import { fc } from '#test/support/chance.ts';
import { type DeclaredParameter } from '#core/lib/sql/parse.ts';
import type { Statement } from '#core/lib/sql/statement.ts';
import type { Json } from '#core/lib/sql/result.ts';
import { bind, everyVariant, sourceOffset, variants, parseSql, type Dialect } from '#test/support/sql.ts';

const PARAMETERS: readonly DeclaredParameter[] = [
  { name: 'a', type: 'integer' },
  { name: 'b', type: 'string' },
  { name: 'c', type: 'boolean' },
  { name: 'ids', type: 'array', items: 'integer' },
  { name: 'constructor', type: 'string' },
];
const DIALECTS: readonly Dialect[] = ['postgresql', 'mysql', 'sqlite'];
const parse = (sql: string, dialect: Dialect): Statement => parseSql(sql, dialect, PARAMETERS);

describe('placeholders', () => {
  const cases: readonly (readonly [Dialect, string, string, readonly Json[]])[] = [
    ['postgresql', 'select :b, :a, :b', 'select $1, $2, $1', ['x', 1]],
    ['mysql', 'select :b, :a, :b', 'select ?, ?, ?', ['x', 1, 'x']],
    ['sqlite', 'select :b, :a, :b', 'select ?1, ?2, ?1', ['x', 1]],
    ['postgresql', 'limit:a', 'limit $1', [1]],
    ['mysql', 'limit:a', 'limit ?', [1]],
    ['postgresql', 'select :a::int', 'select $1::int', [1]],
    ['postgresql', 'x in (:ids) or y not in (:ids)', 'x = ANY($1) or y <> ALL($1)', [[5, 6, 7]]],
    ['mysql', 'x in (:ids) or y not in (:ids)', 'x IN (?, ?, ?, ?) or y NOT IN (?, ?, ?, ?)', [5, 6, 7, 7, 5, 6, 7, 7]],
    ['sqlite', 'x in (:ids) or y not in (:ids)', 'x IN (?, ?, ?, ?) or y NOT IN (?1, ?2, ?3, ?4)', [5, 6, 7, 7]],
    ['sqlite', 'x in (:ids) and y = json(:ids)', 'x IN (?, ?, ?, ?) and y = json(?5)', [5, 6, 7, 7, [5, 6, 7]]],
    ['postgresql', 'select :constructor', 'select $1', [null]],
    ['postgresql', 'select :c', 'select $1', [null]],
  ];
  for (const [dialect, sql, text, values] of cases) {
    test(`${dialect}: ${sql}`, () => {
      const bound = bind(parse(sql, dialect), { a: 1, b: 'x', ids: [5, 6, 7] });
      expect(bound).toMatchObject({ text, values });
      expect(bound.types).toHaveLength(values.length);
    });
  }
  test('types follow the placeholders', () => {
    const values = { ids: [1, 2] };
    expect(bind(parse('select :a, x in (:ids)', 'postgresql'), values).types).toEqual(['integer', { array: 'integer' }]);
    expect(bind(parse('select :a, x in (:ids)', 'mysql'), values).types).toEqual(['integer', 'integer', 'integer']);
  });
  test('a list of any length has a power of two of placeholders', () => {
    const statement = parse('x in (:ids)', 'mysql');
    const count = (length: number): number => bind(statement, { ids: Array.from({ length }, (_, i) => i) }).values.length;
    expect([1, 2, 3, 4, 5, 8, 9, 1_000].map(count)).toEqual([1, 2, 4, 4, 8, 8, 16, 1_024]);
  });
  test('an empty list is a subquery without a row, a list that is not given is NULL', () => {
    expect(bind(parse('x in (:ids)', 'mysql'), { ids: [] }).text).toBe('x IN (SELECT NULL FROM DUAL WHERE FALSE)');
    expect(bind(parse('x not in (:ids)', 'sqlite'), { ids: [] }).text).toBe('x NOT IN (SELECT NULL WHERE FALSE)');
    expect(bind(parse('x not in (:ids)', 'sqlite'), {}).text).toBe('x NOT IN (NULL)');
    expect(bind(parse('x in (:ids)', 'postgresql'), {})).toMatchObject({ text: 'x = ANY($1)', values: [null] });
  });
});

const tidy = (statement: Statement, values: Record<string, Json>): string =>
  bind(statement, values).text.replaceAll(/ +/g, ' ').trim();
const everyOf = (blocks: number) =>
  everyVariant(parse(Array.from({ length: blocks }, (_, i) => `[[ ${i} = :a ]]`).join(), 'sqlite'));

describe('blocks', () => {
  const statement = parse('select 1 where true[[ and a = :a]][[ and b = :b and c = :c]]', 'postgresql');
  test('a block needs every name in it, and numbers have no gap', () => {
    expect(tidy(statement, {})).toBe('select 1 where true');
    expect(tidy(statement, { a: 1 })).toBe('select 1 where true and a = $1');
    expect(tidy(statement, { b: 'x' })).toBe('select 1 where true');
    expect(tidy(statement, { b: 'x', c: true })).toBe('select 1 where true and b = $1 and c = $2');
    expect(tidy(statement, { a: null, b: 'x', c: true })).toBe('select 1 where true and a = $1 and b = $2 and c = $3');
  });
  test('no token grows together across the edge of a block', () => {
    for (const values of [{}, { a: 1 }]) {
      expect(bind(parse('sel[[ :a ]]ect -[[-:a]]', 'postgresql'), values).text).not.toMatch(/select|--/);
    }
  });
  test('variants are all, none and each alone', () => {
    expect(variants(statement).map(({ text }) => text.match(/[abc] =/g) ?? [])).toEqual([
      ['a =', 'b =', 'c ='],
      [],
      ['a ='],
      ['b =', 'c ='],
    ]);
    expect(variants(parse('x in (:ids)', 'mysql'))).toMatchObject([{ text: 'x IN (?)', values: [null], types: ['integer'] }]);
    expect(variants(parse('select 1', 'mysql'))).toHaveLength(1);
    expect(variants(parse('[[ :a ]]'.repeat(30), 'mysql'))).toHaveLength(20);
  });
  test('every combination is made of few blocks, and that they are too many is said', () => {
    expect(everyOf(4)).toMatchObject({ complete: true });
    expect(everyOf(4).variants).toHaveLength(16);
    expect(everyOf(9)).toMatchObject({ complete: false });
  });
});

test('an offset in any variant leads back to the same text in the SQL query', () => {
  const sql = "select 'é' as x, :a from t [[ where alpha = :b ]] [[ order by beta, :c ]] limit gamma";
  for (const dialect of DIALECTS) {
    const statement = parse(sql, dialect);
    for (const variant of variants(statement)) {
      for (const word of ['alpha', 'beta', 'gamma', 'from']) {
        const at = variant.text.indexOf(word);
        if (at >= 0) expect(sql.slice(sourceOffset(sql, statement, variant, at)).startsWith(word)).toBe(true);
      }
      const placeholder = variant.text.search(/\$1|\?/);
      expect(sourceOffset(sql, statement, variant, placeholder)).toBe(sql.indexOf(':a'));
      expect(sourceOffset(sql, statement, variant, variant.text.length)).toBe(sql.length);
    }
  }
});

const anyJson = fc.jsonValue() as fc.Arbitrary<Json>;
const anyText = fc.oneof(fc.string(), fc.constantFrom("'; drop table t; --", '$1', '?', ':a', ']]', '\\', '/*'));

test('no value changes the text: it depends on what is given and on the lengths of lists alone', () => {
  const sql = "select :a, ':a' from t where x in (:ids) [[ and b = :b ]] [[ and c = :c and y not in (:ids) ]] limit:a";
  fc.assert(
    fc.property(
      fc.constantFrom(...DIALECTS),
      fc.record({ a: fc.boolean(), b: fc.boolean(), c: fc.boolean(), length: fc.nat(9) }),
      fc.tuple(
        fc.tuple(anyJson, anyText, fc.array(anyText, { minLength: 9, maxLength: 9 })),
        fc.tuple(anyJson, anyText, fc.array(anyText, { minLength: 9, maxLength: 9 })),
      ),
      (dialect, given, sets) => {
        const texts = sets.map(([json, text, list]) => {
          const values: Record<string, Json> = { ids: list.slice(0, given.length) };
          if (given.a) values['a'] = json;
          if (given.b) values['b'] = text;
          if (given.c) values['c'] = text;
          // A fresh statement and the memo of a shared one must agree.
          const bound = bind(parse(sql, dialect), values);
          const highest = dialect === 'mysql' ? (bound.text.match(/\?/g) ?? []).length : bound.values.length;
          expect(highest).toBe(bound.values.length);
          expect(bound.types).toHaveLength(bound.values.length);
          for (const name of given.a ? ['a'] : []) expect(bound.values).toContainEqual(values[name]!);
          return bound.text;
        });
        expect(texts[0]).toBe(texts[1]);
      },
    ),
    { numRuns: 500 },
  );
});

test('the memo of a statement is bounded and changes nothing', () => {
  const sql = Array.from({ length: 8 }, (_, i) => `[[ ${i} = :p${i} ]]`).join(' ');
  const parameters = Array.from({ length: 8 }, (_, i) => ({ name: `p${i}`, type: 'integer' as const }));
  const shared = parseSql(sql, 'postgresql', parameters);
  for (let round = 0; round < 2; round++) {
    for (let mask = 0; mask < 256; mask++) {
      const values = Object.fromEntries(parameters.flatMap(({ name }, i) => (mask & (1 << i) ? [[name, i]] : [])));
      expect(bind(shared, values)).toEqual(bind(parseSql(sql, 'postgresql', parameters), values));
    }
  }
});
