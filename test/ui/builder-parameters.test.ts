import { describe, expect, test } from 'bun:test';
import * as v from 'valibot';
import { Parameter } from '#core/contract/definitions/parameters.ts';
import { checkParameters, compileArguments, inputSchema } from '#core/query/arguments.ts';
import { parseEntry, sampleEntries, toArguments, writeEntry } from '#ui/src/features/run/arguments.ts';
import { fieldsOfSchema } from '#ui/src/features/run/schema-fields.ts';
import { parseExamples, writeExamples } from '#ui/src/features/builder/values/examples.ts';
import {
  constraintsOf,
  followParameters,
  ITEM_TYPES,
  PARAMETER_TYPES,
  rulesInWords,
  suggestionInWords,
  trimmed,
  withSuggestion,
  withType,
} from '#ui/src/features/builder/parameters/parameters.ts';

const parameter = (over: Partial<Parameter> & { name: string }): Parameter => ({
  type: 'string',
  description: '',
  required: true,
  ...over,
});

describe('the list of parameters', () => {
  test('gets the names of the statement as texts, until the database says more', () => {
    const followed = followParameters();
    const list = followed.follow([parameter({ name: 'q' })], ['q', 'customer_id', 'states'], new Set(['states']));
    expect(list.map(({ name, type, required }) => [name, type, required])).toEqual([
      ['q', 'string', true],
      ['customer_id', 'string', true],
      ['states', 'string', false],
    ]);
    const suggested = followed.suggest(list, [
      { name: 'q', type: 'integer', description: '' },
      { name: 'customer_id', type: 'integer', description: 'Number of the customer' },
      { name: 'states', type: 'array', items: 'string', enum: ['new', 'paid'], description: '' },
    ]);
    expect(suggested).toEqual([
      // What a person wrote stays, and a description is theirs to take.
      parameter({ name: 'q' }),
      parameter({ name: 'customer_id', type: 'integer' }),
      parameter({ name: 'states', type: 'array', items: 'string', enum: ['new', 'paid'], required: false }),
    ]);
    for (const one of suggested) expect(v.is(Parameter, one)).toBe(true);
    const mine = suggested.map((one) => ({ ...one, type: 'string' as const }));
    expect(followed.suggest(mine, [{ name: 'customer_id', type: 'integer', description: '' }])[1]?.type).toBe('string');
  });

  test('of a new tool goes with the statement that it was made for, unless somebody wrote in it', () => {
    const [text, limit] = [
      parameter({ name: 'text', description: 'What to look for' }),
      parameter({ name: 'limit', type: 'integer', required: false, default: 20 }),
    ];
    const followed = followParameters([text, limit]);
    expect(followed.suggest([text, limit], [{ name: 'limit', type: 'number', description: '' }])).toEqual([text, limit]);
    expect(followed.follow([text, limit], [])).toEqual([]);
    const mine = { ...text, description: 'Part of a name' };
    expect(followed.follow([mine, limit], ['day'])).toEqual([mine, parameter({ name: 'day' })]);
  });

  test('says what the database suggests until it is taken', () => {
    const suggestion = { name: 'state', type: 'string', enum: ['new', 'paid'], description: 'Where it stands' } as const;
    const before = parameter({ name: 'state' });
    expect(suggestionInWords(before, { ...suggestion, enum: [...suggestion.enum] })).toBe(
      'string · one of new, paid · “Where it stands”',
    );
    const taken = withSuggestion(before, { ...suggestion, enum: [...suggestion.enum] });
    expect(taken).toEqual(parameter({ name: 'state', enum: ['new', 'paid'], description: 'Where it stands' }));
    expect(suggestionInWords(taken, { ...suggestion, enum: [...suggestion.enum] })).toBe('');
    // A day is a fitting value for a column of times, but not the other way round.
    const day = { ...before, type: 'date' as const, description: 'A day' };
    expect(suggestionInWords(day, { name: before.name, type: 'datetime', description: '' })).toBe('');
    expect(suggestionInWords({ ...day, type: 'datetime' }, { name: before.name, type: 'date', description: '' })).toBe('date');
  });

  test('a name that is typed letter by letter leaves nothing behind; what a person wrote stays', () => {
    const followed = followParameters();
    let list: Parameter[] = [];
    for (const name of ['c', 'cu', 'cust', 'customer_id']) list = followed.follow(list, [name]);
    expect(list.map(({ name }) => name)).toEqual(['customer_id']);
    list = list.map((one) => ({ ...one, description: 'Number of the customer' }));
    expect(followed.follow(list, [])).toEqual(list);
  });

  test('another type drops what does not fit it', () => {
    const one = parameter({ name: 'n', type: 'integer', minimum: 1, default: 5, enum: [1, 2] });
    expect(withType(one, 'number')).toEqual(parameter({ name: 'n', type: 'number', minimum: 1, default: 5 }));
    expect(withType(one, 'string')).toEqual(parameter({ name: 'n', type: 'string' }));
    expect(withType(parameter({ name: 'n', pattern: 'a', max_length: 3 }), 'array')).toEqual(
      parameter({ name: 'n', type: 'array', items: 'string', pattern: 'a', max_length: 3 }),
    );
    expect(withType(parameter({ name: 'n', type: 'array', items: 'integer' }), 'string')).toEqual(parameter({ name: 'n' }));
  });

  test('the rules that are offered are those that the server takes', () => {
    const value = { enum: ['a'], minimum: 1, maximum: 2, min_length: 1, max_length: 2, pattern: 'a' } as const;
    const values = (type: string) => ({ integer: [1], number: [1], boolean: [true], date: ['2026-01-01'] })[type] ?? ['a'];
    for (const type of PARAMETER_TYPES) {
      for (const items of type === 'array' ? ITEM_TYPES : [undefined]) {
        const base = parameter({ name: 'x', type, ...(items === undefined ? {} : { items }) });
        const offered = constraintsOf(base);
        for (const rule of Object.keys(value) as (keyof typeof value)[]) {
          const content = rule === 'enum' ? values(items ?? type) : value[rule];
          const faults = checkParameters([{ ...base, [rule]: content }]).filter(({ message }) =>
            message.includes('does not apply'),
          );
          expect([type, items, rule, faults.length === 0]).toEqual([type, items, rule, offered.includes(rule)]);
        }
      }
    }
  });

  test('fields that say nothing are not sent, and the rules are told in words', () => {
    expect(trimmed({ ...parameter({ name: 'a' }), enum: [] })).toEqual(parameter({ name: 'a' }));
    expect(rulesInWords(parameter({ name: 'a', minimum: 1, maximum: 5, enum: [1, 2, 3, 4] }))).toBe(
      'one of 1, 2, 3 and 1 more · 1 to 5',
    );
    expect(rulesInWords(parameter({ name: 'a', max_length: 20, pattern: '^x' }))).toBe('at most 20 characters · matches ^x');
    expect(rulesInWords(parameter({ name: 'a', examples: ['A-1', 'B-2'] }))).toBe('such as "A-1"');
    expect(rulesInWords(parameter({ name: 'a' }))).toBe('');
    expect(trimmed({ ...parameter({ name: 'a' }), examples: [] })).toEqual(parameter({ name: 'a' }));
  });

  test('examples are typed one per line, in the form of their type', () => {
    const cases = [
      [{ type: 'string' }, 'A-1\n\n B, 2 ', ['A-1', 'B, 2'], 'A-1\nB, 2'],
      [{ type: 'integer' }, '1\n2', [1, 2], '1\n2'],
      [{ type: 'json' }, '"a"\n{"b":1}', ['a', { b: 1 }], '"a"\n{"b":1}'],
      [{ type: 'array', items: 'integer' }, '[1,2]', [[1, 2]], '[1,2]'],
    ] as const;
    for (const [typed, text, values, written] of cases) {
      expect(parseExamples(text, typed)).toEqual({ value: [...values] });
      expect(writeExamples(values, typed)).toBe(written);
    }
    expect(parseExamples('1\nx', { type: 'integer' })).toEqual({ value: [1, 'x'], fault: 'Line 2: Enter a whole number.' });
    expect(sampleEntries([parameter({ name: 'a', examples: ['A-1'] })], '2026-01-01')).toEqual({ a: 'A-1' });
  });
});

describe('the arguments of a preview', () => {
  test('are typed as the parameters say, and the server takes them', () => {
    const list = [
      parameter({ name: 'a' }),
      parameter({ name: 'b', type: 'integer' }),
      parameter({ name: 'c', type: 'number' }),
      parameter({ name: 'd', type: 'boolean' }),
      parameter({ name: 'e', type: 'date' }),
      parameter({ name: 'f', type: 'datetime' }),
      parameter({ name: 'g', type: 'uuid' }),
      parameter({ name: 'h', type: 'json' }),
      parameter({ name: 'i', type: 'array', items: 'integer' }),
      parameter({ name: 'j', type: 'bytes' }),
    ];
    const { values, errors } = toArguments(list, {
      a: 'text',
      b: '7',
      c: '1.5',
      d: 'false',
      e: '2026-02-28',
      f: '2026-02-28T08:30',
      g: '0190b0c0-0000-7000-8000-000000000000',
      h: '{"a": [1]}',
      i: '1\n2\n',
      j: ' AP8= ',
    });
    expect(errors).toEqual({});
    expect(values).toMatchObject({ b: 7, d: false, f: '2026-02-28T08:30', h: { a: [1] }, i: [1, 2], j: 'AP8=' });
    expect(fieldsOfSchema(inputSchema(list)).find(({ name }) => name === 'j')?.type).toBe('bytes');
    expect(() => compileArguments(list)(values)).not.toThrow();
  });

  test('an entry of the wrong type has its sentence', () => {
    const faulty: readonly (readonly [string, Partial<Parameter>])[] = [
      ['1.5', { type: 'integer' }],
      ['x', { type: 'number' }],
      ['yes', { type: 'boolean' }],
      ['2026-13-01', { type: 'date' }],
      ['today', { type: 'datetime' }],
      ['1', { type: 'uuid' }],
      ['{', { type: 'json' }],
      ['AP8', { type: 'bytes' }],
      ['1\nx', { type: 'array', items: 'integer' }],
      ['[1', { type: 'array', items: 'integer' }],
    ];
    for (const [text, over] of faulty)
      expect([text, parseEntry(text, parameter({ name: 'a', ...over }))]).toEqual([text, { fault: expect.any(String) }]);
  });

  test('two values of a list are two, or an error, and never one', () => {
    const list = [parameter({ name: 'states', type: 'array', items: 'string' })];
    expect(toArguments(list, { states: 'open\npending' }).values).toEqual({ states: ['open', 'pending'] });
    expect(toArguments(list, { states: 'open, pending' }).errors['states']).toStartWith('Line 1: write one value per line.');
    expect(toArguments(list, { states: '["Paris, France"]' }).values).toEqual({ states: ['Paris, France'] });
    expect(writeEntry(['Paris, France', 'Rome'])).toContain('[');
  });

  test('what is left empty is not given; what is needed is asked for', () => {
    const list = [parameter({ name: 'a' }), parameter({ name: 'b', required: false }), parameter({ name: 'c', default: 'x' })];
    expect(toArguments(list, {})).toEqual({ values: {}, errors: { a: 'This argument is required.' } });
    expect(toArguments(list, { a: '' })).toEqual({ values: { a: '' }, errors: {} });
    expect(toArguments([parameter({ name: 'n', type: 'integer' })], { n: '' }).errors).toEqual({
      n: 'This argument is required.',
    });
  });

  test('large whole numbers keep their digits, lists come back as they were written', () => {
    expect(parseEntry('9007199254740993', { type: 'integer' })).toEqual({ value: '9007199254740993' });
    expect(writeEntry(['a', 'b'])).toBe('a\nb');
    expect(writeEntry({ a: 1 })).toBe('{\n  "a": 1\n}');
    expect(writeEntry(null)).toBeUndefined();
    expect(writeEntry(false)).toBe('false');
  });

  test('the first values are samples where a value is needed and nothing else stands in', () => {
    const list = [
      parameter({ name: 'id', type: 'integer' }),
      parameter({ name: 'day', type: 'date' }),
      parameter({ name: 'status', enum: ['open', 'done'] }),
      parameter({ name: 'limit', type: 'integer', default: 20 }),
      parameter({ name: 'q', required: false }),
    ];
    expect(sampleEntries(list, '2026-05-01')).toEqual({
      id: '1',
      day: '2026-05-01',
      status: 'open',
      limit: undefined,
      q: undefined,
    });
  });
});
