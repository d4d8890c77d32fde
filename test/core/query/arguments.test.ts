import { describe, expect, test } from 'bun:test';
import { DATETIME_FORM } from '#core/lib/text/datetime-form.ts';
import { fc } from '#test/support/chance.ts';
import type { Parameter } from '#core/contract/definitions/parameters.ts';
import {
  type ArgumentValues,
  checkParameters,
  compileArguments,
  inputSchema,
  listingInOrder,
  type UndeclaredRecord,
} from '#core/query/arguments.ts';
import { ADDED_BY_CLIENTS } from '#core/lib/text/undeclared-arguments.ts';
import { AppError } from '#core/errors.ts';
import { canonical } from '#snapshots/format/canonical.ts';
import { processorMs } from '#test/support/processor-time.ts';

const parameter = (more: Partial<Parameter>): Parameter => ({
  name: 'x',
  type: 'string',
  description: '',
  required: true,
  ...more,
});
const accept = (more: Partial<Parameter>, value: unknown): unknown => checked([parameter(more)], { x: value })['x'];

/** What a check answers at once. */
function checked(parameters: readonly Parameter[], args?: unknown, record?: UndeclaredRecord): ArgumentValues {
  const values = compileArguments(parameters)(args, record);
  if (values instanceof Promise) throw new Error('the check takes long');
  return values;
}

const nested = (levels: number): unknown => JSON.parse(`${'['.repeat(levels)}1${']'.repeat(levels)}`);

function refusal(parameters: readonly Parameter[], args: unknown): AppError {
  try {
    checked(parameters, args);
  } catch (error) {
    if (error instanceof AppError) return error;
    throw error;
  }
  throw new Error('not refused');
}
const fault = (more: Partial<Parameter>, value: unknown): string | undefined =>
  refusal([parameter(more)], { x: value }).errors[0]?.message;

describe('values that are taken', () => {
  const cases: readonly (readonly [Partial<Parameter>, unknown, unknown?])[] = [
    [{}, ''],
    [{ min_length: 1, max_length: 2 }, '😀é'],
    [{ pattern: '^[A-Z]{2}$' }, 'AB'],
    [{ enum: ['a', 'b'] }, 'b'],
    [{ type: 'integer' }, 0],
    [{ type: 'integer' }, -0, 0],
    [{ type: 'integer' }, 1.0],
    [{ type: 'integer' }, 9007199254740991],
    [{ type: 'integer' }, '9007199254740993'],
    [{ type: 'integer' }, '-9223372036854775808'],
    [{ type: 'integer' }, '18446744073709551615'],
    [{ type: 'integer', minimum: 1, maximum: 10 }, 10],
    [{ type: 'number' }, 1.5],
    [{ type: 'number' }, '0.1000000000000000055511151231257827'],
    [{ type: 'number', maximum: 100 }, '99.99999999999999999999999999'],
    [{ type: 'number', minimum: 0.1 }, '0.10'],
    [{ type: 'boolean' }, false],
    [{ type: 'date' }, '2024-02-29'],
    [{ type: 'date' }, '0099-01-01'],
    [{ type: 'datetime' }, '2026-11-21T05:00:00Z'],
    [{ type: 'datetime' }, '2026-11-21T05:00:00.123456+02:00'],
    [{ type: 'datetime' }, '2026-11-21T05:00'],
    [{ type: 'datetime' }, '2026-11-21'],
    [{ type: 'datetime' }, '2026-11-21 05:00:00 +0200'],
    [{ type: 'uuid' }, '01936D2E-0000-7000-8000-000000000000'],
    [{ type: 'json' }, { a: [1, null] }],
    [{ type: 'json' }, 'text'],
    [{ type: 'json' }, '[draft] {not JSON'],
    [{ type: 'json' }, { inner: '{"a":1}' }],
    [{ type: 'json' }, nested(64)],
    [{ type: 'array', items: 'integer' }, [1, '9007199254740993']],
    [{ type: 'array', items: 'string', enum: ['a'] }, ['a', 'a']],
    [{ type: 'array', items: 'string' }, []],
  ];
  for (const [more, value, expected] of cases) {
    test(`${JSON.stringify(more)} ${JSON.stringify(value)}`, () => {
      expect(accept(more, value)).toStrictEqual(expected ?? value);
    });
  }
});

describe('values that are refused, with a sentence', () => {
  const cases: readonly (readonly [Partial<Parameter>, unknown, string])[] = [
    [{}, 1, 'x must be a string.'],
    [{}, null, 'x is required.'],
    [{ min_length: 2 }, '😀', 'x must have at least 2 characters.'],
    [{ max_length: 2 }, 'abc', 'x must have at most 2 characters.'],
    [{ pattern: '^a' }, 'ba', 'x does not match the required pattern.'],
    [{ pattern: '^a' }, 'a'.repeat(10_001), 'x must have at most 10000 characters.'],
    [{ enum: ['a', 'b'] }, 'c', 'x must be one of "a", "b".'],
    [{ type: 'integer' }, '5', 'x must be an integer, not a string.'],
    [{ type: 'integer' }, 1.5, 'x must be an integer.'],
    [{ type: 'integer' }, true, 'x must be an integer.'],
    [{ type: 'integer' }, Number.NaN, 'x must be an integer.'],
    [{ type: 'integer' }, 2 ** 53, 'x is beyond 2^53; send its digits as a string.'],
    [{ type: 'integer' }, '18446744073709551616', 'x must fit into 64 bits.'],
    [{ type: 'integer', maximum: 100 }, 101, 'x must be at most 100.'],
    [{ type: 'integer', maximum: 100 }, '9007199254740993', 'x must be at most 100.'],
    [{ type: 'integer', minimum: 1 }, 0, 'x must be at least 1.'],
    [{ type: 'number' }, 'a', 'x must be a number, or its decimal digits as a string.'],
    [{ type: 'number' }, '1e5', 'x must be a number, or its decimal digits as a string.'],
    [{ type: 'number' }, Infinity, 'x must be a finite number.'],
    [{ type: 'number', maximum: 100 }, '100.00000000000000000001', 'x must be at most 100.'],
    [{ type: 'boolean' }, 'true', 'x must be true or false.'],
    [{ type: 'date' }, '2023-02-29', 'x must be a date of the form YYYY-MM-DD.'],
    [{ type: 'date' }, '2023-2-1', 'x must be a date of the form YYYY-MM-DD.'],
    [{ type: 'date' }, '2023-13-01', 'x must be a date of the form YYYY-MM-DD.'],
    [{ type: 'uuid' }, 'x', 'x must be a UUID.'],
    [{ type: 'json' }, '{"city":"Rome"}', 'x must be the object or array itself, not its JSON as text.'],
    [{ type: 'json' }, ' [1]', 'x must be the object or array itself, not its JSON as text.'],
    [
      { type: 'array', items: 'json' },
      [{}, '{}'],
      'x has a wrong element at position 2: it must be the object or array itself, not its JSON as text.',
    ],
    [{ type: 'json' }, nested(65), 'x must be nested at most 64 levels deep.'],
    [
      { type: 'array', items: 'json' },
      [nested(65)],
      'x has a wrong element at position 1: it must be nested at most 64 levels deep.',
    ],
    [{ type: 'array', items: 'integer' }, 1, 'x must be an array.'],
    [{ type: 'array', items: 'integer' }, [1, 'a'], 'x has a wrong element at position 2: it must be an integer.'],
    [{ type: 'array', items: 'integer' }, [null], 'x has a wrong element at position 1: it must be an integer.'],
    [{ type: 'array', items: 'integer', minimum: 1 }, [0], 'x has a wrong element at position 1: it must be at least 1.'],
    [{ type: 'array', items: 'integer', max_length: 1 }, [1, 2], 'x must have at most 1 elements.'],
    [{ type: 'array', items: 'boolean' }, Array.from({ length: 10_001 }, () => true), 'x must have at most 10000 elements.'],
  ];
  for (const [more, value, message] of cases) {
    test(`${JSON.stringify(more)}: ${message}`, () => expect(fault(more, value)).toBe(message));
  }
  test('times that no clock shows', () => {
    for (const value of [
      '2026-11-2',
      '2026-11-21Z',
      '2026-11-21T24:00:00Z',
      '2026-02-30T00:00:00Z',
      '2026-11-21T05:60Z',
      'now',
    ]) {
      expect(fault({ type: 'datetime' }, value)).toMatch(/^x must be a date, or a date and time/);
    }
  });
});

describe('the object', () => {
  const parameters = [
    parameter({ name: 'limit', type: 'integer', required: false, default: 10, maximum: 100 }),
    parameter({ name: 'customer', required: true }),
    parameter({ name: 'since', type: 'date', required: false }),
  ];
  test('defaults stand in for what is not given, and null counts as not given', () => {
    expect({ ...checked(parameters, { customer: 'a' }) }).toEqual({ limit: 10, customer: 'a' });
    expect({ ...checked(parameters, { customer: 'a', limit: null, since: null }) }).toEqual({ limit: 10, customer: 'a' });
    expect({ ...checked([parameter({ required: true, default: 'd' })]) }).toEqual({ x: 'd' });
  });
  test('every faulty argument has its sentence', () => {
    const error = refusal(parameters, { limit: 1_000, since: 'yesterday', costumer: 'a' });
    expect(error).toMatchObject({ code: 'invalid', status: 422 });
    expect(error.errors).toEqual([
      { field: 'limit', message: 'limit must be at most 100.' },
      { field: 'customer', message: 'customer is required.' },
      { field: 'since', message: 'since must be a date of the form YYYY-MM-DD.' },
      { field: 'costumer', message: 'There is no argument costumer. Did you mean customer?' },
    ]);
    expect(error.detail).toBe(error.errors.map(({ message }) => message).join(' '));
  });
  const unreported = (refuses_undeclared: boolean): UndeclaredRecord => ({ refuses_undeclared, undeclared: 0, ignored: [] });
  test('an undeclared name is left out and reported, unless it looks like a slip for a missing one', () => {
    const dropped = (args: object): unknown => {
      const record = unreported(false);
      return [{ ...checked(parameters, args, record) }, record.undeclared, record.ignored];
    };
    for (const name of ['a', 'to', 'prototype', '__proto__', 'customer_name', 'Customers', 'action']) {
      const args: object = JSON.parse(`{"customer":"a","${name}":1}`);
      expect([name, dropped(args)]).toEqual([name, [{ limit: 10, customer: 'a' }, 1, [name]]]);
    }
    const many = Object.fromEntries(Array.from({ length: 30 }, (_, n) => [`${'x'.repeat(80)}${n}`, n]));
    const record = unreported(false);
    checked([], many, record);
    expect([record.undeclared, record.ignored.length, record.ignored[0]]).toEqual([30, 20, 'x'.repeat(64)]);
    for (const [slip, meant] of [
      ['limt', 'limit'],
      ['LIMIT', 'limit'],
      ['limits', 'limit'],
      ['sinse', 'since'],
    ] as const) {
      const { errors } = refusal(parameters, { customer: 'a', [slip]: 1 });
      expect(errors).toEqual([{ field: slip, message: `There is no argument ${slip}. Did you mean ${meant}?` }]);
    }
    expect(refusal(parameters, { wait_for_previous: true }).errors).toEqual([
      { field: 'customer', message: 'customer is required.' },
    ]);
  });
  test('a tool that writes refuses each undeclared name, and so does every tool that is set to', () => {
    const errors = [
      { field: 'dry_run', message: 'There is no argument dry_run.' },
      { field: 'custom', message: 'There is no argument custom. Did you mean customer?' },
    ];
    const args = { customer: 'a', dry_run: true, custom: 'b' };
    const record = unreported(true);
    const attempts = [() => compileArguments(parameters, true)(args), () => compileArguments(parameters)(args, record)];
    for (const attempt of attempts) expect(attempt).toThrow(expect.objectContaining({ code: 'invalid', errors }));
    expect([record.undeclared, record.ignored]).toEqual([2, []]);
  });
  test('what clients add to every call is dropped without a report, and docs/clients.md lists it', async () => {
    const record = unreported(true);
    const added = { wait_for_previous: false, toolCallId: 'call_1', sessionId: 's', action: 'sendMessage', chatInput: 'Hi' };
    expect({ ...checked(parameters, { customer: 'a', ...added }, record) }).toEqual({ limit: 10, customer: 'a' });
    expect([record.undeclared, record.ignored]).toEqual([0, []]);
    const page = await Bun.file(new URL('../../../docs/clients.md', import.meta.url)).text();
    for (const name of [...ADDED_BY_CLIENTS, 'action']) expect(page).toContain(`\`${name}\``);
    // Declared, it is an argument like any other.
    expect({ ...checked([parameter({ name: 'sessionId' })], { sessionId: 's' }) }).toEqual({ sessionId: 's' });
  });
  test('only an object is taken', () => {
    for (const args of [null, [], 'a', 1]) expect(refusal([], args).detail).toBe('The arguments must be an object.');
  });
  test('names that objects already know are names like others', () => {
    const known = ['__proto__', 'constructor', 'toString'].map((name) => parameter({ name, required: false }));
    expect(Object.keys(checked(known, {}))).toEqual([]);
    expect(Object.entries(checked(known, JSON.parse('{"__proto__": "a", "toString": "b"}')))).toEqual([
      ['__proto__', 'a'],
      ['toString', 'b'],
    ]);
  });
  test('a flood of names that are not declared costs little and is told in a few sentences', () => {
    const flood = Object.fromEntries(Array.from({ length: 100_000 }, (_, n) => [`customers${n}`, n]));
    const many = Array.from({ length: 100 }, (_, n) => parameter({ name: `${'x'.repeat(61)}${n}`, required: false }));
    const started = processorMs();
    expect(refusal([...many, parameter({ name: 'customers' })], flood).errors.length).toBeLessThan(25);
    expect(processorMs() - started).toBeLessThan(500);
  });
  test('a refused value is never repeated, and nothing but an AppError is thrown', () => {
    const types = ['string', 'integer', 'number', 'boolean', 'date', 'datetime', 'uuid', 'json', 'array'] as const;
    fc.assert(
      fc.property(fc.constantFrom(...types), fc.jsonValue(), fc.uuid(), (type, json, secret) => {
        const declared = [parameter({ type, ...(type === 'array' && { items: 'date' }), required: false, max_length: 5 })];
        for (const value of [json, secret, [secret]]) {
          try {
            checked(declared, { x: value });
          } catch (error) {
            expect(error).toBeInstanceOf(AppError);
            expect(JSON.stringify([(error as AppError).detail, (error as AppError).errors])).not.toContain(secret);
          }
        }
      }),
    );
  });
});

test('the schema shows every constraint', () => {
  const schema = inputSchema([
    parameter({ name: 'a', description: 'An A', min_length: 1, max_length: 5, pattern: '^a', enum: ['aa'] }),
    parameter({ name: 'b', type: 'integer', minimum: 1, maximum: 9, default: 3 }),
    parameter({ name: 'c', type: 'datetime', required: false }),
    parameter({ name: 'd', type: 'array', items: 'uuid', min_length: 1, required: false }),
    parameter({ name: 'e', type: 'array', items: 'integer', maximum: 5, max_length: 3, required: false }),
    parameter({ name: 'f', type: 'json', required: false, default: { g: 1 } }),
    parameter({ name: 'h', examples: ['A-1', 'B-2'] }),
    parameter({ name: 'i', type: 'array', items: 'integer', examples: [[1, 2]], required: false }),
  ]);
  expect(schema).toEqual({
    type: 'object',
    properties: {
      a: { type: 'string', description: 'An A', minLength: 1, maxLength: 5, pattern: '^a', enum: ['aa'] },
      b: { type: 'integer', minimum: 1, maximum: 9, default: 3 },
      c: { type: 'string', description: DATETIME_FORM },
      d: { type: 'array', items: { type: 'string', format: 'uuid' }, description: 'UUID', minItems: 1, maxItems: 10_000 },
      e: { type: 'array', items: { type: 'integer', maximum: 5 }, maxItems: 3 },
      f: {
        anyOf: [
          { type: 'object' },
          { type: 'array', items: {} },
          { type: 'string' },
          { type: 'number' },
          { type: 'boolean' },
          { type: 'null' },
        ],
        default: { g: 1 },
      },
      h: { type: 'string', examples: ['A-1', 'B-2'] },
      i: { type: 'array', items: { type: 'integer' }, examples: [[1, 2]], maxItems: 10_000 },
    },
    required: ['a', 'h'],
    additionalProperties: false,
  });
});

test('a format is also said in words, because some clients leave it out', () => {
  const said = (more: Partial<Parameter>) =>
    (inputSchema([parameter(more)])['properties'] as Record<string, Record<string, unknown>>)['x']?.['description'];
  expect(said({ type: 'date', description: 'First day' })).toBe('First day (YYYY-MM-DD)');
  expect(said({ type: 'date', description: 'First day, YYYY-MM-DD' })).toBe('First day, YYYY-MM-DD');
  expect(said({ type: 'array', items: 'date', description: 'Days' })).toBe('Days (YYYY-MM-DD)');
  expect(said({ description: 'A name' })).toBe('A name');
});

test('properties are in the order of the parameters, required ones first, also after they were stored', () => {
  const parameters = [
    parameter({ name: 'zone' }),
    parameter({ name: 'limit', type: 'integer', required: false }),
    parameter({ name: 'after', required: true, default: 'x' }),
    parameter({ name: 'customer' }),
  ];
  const order = ['zone', 'customer', 'limit', 'after'];
  const input = inputSchema(parameters);
  expect(Object.keys(input['properties'] as object)).toEqual(order);
  const stored = JSON.parse(canonical({ name: 't', inputSchema: input })) as Record<string, Record<string, object>>;
  expect(Object.keys(stored['inputSchema']?.['properties'] ?? {})).toEqual(['after', 'customer', 'limit', 'zone']);
  const listing = listingInOrder({ listing: stored, parameters }) as typeof stored;
  expect(Object.keys(listing['inputSchema']?.['properties'] ?? {})).toEqual(order);
  expect(JSON.parse(JSON.stringify(listing))).toEqual({ name: 't', inputSchema: input });
});

const faults = (more: Partial<Parameter>): string[] =>
  checkParameters([parameter(more)]).map(({ field, message }) => `${field}: ${message}`);

describe('definitions', () => {
  test('sound ones have no fault', () => {
    for (const more of [
      {},
      { type: 'array', items: 'integer', minimum: 1, enum: [1, 2], default: [1] },
      { type: 'date', enum: ['2024-01-01'], default: '2024-01-01' },
      { type: 'json', default: { a: 1 } },
      { pattern: '^a+$', default: 'aa' },
      { required: false, default: null },
      { enum: ['a'], examples: ['a'] },
      { type: 'array', items: 'date', examples: [['2026-01-01'], []] },
    ] satisfies Partial<Parameter>[]) {
      expect(faults(more)).toEqual([]);
    }
  });
  const cases: readonly (readonly [Partial<Parameter>, RegExp])[] = [
    [{ type: 'array', items: 'bytes' }, /^parameters\.0\.items: x cannot be a list of bytes\./],
    [{ type: 'array' }, /^parameters\.0\.items: x is an array and needs items/],
    [{ items: 'string' }, /^parameters\.0\.items: x is not an array/],
    [{ minimum: 1 }, /^parameters\.0\.minimum: minimum does not apply to x/],
    [{ type: 'integer', pattern: 'a' }, /^parameters\.0\.pattern: pattern does not apply/],
    [{ type: 'integer', min_length: 1 }, /^parameters\.0\.min_length: /],
    [{ type: 'json', enum: ['a'] }, /^parameters\.0\.enum: /],
    [{ type: 'array', items: 'string', maximum: 1 }, /^parameters\.0\.maximum: /],
    [{ type: 'integer', minimum: 2, maximum: 1 }, /minimum is above maximum/],
    [{ min_length: 2, max_length: 1 }, /min_length is above max_length/],
    [{ pattern: '(' }, /pattern is not a valid regular expression/],
    [{ pattern: '(a)\\1' }, /pattern uses a backreference/],
    [{ type: 'integer', enum: [1, 'a'] }, /^parameters\.0\.enum: x: entry 2 of enum is not a valid integer\.$/],
    [{ type: 'integer', default: 'a' }, /^parameters\.0\.default: x: default must be an integer\.$/],
    [{ type: 'integer', default: 5, maximum: 4 }, /default must be at most 4/],
    [{ enum: ['a'], default: 'b' }, /default must be one of "a"/],
    [{ pattern: '^a', default: 'b' }, /default does not match/],
    [{ type: 'array', items: 'date', default: ['x'] }, /default has a wrong element at position 1/],
    [{ type: 'integer', examples: [1, 'a'] }, /^parameters\.0\.examples: x: example 2 must be an integer\.$/],
    [{ enum: ['a'], examples: ['b'] }, /example 1 must be one of "a"/],
    [{ examples: [null] }, /example 1 must not be null/],
    [{ from: 'caller.sub', examples: ['a'] }, /it cannot have examples/],
  ];
  for (const [more, message] of cases) test(JSON.stringify(more), () => expect(faults(more).join()).toMatch(message));
  test('a name declared twice', () => {
    expect(checkParameters([parameter({}), parameter({})])).toEqual([
      { field: 'parameters.1.name', message: 'x is declared twice.' },
    ]);
  });
});
