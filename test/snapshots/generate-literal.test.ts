import { describe, expect, test } from 'bun:test';
import { fc } from '#test/support/chance.ts';
import type { SqlNode } from '#core/lib/sql/statement.ts';
import { literal, sqlLiteral } from '#snapshots/generate/literal.ts';
import * as project from '#snapshots/generate/project/sql.ts';

const HOSTILE = [
  '`',
  '${',
  '}',
  '\\',
  '\\u',
  '$',
  '"',
  "'",
  '*/',
  '//',
  '\n',
  '\r\n',
  '\u2028',
  '\0',
  '\ud800',
  '</script>',
  '`+process.exit()+`',
  '__proto__',
  '\\`',
  '$${x}',
  '\\x',
  '\\0',
];
const text = fc
  .array(fc.oneof(fc.constantFrom(...HOSTILE), fc.string({ unit: 'binary' }), fc.string()), { maxLength: 8 })
  .map((parts) => parts.join(''));
const name = fc.oneof(fc.constantFrom('__proto__', 'constructor', 'a'), fc.stringMatching(/^[A-Za-z_]\w{0,8}$/));
const leaf: fc.Arbitrary<SqlNode> = fc.oneof(
  text.filter((part) => part !== ''),
  name.map((bound): SqlNode => ({ name: bound })),
  fc.record({ name, in: fc.constantFrom('in' as const, 'not_in' as const) }),
  fc.record({ name, place: fc.constantFrom('limit' as const, 'offset' as const) }),
  fc.record({ name, as: fc.constantFrom('int8', 'numeric[]') }),
  fc.record({ name, in: fc.constantFrom('in' as const), apart: fc.integer({ min: 1, max: 3 }) }),
);
const block: fc.Arbitrary<SqlNode> = fc.record({
  block: fc.array(leaf, { maxLength: 4 }),
  names: fc.array(name, { minLength: 1, maxLength: 3 }),
});
const nodes = fc.array(fc.oneof(leaf, block), { maxLength: 6 });

const transpiler = new Bun.Transpiler({ loader: 'ts' });

/** One expression and nothing else, as Bun parses it; then its value. */
function evaluate(expression: string): unknown {
  const source = `export const found = ${expression};\n`;
  const { imports, exports } = transpiler.scan(source);
  expect({ imports, exports }).toEqual({ imports: [], exports: ['found'] });
  const code = transpiler.transformSync(source).replace('export const found', 'const found');
  // oxlint-disable-next-line typescript/no-implied-eval -- the expression is what this test is about
  const run = new Function(
    'sql',
    'value',
    'anyOf',
    'noneOf',
    'limitOf',
    'offsetOf',
    'whenGiven',
    `"use strict"; ${code}; return found;`,
  );
  const { sql, value, anyOf, noneOf, limitOf, offsetOf, whenGiven } = project;
  return run(sql, value, anyOf, noneOf, limitOf, offsetOf, whenGiven);
}

/** Neighbouring texts are one text in a template. */
function joined(list: readonly SqlNode[]): SqlNode[] {
  const result: SqlNode[] = [];
  for (const node of list) {
    const last = result.at(-1);
    if (typeof node === 'string' && typeof last === 'string') result[result.length - 1] = last + node;
    else result.push(typeof node === 'object' && 'block' in node ? { ...node, block: joined(node.block) } : node);
  }
  return result;
}

describe('what a person wrote, in a generated file', () => {
  test('stands in a literal that gives back exactly that text', () => {
    fc.assert(
      fc.property(text, (written) => {
        expect(evaluate(literal(written))).toBe(written);
      }),
      { numRuns: 500 },
    );
  });

  test('stands in objects with any names', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.oneof(text, name), fc.oneof(text, fc.jsonValue()), { noNullPrototype: false }), (written) => {
        const found = evaluate(literal(written));
        expect(JSON.stringify(found)).toBe(JSON.stringify(written));
      }),
      { numRuns: 300 },
    );
  });

  test('is SQL with holes that cannot be left, whatever stands in it', () => {
    fc.assert(
      fc.property(nodes, (written) => {
        expect(evaluate(sqlLiteral(written))).toEqual(joined(written));
      }),
      { numRuns: 500 },
    );
  });
});
