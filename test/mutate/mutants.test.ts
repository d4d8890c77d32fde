import { describe, expect, test } from 'bun:test';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { apply, mutantsOf, type Operator, withProbes } from './mutants.ts';
import { closeness } from './runs.ts';

/** What an operator makes of a program. */
const madeOf = (text: string, operator: Operator): string[] =>
  mutantsOf(text)
    .filter((mutant) => mutant.operator === operator)
    .map(({ edit }) => apply(text, edit));

const CASES: readonly (readonly [operator: Operator, program: string, mutants: readonly string[]])[] = [
  ['compare', 'f(a < b, (a as T) === b);', ['f(a <= b, (a as T) === b);', 'f(a < b, (a as T) !== b);']],
  ['logic', 'f((a && b) || c);', ['f((a && b) && c);', 'f((a || b) || c);']],
  ['arithmetic', 'f(a + b);', ['f(a - b);']],
  ['negate', 'x = a ? b : c;', ['x = !(a) ? b : c;']],
  ['negate', 'x = a === 1 ? b : c;', []],
  [
    'guard',
    'function f() { if (a) return; if (b) { g(); throw c; } if (c) d(); else return; }',
    [
      'function f() { ; if (b) { g(); throw c; } if (c) d(); else return; }',
      'function f() { if (a) return; ; if (c) d(); else return; }',
    ],
  ],
  [
    'drop',
    "'use strict'; f(); log.info('f'); app.log.debug('g'); a = 1;",
    ["'use strict'; ; log.info('f'); app.log.debug('g'); a = 1;", "'use strict'; f(); log.info('f'); app.log.debug('g'); ;"],
  ],
  ['await', 'await f(); x = await g();', ['void f(); x = await g();']],
  ['early', 'async function f(): Promise<void> { a(); b(); }', ['async function f(): Promise<void> { return; a(); b(); }']],
  [
    'early',
    'const f = (): boolean => { a(); return b; };',
    ['const f = (): boolean => { return true; a(); return b; };', 'const f = (): boolean => { return false; a(); return b; };'],
  ],
  ['early', 'function f(): string { a(); return b; }', []],
  [
    'constant',
    'type T = 1; f(2, 60_000, 0x10, { 3: 4 });',
    [
      'type T = 1; f(3, 60_000, 0x10, { 3: 4 });',
      'type T = 1; f(2, 60_000, 17, { 3: 4 });',
      'type T = 1; f(2, 60_000, 0x10, { 3: 5 });',
    ],
  ],
  ['flag', 'type T = true; f(true);', ['type T = true; f(false);']],
  ['element', 'x = [a, ...b, c];', ['x = [...b, c];', 'x = [a, c];', 'x = [a, ...b];']],
  ['element', 'x = { a, b: 1 };', ['x = { b: 1 };', 'x = { a };']],
  ['element', 'x = [a];', []],
  ['method', 'a.some(f); Math.max(1, b); c.some;', ['a.every(f); Math.max(1, b); c.some;', 'a.some(f); Math.min(1, b); c.some;']],
];

describe('the mutants of a program', () => {
  test.each(CASES)('%s: %s', (operator, program, mutants) => {
    expect(madeOf(program, operator)).toEqual([...mutants]);
  });

  test('know their line', () => {
    expect(mutantsOf('f();\n\nx = a < b;\n').map(({ line, operator }) => [line, operator])).toEqual([
      [1, 'drop'],
      [3, 'drop'],
      [3, 'compare'],
    ]);
  });

  test('are none of text that is no program', () => {
    expect(() => mutantsOf('if (')).toThrow(SyntaxError);
  });
});

test('a program with probes behaves as before and notes which mutants would run', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-probes-'));
  try {
    const text = `
      export function f(a: number, b?: { c: number[] }): string {
        if (a > 5 && b === undefined) return 'large';
        else if (a < 0) throw new Error('negative');
        const some = b?.c.some((n) => n * 2 === a) ?? false;
        return some ? 'half' : ['none', 'at all'].join(' ');
      }`;
    const mutants = mutantsOf(text);
    const notes = join(folder, 'notes');
    const path = join(folder, 'program.ts');
    writeFileSync(path, withProbes(text, [...mutants.entries()], notes));
    const { f }: { f: (a: number, b?: { c: number[] }) => string } = await import(path);
    expect(existsSync(notes)).toBe(false);
    expect(f(6)).toBe('large');
    const numbers = () => new Set(readFileSync(notes, 'utf8').trim().split(' ').map(Number));
    const line = (n: number) => mutants[n]?.line;
    expect(new Set([...numbers()].map(line))).toEqual(new Set([3]));
    expect([f(2, { c: [1] }), f(3, { c: [1] }), f(3)]).toEqual(['half', 'none at all', 'none at all']);
    expect(() => f(-1)).toThrow('negative');
    // Among the mutants are those of the members of the list, of which both were reached.
    expect(
      mutants
        .keys()
        .filter((n) => !numbers().has(n))
        .toArray(),
    ).toEqual([]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test('the tests of a program are those of its name, then of its folder', () => {
  const of = (name: string) => closeness(name, 'core/lib/sql/bind.ts');
  const names = [
    'test/core/lib/sql/bind.test.ts',
    'test/core/lib/sql/bind-in.test.ts',
    'test/core/lib/csv.test.ts',
    'test/agent/rest.test.ts',
  ];
  expect(names.toSorted((a, b) => of(b) - of(a))).toEqual(names);
  expect(closeness('test/server/observe/usage.test.ts', 'core/observe/usage.ts')).toBe(4);
});
