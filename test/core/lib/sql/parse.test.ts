import { describe, expect, test } from 'bun:test';
import { fc } from '#test/support/chance.ts';
import { type DeclaredParameter, unusedParameters } from '#core/lib/sql/parse.ts';
import type { SqlNode } from '#core/lib/sql/statement.ts';
import { AppError } from '#core/errors.ts';
import { parameterNames, parseSql, type Dialect } from '#test/support/sql.ts';
import { processorMs } from '#test/support/processor-time.ts';

const PARAMETERS: readonly DeclaredParameter[] = [
  { name: 'a', type: 'integer' },
  { name: 'b', type: 'string' },
  { name: 'ids', type: 'array', items: 'uuid' },
];
const DIALECTS: readonly Dialect[] = ['postgresql', 'mysql', 'sqlite'];
const nodes = (sql: string, dialect: Dialect = 'postgresql'): readonly SqlNode[] => parseSql(sql, dialect, PARAMETERS).nodes;

function refusal(sql: string, dialect: Dialect = 'postgresql'): AppError {
  try {
    parseSql(sql, dialect, PARAMETERS);
  } catch (error) {
    if (error instanceof AppError) return error;
    throw error;
  }
  throw new Error(`not refused: ${sql}`);
}

describe('nodes', () => {
  test('a parameter is a node and the text around it stays as it stands', () => {
    expect(parseSql('select :a, :b, :a', 'mysql', PARAMETERS)).toEqual({
      dialect: 'mysql',
      nodes: ['select ', { name: 'a' }, ', ', { name: 'b' }, ', ', { name: 'a' }],
      names: ['a', 'b'],
      types: { a: 'integer', b: 'string' },
    });
  });
  test('an array parameter has the type of its items', () => {
    expect(parseSql('select :ids', 'postgresql', PARAMETERS).types).toEqual({ ids: { array: 'uuid' } });
  });
  test('IN around an array parameter is one node, whatever space and comments are within', () => {
    expect(nodes('x in (:ids)')).toEqual(['x ', { name: 'ids', in: 'in' }]);
    expect(nodes('x NOT /* all */ IN\n( :ids ) and 1')).toEqual(['x ', { name: 'ids', in: 'not_in' }, ' and 1']);
    expect(nodes('"x"in(:ids)', 'sqlite')).toEqual(['"x"', { name: 'ids', in: 'in' }]);
  });
  test('anything else around an array parameter is plain', () => {
    for (const sql of ['x = any(:ids)', 'x in (:ids, 1)', 'x in ((:ids))', 'f(:ids)', 'x in :ids']) {
      expect(nodes(sql)).toContainEqual({ name: 'ids' });
    }
    expect(nodes('x in (:a)')).toEqual(['x in (', { name: 'a' }, ')']);
  });
  test('a block holds its nodes and the names it needs', () => {
    expect(nodes('w [[ and a = :a or :b ]] o')).toEqual([
      'w ',
      { block: [' and a = ', { name: 'a' }, ' or ', { name: 'b' }, ' '], names: ['a', 'b'] },
      ' o',
    ]);
    expect(nodes('w [[and x in (:ids)]]', 'mysql')).toEqual([
      'w ',
      { block: ['and x ', { name: 'ids', in: 'in' }], names: ['ids'] },
    ]);
  });
  test('brackets within a block end before it does', () => {
    expect(nodes('w [[ and a[1] = any(array[:a]) and b[b[:a]]]]')).toEqual([
      'w ',
      { block: [' and a[1] = any(array[', { name: 'a' }, ']) and b[b[', { name: 'a' }, ']]'], names: ['a'] },
    ]);
  });
  test('double brackets that are an array or a subscript are plain SQL', () => {
    for (const sql of [
      'array[[1,2],[3,4]]',
      'array[[1,2],[3,:a]]',
      'ARRAY [[1,2],[:a,4]]',
      'array[[[1],[:a]],[[3],[4]]]',
      'x[[:a]]',
      '"x"[[:a]]',
      '[[1]]',
      '[[1,2],[3,4]]',
      '[[[1],[2]],[[3]]]',
      '[[1],[:a]]',
      'f([[1,2],[3]], [[4], [5]])',
    ]) {
      expect(nodes(sql).every((node) => typeof node === 'string' || 'name' in node)).toBe(true);
    }
  });
  test('a block may hold lists of lists', () => {
    expect(nodes('w [[ and a in ([[1,2],[3]]) and b = :b ]]')).toEqual([
      'w ',
      { block: [' and a in ([[1,2],[3]]) and b = ', { name: 'b' }, ' '], names: ['b'] },
    ]);
  });
  test('a keyword directly before a block is no name', () => {
    expect(nodes('select 1 where[[ a = :a ]]')[1]).toMatchObject({ names: ['a'] });
  });
  test('a parameter may have any name that an object already knows', () => {
    const parameters = ['__proto__', 'constructor'].map((name) => ({ name, type: 'integer' as const }));
    const { names, types } = parseSql('select :constructor, :__proto__', 'sqlite', parameters);
    expect(names).toEqual(['constructor', '__proto__']);
    expect(Object.keys(types).sort()).toEqual(['__proto__', 'constructor']);
  });
  test('one closing semicolon, space and comments are allowed and not sent', () => {
    for (const dialect of DIALECTS) expect(nodes('/* a */ select 1 ; -- b\n /* ; */', dialect)).toEqual(['/* a */ select 1 ']);
  });
});

describe('refusals', () => {
  const cases: readonly (readonly [string, number, RegExp])[] = [
    ['', 0, /no statement/],
    [' -- a', 0, /no statement/],
    [';', 0, /no statement/],
    ['select 1; select 2', 10, /exactly one/],
    ['select 1;;', 9, /exactly one/],
    ['commit; drop table t', 8, /exactly one/],
    ['select :x, :a, :y', 7, /uses :x, :y, which are not declared/],
    ['select :x', 7, /uses :x, which is not declared/],
    ['select (1', 7, /does not close/],
    ['select 1)', 8, /closes a bracket/],
    ['select [[ (:a ]] )', 14, /closes a bracket/],
    ['select [[ :a', 7, /does not close/],
    ['select [[ :a [[ :b ]] ]]', 13, /cannot be nested/],
  ];
  for (const dialect of DIALECTS) {
    for (const [sql, position, message] of cases) {
      test(`${dialect}: ${JSON.stringify(sql)}`, () => {
        const error = refusal(sql, dialect);
        expect(error).toMatchObject({ code: 'invalid', status: 422, position });
        expect(error.detail).toMatch(message);
        expect(error.errors[0]).toEqual({ field: 'sql_query', message: error.detail });
      });
    }
  }
  test('a driver placeholder is refused with the way to write it', () => {
    const forms: readonly (readonly [Dialect, string])[] = [
      ['postgresql', 'select $1'],
      ['postgresql', 'select * from t where a = ?'],
      ['postgresql', 'select f(?)'],
      ['postgresql', 'select f(?, 1)'],
      ['mysql', 'select ?'],
      ['sqlite', 'select ?'],
      ['sqlite', 'select ?1'],
      ['sqlite', 'select $a'],
      ['sqlite', 'select @a'],
      ['sqlite', 'select :1'],
    ];
    for (const [dialect, sql] of forms) expect(refusal(sql, dialect).detail).toMatch(/write each parameter as :name/);
    expect(nodes("select '{}'::jsonb ? 'a'")).toHaveLength(1);
  });
  test('executable comments of MySQL are refused, to the others they are comments', () => {
    for (const sql of ['/*! select */ 1', 'select 1 /*M! , 2 */', '/*!99999 :a */ select 1']) {
      expect(refusal(sql, 'mysql').detail).toMatch(/executes/);
      expect(nodes(`${sql} select 2`, 'postgresql')).toHaveLength(1);
    }
  });
  test('a block without a parameter is no SQL to SQLite', () => {
    expect(refusal('select [[a]]', 'sqlite').detail).toMatch(/needs a :parameter/);
  });
  test('depth is bounded', () => {
    expect(refusal(`select ${'('.repeat(300)}1${')'.repeat(300)}`).detail).toMatch(/deeper than 200/);
  });
});

test('names are found without a declaration, and unused ones are named', () => {
  expect(parameterNames("select :b, ':c', :a::int, :b", 'postgresql')).toEqual(['b', 'a']);
  expect(unusedParameters(parseSql('select :a', 'sqlite', PARAMETERS), PARAMETERS)).toEqual(['b', 'ids']);
});

test('what holds no parameter comes out as it went in, and nothing but an AppError is thrown', () => {
  const fragment = fc.constantFrom(
    "'a'",
    '"b"',
    '(',
    ')',
    '[',
    ']',
    '[[',
    ']]',
    'array',
    ' ',
    '\n',
    '-- c\n',
    '/* d */',
    'in',
    'not',
    ':a',
    ':ids',
    '1',
    ',',
  );
  fc.assert(
    fc.property(fc.array(fragment, { maxLength: 25 }), fc.constantFrom(...DIALECTS), (parts, dialect) => {
      const sql = parts.join('');
      try {
        const statement = parseSql(sql, dialect, PARAMETERS);
        if (statement.names.length === 0) expect(statement.nodes.map(String).join('')).toBe(sql);
        expect(statement.names).toEqual(parameterNames(sql, dialect));
      } catch (error) {
        if (!(error instanceof AppError)) throw error;
      }
    }),
    { numRuns: 5_000 },
  );
});

test('a hundred thousand characters parse in linear time', () => {
  for (const piece of ['[[ and a = :a ]]', '(:a) ', 'x in (:ids) ', 'array[[1]] ', '-- a\n']) {
    const started = processorMs();
    parseSql(`select ${piece.repeat(Math.floor(99_000 / piece.length))} 1`, 'postgresql', PARAMETERS);
    expect(processorMs() - started).toBeLessThan(8_000);
  }
});
