import { expect, test } from 'bun:test';
import { fc } from '#test/support/chance.ts';
import { createBudget, TEMPLATE_LIMITS } from '#core/lib/template/budget.ts';
import { renderTemplate } from '#core/lib/template/evaluate.ts';
import { FILTERS, METHODS } from '#core/lib/template/filters/filters.ts';
import { parseTemplate } from '#core/lib/template/parse.ts';
import { arranged } from '#core/lib/template/operation.ts';
import { TESTS } from '#core/lib/template/tests.ts';
import { get } from '#core/lib/template/values.ts';
import { AppError } from '#core/errors.ts';
import { processorMs } from '#test/support/processor-time.ts';

const ROWS = [
  { id: 1, name: 'a b', price: '1.50', note: null, tags: ['x', { y: 1 }], at: '2024-02-29T10:00:00Z' },
  { id: 2, name: '<é|"\\', price: '-2', note: 'n\nn', tags: [], at: 'infinity' },
];

/** Runs the template; the only thing that it may throw is a refusal that a person can read. */
function survives(text: string): void {
  const started = processorMs();
  try {
    const output = renderTemplate(parseTemplate(text), { rows: ROWS, params: { a: 1, q: 'q' }, vars: { v: true } });
    expect(new TextEncoder().encode(output).length).toBeLessThanOrEqual(TEMPLATE_LIMITS.output);
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'invalid') throw new Error(`not refused: ${text}`, { cause: error });
    expect(error.detail).toMatch(/^[A-Z"].*\.$/s);
    if (error.position !== undefined) expect(error.position).toBeLessThanOrEqual(text.length);
  }
  expect(processorMs() - started).toBeLessThan(8_000);
}

const NAMES = [
  'rows',
  'row',
  'params',
  'vars',
  'loop',
  'x',
  'ns',
  'constructor',
  '__proto__',
  'range',
  'dict',
  'namespace',
  'None',
];
const OPERATIONS = [...FILTERS.keys(), ...TESTS.keys(), ...METHODS.keys()];
const TAGS = [
  'for',
  'if',
  'elif',
  'else',
  'endif',
  'endfor',
  'set',
  'endset',
  'filter',
  'endfilter',
  'raw',
  'endraw',
  'macro',
  'include',
];
const SIGNS = [
  '{{',
  '}}',
  '{%',
  '%}',
  '{{-',
  '-}}',
  '{%-',
  '-%}',
  '{#',
  '#}',
  '(',
  ')',
  '[',
  ']',
  '{',
  '}',
  ',',
  ':',
  '.',
  '|',
  '~',
  '+',
  '-',
  '*',
  '**',
  '/',
  '//',
  '%',
  '=',
  '==',
  '!=',
  '<',
  '>=',
  '\\',
  '"',
  "'",
  '\n',
  'r/',
];
const WORDS = [
  'in',
  'is',
  'not',
  'and',
  'or',
  'if',
  'else',
  '0',
  '1',
  '2.5',
  '1e9',
  '999999',
  '"s"',
  "'%d'",
  'true',
  'none',
  'é',
  'attribute',
  'name',
  'id',
];
const token = fc.constantFrom(...NAMES, ...OPERATIONS, ...TAGS, ...SIGNS, ...WORDS);

test('a soup of tokens is read or refused', () => {
  fc.assert(
    fc.property(fc.array(token, { maxLength: 40 }), fc.constantFrom('', ' '), (tokens, glue) => survives(tokens.join(glue))),
    { numRuns: 3_000 },
  );
}, 60_000);

test('any text is read or refused', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 200 }), fc.constantFrom('{{', '{%', '{{ rows |', ''), (text, start) =>
      survives(start + text),
    ),
    { numRuns: 1_000 },
  );
}, 60_000);

/** Expressions that are well formed, whatever they mean. */
const { expression } = fc.letrec<{ expression: string; argument: string }>((tie) => ({
  argument: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom('rows', '1', '-3', '2.5', '0', '"id"', '"a,b"', '"%5s"', '99999', 'none', 'true', '[]', '{}', '" x "'),
    tie('expression'),
  ),
  expression: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom(
      'rows',
      'rows[0]',
      'rows[0].tags',
      'params.a',
      'x',
      '"text"',
      '7',
      '"12.50"',
      'none',
      '[1, "b", none]',
      '{"a": 1, "b": [2]}',
      'range(5)',
      'loop',
    ),
    fc
      .tuple(tie('expression'), fc.constantFrom(...FILTERS.keys()), fc.array(tie('argument'), { maxLength: 3 }))
      .map(([value, name, args]) => `(${value} | ${name}(${args.join(', ')}))`),
    fc
      .tuple(
        tie('expression'),
        fc.constantFrom(...[...TESTS.keys()].filter((name) => /^\w+$/.test(name))),
        fc.array(tie('argument'), { maxLength: 1 }),
      )
      .map(([value, name, args]) => `(${value} is ${name}(${args.join(', ')}))`),
    fc
      .tuple(tie('expression'), fc.constantFrom(...METHODS.keys()), fc.array(tie('argument'), { maxLength: 2 }))
      .map(([value, name, args]) => `(${value}).${name}(${args.join(', ')})`),
    fc
      .tuple(
        tie('expression'),
        fc.constantFrom('+', '-', '*', '/', '//', '%', '**', '~', '<', '==', '>=', 'in', 'and', 'or'),
        tie('expression'),
      )
      .map(([a, op, b]) => `(${a} ${op} ${b})`),
    fc.tuple(tie('expression'), tie('argument')).map(([value, key]) => `${value}[${key}]`),
    fc.tuple(tie('expression'), tie('argument'), tie('argument')).map(([value, from, to]) => `${value}[${from}:${to}]`),
  ),
}));

test('a well-formed expression gives text or a sentence', () => {
  fc.assert(
    fc.property(expression, fc.boolean(), (value, loop) =>
      survives(loop ? `{% for x in ${value} %}{{ x }}{{ loop.index }}{% endfor %}` : `{{ ${value} }}`),
    ),
    { numRuns: 4_000 },
  );
}, 60_000);

/** True when nothing inside is anything but data. */
const isData = (value: unknown): boolean =>
  typeof value === 'object' && value !== null
    ? [null, Object.prototype, Array.prototype].includes(Object.getPrototypeOf(value) as null) &&
      Object.values(value).every(isData)
    : ['undefined', 'boolean', 'number', 'string', 'object'].includes(typeof value);

const poison = () => 'escaped';
const values = fc.oneof(
  fc.jsonValue({ maxDepth: 3 }),
  fc.constantFrom('constructor', '__proto__', 'length', 'id', 'a', '%d', ' ', '1.5', -1, 0, 3, 1e9, [], ROWS),
  fc.array(fc.record({ id: fc.integer(), name: fc.string(), price: fc.constantFrom('1.5', '2', 'x') }), { maxLength: 5 }),
);

test('every filter, test and method gives data or a sentence, whatever it is given', () => {
  for (const table of [FILTERS, TESTS, METHODS]) {
    for (const [name, operation] of table) {
      fc.assert(
        fc.property(values, fc.array(values, { maxLength: 4 }), (value, args) => {
          const budget = createBudget(TEMPLATE_LIMITS);
          try {
            const filled = arranged(operation, args.slice(0, operation.rest ? 4 : operation.params.length));
            if (!isData(operation.run(budget, value, filled))) throw new Error(`${name} gave more than data`);
          } catch (error) {
            if (!(error instanceof AppError) || error.code !== 'invalid') throw error;
          }
        }),
        { numRuns: 60 },
      );
    }
  }
}, 60_000);

test('reading any key of any value gives data', () => {
  const holders = [
    ROWS,
    ROWS[0],
    'text',
    5,
    true,
    null,
    undefined,
    poison,
    { run: poison, at: Symbol('s') },
    [poison],
    new Map(),
    new Date(0),
    Object.create({ inherited: 'x' }),
  ];
  const keys = new Set<unknown>([0, -1, 1.5, 'run', 'at', 'inherited', poison, Symbol.iterator, null, {}]);
  for (const holder of [...holders, Object, Array.prototype, String.prototype, Function.prototype, globalThis]) {
    for (let level: unknown = holder; level !== null && level !== undefined; level = Object.getPrototypeOf(level)) {
      for (const key of Reflect.ownKeys(new Object(level))) keys.add(key);
    }
  }
  for (const holder of holders) {
    for (const key of keys) {
      const value = get(createBudget(TEMPLATE_LIMITS), holder, key);
      expect(['function', 'symbol', 'bigint']).not.toContain(typeof value);
      if (typeof key === 'string' && /^__|^constructor$|^prototype$|^inherited$/.test(key)) expect(value).toBeUndefined();
    }
  }
});
