import { describe, expect, test } from 'bun:test';
import { fc } from '#test/support/chance.ts';
import { AppError } from '#core/errors.ts';
import { type Dialect, tokenize } from '#test/support/sql.ts';
import { processorMs } from '#test/support/processor-time.ts';

const DIALECTS: readonly Dialect[] = ['postgresql', 'mysql', 'sqlite'];
/** Tokens without space, as `kind:text`. */
const split = (sql: string, dialect: Dialect): string[] =>
  tokenize(sql, dialect)
    .filter(({ kind }) => kind !== 'space')
    .map(({ kind, start, end }) => `${kind}:${sql.slice(start, end)}`);
const kinds = (sql: string, dialect: Dialect): string =>
  split(sql, dialect)
    .map((token) => token.split(':')[0])
    .join(' ');

describe('one token', () => {
  const whole: readonly (readonly [Dialect | 'all', string, string])[] = [
    ['all', 'string', "'it''s :a'"],
    ['all', 'string', "''''"],
    ['all', 'comment', "-- :a ; '"],
    ['all', 'comment', "/* :a ' */"],
    ['all', 'number', '1.5e-10'],
    ['all', 'number', '.5'],
    ['all', 'parameter', ':name_1'],
    ['all', 'word', 'größe'],
    ['postgresql', 'string', String.raw`E'a\':a'`],
    ['postgresql', 'string', "'a\\'"],
    ['postgresql', 'string', "E'a'\n  'b\\':a'"],
    ['postgresql', 'string', "E'a' -- note\n 'b\\':a'"],
    ['postgresql', 'string', "U&'d\\0061t'"],
    ['postgresql', 'identifier', 'U&"d\\0061"'],
    ['postgresql', 'identifier', '"a"":b"'],
    ['postgresql', 'string', "$$ it's :a $x$ $$"],
    ['postgresql', 'string', '$tag$ :a $$ $tag$'],
    ['postgresql', 'comment', '/* a /* :b */ c */'],
    ['postgresql', 'word', 'a$1'],
    ['postgresql', 'placeholder', '$12'],
    ['postgresql', 'operator', '::'],
    ['postgresql', 'operator', ':='],
    ['postgresql', 'operator', '->>'],
    ['postgresql', 'operator', '#>>'],
    ['postgresql', 'operator', '@>'],
    ['postgresql', 'operator', '?|'],
    ['postgresql', 'operator', '@?'],
    ['postgresql', 'number', '0x1F'],
    ['mysql', 'string', String.raw`'a\':a'`],
    ['mysql', 'string', String.raw`"a\":a"`],
    ['mysql', 'string', '"a"":a"'],
    ['mysql', 'identifier', '`a``:b`'],
    ['mysql', 'comment', '# :a'],
    ['mysql', 'comment', '# carriage \r return'],
    ['mysql', 'comment', '-- '],
    ['mysql', 'comment', '--'],
    ['mysql', 'executable', '/*!50000 :a */'],
    ['mysql', 'executable', '/*M!100100 :a */'],
    ['mysql', 'executable', '/*! :a */'],
    ['mysql', 'operator', ':='],
    ['mysql', 'operator', '<=>'],
    ['mysql', 'variable', '@a'],
    ['mysql', 'variable', '@@global.x'],
    ['mysql', 'placeholder', '?'],
    ['mysql', 'word', '1abc'],
    ['sqlite', 'string', "'a\\'"],
    ['sqlite', 'identifier', '[a :b "c]'],
    ['sqlite', 'identifier', '`a:b`'],
    ['sqlite', 'identifier', '"a:b"'],
    ['sqlite', 'placeholder', '?3'],
    ['sqlite', 'placeholder', '$a'],
    ['sqlite', 'placeholder', '@a'],
    ['sqlite', 'placeholder', ':1'],
    ['sqlite', 'operator', '->>'],
    ['sqlite', 'comment', '-- a \r :b'],
  ];
  for (const [where, kind, text] of whole) {
    for (const dialect of where === 'all' ? DIALECTS : [where]) {
      test(`${dialect} reads ${JSON.stringify(text)} as ${kind}`, () => {
        expect(split(text, dialect)).toEqual([`${kind}:${text}`]);
      });
    }
  }
});

describe('neighbours', () => {
  test('an operator of PostgreSQL ends where a comment begins', () => {
    expect(split('1 +-- a\n2', 'postgresql')).toEqual(['number:1', 'operator:+', 'comment:-- a', 'number:2']);
    expect(split('1 */* a */2', 'postgresql')).toEqual(['number:1', 'operator:*', 'comment:/* a */', 'number:2']);
  });
  test('two dashes without a space are arithmetic to MySQL', () => {
    expect(split('5--1', 'mysql')).toEqual(['number:5', 'operator:-', 'operator:-', 'number:1']);
    expect(split('5--:a', 'mysql').at(-1)).toBe('parameter::a');
  });
  test('a cast is no parameter', () => {
    expect(kinds('a::b, :c::d', 'postgresql')).toBe('word operator word punctuation parameter operator word');
  });
  test('the colon of a slice parts its bounds', () => {
    expect(split('a[1:n]', 'postgresql').slice(2)).toEqual(['number:1', 'operator::', 'word:n', 'punctuation:]']);
    expect(split('a[lo:hi]', 'postgresql').slice(2, 5)).toEqual(['word:lo', 'operator::', 'word:hi']);
    expect(split('a[f(x):hi]', 'postgresql').slice(-4)).toEqual(['punctuation:)', 'operator::', 'word:hi', 'punctuation:]']);
    expect(split("json_object('k':v)", 'postgresql').slice(-3)).toEqual(['operator::', 'word:v', 'punctuation:)']);
  });
  test('a parameter is found beside brackets, keywords and operators', () => {
    expect(split('a[:n]', 'postgresql')[2]).toBe('parameter::n');
    expect(split('[[ limit:n ]]', 'postgresql')[3]).toBe('parameter::n');
    expect(split('in(:a,:b)', 'postgresql').filter((token) => token.startsWith('parameter'))).toHaveLength(2);
    expect(split('a->:k', 'mysql').at(-1)).toBe('parameter::k');
    expect(split('a||:k', 'sqlite').at(-1)).toBe('parameter::k');
  });
  test('brackets that open a block are no name to SQLite', () => {
    expect(kinds('[[ and a = :a ]]', 'sqlite')).toBe(
      'punctuation punctuation word word operator parameter punctuation punctuation',
    );
    expect(kinds('t.[[a]', 'sqlite')).toBe('word punctuation punctuation punctuation word punctuation');
    expect(kinds('a[[b]', 'sqlite')).toBe('word identifier');
  });
});

describe('refusals', () => {
  const cases: readonly (readonly [Dialect | 'all', string, number, RegExp])[] = [
    ['all', "select 'a", 7, /not closed/],
    ['all', 'select "a', 7, /not closed/],
    ['all', 'select /* a', 7, /not closed/],
    ['postgresql', 'select $x$ $$', 7, /dollar/],
    ['postgresql', 'select /* /* */', 7, /not closed/],
    ['sqlite', 'select [a', 7, /brackets/],
    ['all', 'select \0', 7, /NUL/],
    ['all', 'select\u00a01', 6, /unusual space/],
    ['all', 'sel\u200bect 1', 3, /invisible/],
    ['all', '\ufeffselect 1', 0, /invisible/],
    ['all', 'select \u0001', 7, /invisible/],
    ['all', 'select :naïve', 7, /ASCII/],
    ['sqlite', 'select ::a', 7, /no :: for casts/],
    ['mysql', 'select : a', 7, /^The character : does not belong/],
    ['mysql', 'select a::text', 8, /CAST\(value AS type\)/],
  ];
  for (const [where, sql, position, message] of cases) {
    for (const dialect of where === 'all' ? DIALECTS : [where]) {
      test(`${dialect} refuses ${JSON.stringify(sql)} at its place`, () => {
        const found = caught(() => tokenize(sql, dialect));
        expect(found).toMatchObject({ code: 'invalid', position });
        expect(found?.detail).toMatch(message);
        expect(found?.errors[0]?.field).toBe('sql_query');
      });
    }
  }
});

function caught(run: () => unknown): AppError | undefined {
  try {
    run();
  } catch (error) {
    if (error instanceof AppError) return error;
    throw error;
  }
  return undefined;
}

const fragment = fc.constantFrom(
  "'",
  "''",
  '"',
  '`',
  '[',
  ']',
  '[[',
  ']]',
  '(',
  ')',
  '$$',
  '$a$',
  '--',
  '\n',
  '\r',
  '/*',
  '*/',
  '/*!',
  ':',
  '::',
  ':a',
  ':=',
  '?',
  '$1',
  '\\',
  'E',
  'U&',
  '@',
  '#',
  ';',
  ' ',
  'select',
  'in',
  'array',
  '1',
  '.',
  '-',
  '->>',
  'é',
  '\u00a0',
  '\0',
  '😀',
  '\ud800',
);

test('tokens cover any text without a gap, and nothing but an AppError is thrown', () => {
  fc.assert(
    fc.property(fc.array(fragment, { maxLength: 30 }), fc.constantFrom(...DIALECTS), (parts, dialect) => {
      const sql = parts.join('');
      caught(() => {
        let at = 0;
        for (const { start, end } of tokenize(sql, dialect)) {
          expect(start).toBe(at);
          expect(end).toBeGreaterThan(start);
          at = end;
        }
        expect(at).toBe(sql.length);
      });
    }),
    { numRuns: 3_000 },
  );
});

test('time grows with the length only, for every piece repeated', () => {
  const pieces = [
    "'",
    "''",
    '--',
    '/*',
    '/**/',
    '$a$',
    '$',
    '[',
    '((',
    ':a',
    "E'a'\n",
    '- ',
    '`',
    '\\',
    '1',
    'a',
    "E'' --",
    '::',
    '[[',
    '@',
    '?',
  ];
  for (const piece of pieces) {
    for (const dialect of DIALECTS) {
      const started = processorMs();
      caught(() => tokenize(piece.repeat(100_000 / piece.length), dialect));
      expect(processorMs() - started).toBeLessThan(8_000);
    }
  }
});
