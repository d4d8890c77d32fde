import { expect, test } from 'bun:test';
import type { Mask, MaskKind } from '#core/contract/definitions/masks.ts';
import {
  createMasker,
  createPseudonym,
  maskClass,
  type MaskRule,
  schemaColumns,
  toRules,
  unknownMasks,
} from '#core/query/masks.ts';
import { outputSchema } from '#core/query/shape.ts';
import type { Column, Json, QueryResult } from '#core/lib/sql/result.ts';

const KEYS = ['key-of-the-tests-0123456789abcdef-0123'];
const pseudonym = createPseudonym(KEYS);
const mask = (column: string, kind: MaskKind, ...unless_groups: string[]): Mask => ({ column, mask: kind, unless_groups });
const text = (name: string): Column => ({ name, type: 'text', kind: 'string' });
const resultOf = (columns: readonly Column[], ...rows: QueryResult['rows']): QueryResult => ({
  columns,
  rows,
  truncated: false,
  affected_rows: null,
});
const maskResult = (result: QueryResult, rules: readonly MaskRule[], groups: readonly string[] = []): QueryResult =>
  createMasker(rules)(result, groups, pseudonym);
const masked = (kind: MaskKind, value: Json): Json | undefined =>
  maskResult(resultOf([text('x')], { x: value }), toRules([mask('x', kind)], null)).rows[0]?.['x'];

test.each<[MaskKind, Json, Json | undefined]>([
  ['null', 'secret', null],
  ['text', 'secret', '***'],
  ['text', 42, '***'],
  ['text', null, null],
  ['last4', '4242424242424242', '****4242'],
  ['last4', '1234567', '****'],
  ['last4', 12_345_678, '****5678'],
  ['email', 'ada@example.com', 'a***@example.com'],
  ['email', '"a b@c"@example.com', '"***@example.com'],
  ['email', '@example.com', '***'],
  ['email', 'ada@', '***'],
  ['email', 'mail ada@example.com or her phone 123', '***'],
  ['email', 'no address', '***'],
  ['year', '1984-05-02', '1984'],
  ['year', '1984-05-02T10:00:00Z', '1984'],
  ['year', 'May 1984', null],
  ['year', 1984, null],
  ['text', { a: 1 }, '***'],
  ['remove', 'secret', undefined],
])('the mask %s of %p is %p', (kind, value, wanted) => expect(masked(kind, value)).toEqual(wanted as Json));

test('a hash is the same for equal values, another for another key, and not what it was', () => {
  expect(masked('hash', 'ada')).toBe(masked('hash', 'ada') as string);
  expect(masked('hash', 'ada')).toMatch(/^[\w-]{22}$/);
  expect(masked('hash', 'ada')).not.toBe(masked('hash', 'adb') as string);
  expect(createPseudonym(['another key'])('ada')).not.toBe(pseudonym('ada'));
});

test('a column is masked under every name that the result has for it', () => {
  const columns = [text('Email'), text('email_2'), { ...text('contact'), origin: 'email' }, text('email_3'), text('name')];
  const rules = toRules([mask('email', 'text')], columns);
  const { rows } = maskResult(
    resultOf(columns, { Email: 'a@b.c', email_2: 'a@b.c', contact: 'a@b.c', email_3: 'a@b.c', name: 'Ada' }),
    rules,
  );
  expect(rows).toEqual([{ Email: '***', email_2: '***', contact: '***', email_3: '***', name: 'Ada' }]);
  // Without a column email, email_2 is a name of its own.
  expect(maskResult(resultOf([text('email_2')], { email_2: 'x' }), rules).rows).toEqual([{ email_2: 'x' }]);
});

test('a row object from elsewhere is not changed, and nothing of a removed column stays', () => {
  const row = { id: 1, secret: 's' };
  const result = maskResult(resultOf([text('id'), text('secret')], row), toRules([mask('secret', 'remove')], null));
  expect(result.columns.map(({ name }) => name)).toEqual(['id']);
  expect(result.rows).toEqual([{ id: 1 }]);
  expect(row.secret).toBe('s');
});

test('groups that may see the values do, and callers of other groups are another class', () => {
  const rules = toRules([mask('a', 'text', 'staff'), mask('b', 'text')], null);
  const seenBy = (...groups: string[]) => maskResult(resultOf([text('a'), text('b')], { a: '1', b: '2' }), rules, groups).rows;
  expect(seenBy('staff')).toEqual([{ a: '1', b: '***' }]);
  expect(seenBy('Staff', '')).toEqual([{ a: '***', b: '***' }]);
  expect([maskClass(rules, ['staff']), maskClass(rules, []), maskClass(rules, ['x'])]).toEqual(['01', '11', '11']);
});

test('a mask of a column that is not there is refused with the names that are', () => {
  expect(unknownMasks([mask('mail', 'text'), mask('ID', 'text')], [text('id'), text('email')])).toEqual([
    { field: 'masks.0.column', message: 'The result has no column mail. Its columns are id, email.' },
  ]);
  expect(unknownMasks([mask('mail', 'text')], null)).toEqual([]);
});

test('the output schema says what is masked, and allows what each caller gets', () => {
  const columns: Column[] = [{ name: 'age', type: 'int4', kind: 'integer' }, text('email'), text('pin')];
  const schema = outputSchema(
    'row',
    schemaColumns(columns, [mask('age', 'text', 'staff'), mask('email', 'email'), mask('pin', 'remove', 'staff')]),
    false,
  );
  expect(JSON.parse(JSON.stringify(schema))).toMatchObject({
    properties: {
      row: {
        anyOf: [
          {
            properties: {
              age: {
                description: 'Masked: *** for some callers',
                anyOf: [{ anyOf: [{ type: 'integer' }, { type: 'null' }] }, { anyOf: [{ type: 'string' }, { type: 'null' }] }],
              },
              email: { description: 'Masked: only the first letter and the domain' },
              pin: { description: 'Left out for some callers' },
            },
            required: ['age', 'email'],
          },
          { type: 'null' },
        ],
      },
    },
  });
  const without = outputSchema('row', schemaColumns(columns, [mask('pin', 'remove')]), false);
  expect(JSON.stringify(without)).not.toContain('pin');
});
