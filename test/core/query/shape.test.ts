import { describe, expect, test } from 'bun:test';
import type { Limit } from '#core/query/limits.ts';
import { csvOf } from '#core/query/text-formats.ts';
import { withoutBlankMessages } from '#core/query/shape.ts';
import { outputSchema, shape, shapeResource, toToolResult } from '#core/query/shape.ts';
import type { Column, QueryResult, Row, ValueKind } from '#core/lib/sql/result.ts';

const column = (name: string, kind: ValueKind): Column => ({ name, type: kind, kind });
const resultOf = (columns: Column[], rows: Row[], more: Partial<QueryResult> = {}): QueryResult => ({
  columns,
  rows,
  truncated: false,
  affected_rows: null,
  ...more,
});
const people = resultOf(
  [column('id', 'bigint'), column('name', 'string')],
  [
    { id: 1, name: 'Ada' },
    { id: '9007199254740993', name: null },
  ],
);
const nobody = resultOf([column('id', 'integer')], []);
const changed = resultOf([], [], { affected_rows: 3 });
const PNG = Buffer.from('89504e470d0a1a0a0000', 'hex').toString('base64');

describe('structured results', () => {
  test.each([
    ['rows', people, { rows: people.rows, row_count: 2, truncated: false }],
    ['rows', nobody, { rows: [], row_count: 0, truncated: false }],
    ['rows', changed, { rows: [], row_count: 0, truncated: false, affected_rows: 3 }],
    ['row', people, { row: { id: 1, name: 'Ada' } }],
    ['row', nobody, { row: null }],
    ['row', changed, { row: null, affected_rows: 3 }],
    ['column', people, { values: [1, '9007199254740993'] }],
    ['column', nobody, { values: [] }],
    ['value', people, { value: 1 }],
    ['value', nobody, { value: null }],
    ['value', changed, { value: null, affected_rows: 3 }],
    ['row', { ...people, truncated: true }, { row: { id: 1, name: 'Ada' } }],
  ] as const)('%s of %p is %p', (return_type, result, expected) => {
    expect(shape(result, return_type, null)).toEqual({ structured: expected, text: null, media: null, note: null });
  });

  test.each([
    ['rows', { rows: people.rows, row_count: 2, truncated: true }],
    ['column', { values: [1, '9007199254740993'], truncated: true }],
  ] as const)('%s that are cut say so, and which limit was reached', (return_type, structured) => {
    const noted = (limit?: Limit) => shape({ ...people, truncated: true, ...(limit && { limit }) }, return_type, null);
    expect(noted('max_rows')).toMatchObject({
      structured,
      note: 'Only the first 2 rows are here: max_rows was reached. Narrow the query to see the rest.',
    });
    expect(noted('max_tokens').note).toBe(
      'Only the first 2 rows are here: max_tokens was reached. Narrow the query or select fewer columns to see the rest.',
    );
    expect(noted().note).toContain('a row or size limit was reached');
    const none = { ...nobody, truncated: true, limit: 'max_tokens' } as const;
    expect(shape(none, return_type, null).note).toEndWith('or raise max_tokens of the tool.');
  });

  test('a first row that does not fit is not the same as none', () => {
    const cut = { ...nobody, truncated: true };
    const note = expect.stringContaining('max_bytes');
    expect(shape(cut, 'row', null)).toMatchObject({ structured: { row: null, truncated: true }, note });
    expect(shape(cut, 'value', null)).toMatchObject({ structured: { value: null, truncated: true }, note });
    expect(() => shape(cut, 'image', null)).toThrow('The first row is larger than a call can return.');
    expect(() => shapeResource(cut, 'image/png', null)).toThrow('The first row is larger than a call can return.');
  });

  test('a row keeps only the row of a repeated column name that the driver renamed', () => {
    const result = resultOf([column('n', 'integer'), column('n_2', 'integer')], [{ n: 1, n_2: 2 }]);
    expect(shape(result, 'row', null).structured).toEqual({ row: { n: 1, n_2: 2 } });
  });
});

describe('written results', () => {
  test.each([
    ['text', people, 'id\tname\n1\tAda\n9007199254740993\t'],
    ['text', resultOf([column('t', 'string')], [{ t: 'one' }, { t: 'two' }]), 'one\ntwo'],
    ['text', changed, '3 rows changed.'],
    ['text', { ...changed, affected_rows: 1 }, '1 row changed.'],
    ['markdown', people, '| id | name |\n| --- | --- |\n| 1 | Ada |\n| 9007199254740993 |  |'],
    ['markdown', resultOf([column('t', 'string')], [{ t: '# A | B' }]), '# A | B'],
    [
      'markdown',
      resultOf([column('a|b', 'string')], [{ 'a|b': 'x\ny' }, { 'a|b': 'p|q' }]),
      '| a\\|b |\n| --- |\n| x<br>y |\n| p\\|q |',
    ],
    ['csv', people, 'id,name\r\n1,Ada\r\n9007199254740993,\r\n'],
  ] as const)('%s of %p', (return_type, result, expected) => {
    expect(shape(result, return_type, null)).toEqual({
      structured: null,
      text: expected,
      media: null,
      note: null,
    });
  });

  test('CSV quotes what RFC 4180 asks for, and tells an empty text from null', () => {
    const result = resultOf(
      [column('a,b', 'string'), column('c', 'json')],
      [
        { 'a,b': 'say "hi"', c: { x: [1, 2] } },
        { 'a,b': 'line\r\nbreak', c: null },
        { 'a,b': '', c: true },
      ],
    );
    expect(csvOf(result)).toBe('"a,b",c\r\n"say ""hi""","{""x"":[1,2]}"\r\n"line\r\nbreak",\r\n"",true\r\n');
  });

  test('a cut result says so beside the text', () => {
    const { text, note } = shape({ ...people, truncated: true }, 'csv', null);
    expect(text).toStartWith('id,name');
    expect(note).toContain('first 2 rows');
  });
});

describe('templates', () => {
  test('JSON stands under result, text as text, a cut is noted', () => {
    expect(shape(people, 'rows', { kind: 'json', value: [1] })).toMatchObject({ structured: { result: [1] }, note: null });
    expect(shape({ ...people, truncated: true }, 'csv', { kind: 'text', text: 'hello' })).toMatchObject({
      structured: null,
      text: 'hello',
      note: expect.stringContaining('Only the first'),
    });
  });
});

describe('media', () => {
  const bytes = (hex: string, more: Row = {}, columns: Column[] = []) =>
    resultOf([column('b', 'bytes'), ...columns], [{ b: Buffer.from(hex, 'hex').toString('base64'), ...more }]);

  test.each([
    ['image', '89504e470d0a1a0a00', 'image/png'],
    ['image', 'ffd8ffe000', 'image/jpeg'],
    ['image', '474946383961', 'image/gif'],
    ['image', '524946460000000057454250', 'image/webp'],
    ['audio', '524946460000000057415645', 'audio/wav'],
    ['audio', '494433030000', 'audio/mpeg'],
    ['audio', '4f67675300', 'audio/ogg'],
    ['audio', '664c614300', 'audio/flac'],
  ] as const)('%s %s is seen to be %s', (kind, hex, mime_type) => {
    expect(shape(bytes(hex), kind, null).media).toMatchObject({ kind, mime_type });
  });

  const declared = (hex: string, mime_type: string) => bytes(hex, { mime_type }, [column('mime_type', 'string')]);

  test.each(['image/jpeg', 'image/jpg', 'image/PNG; a=b', 'image/x-icon', 'text/html'])(
    'the bytes of an image decide, whatever is declared: %s',
    (mime_type) => {
      const result = resultOf([column('b', 'string'), column('mime_type', 'string')], [{ b: PNG, mime_type }]);
      expect(shape(result, 'image', null).media).toEqual({ kind: 'image', mime_type: 'image/png', data: PNG });
    },
  );

  test('a declared type names a sound without a signature, without its parameters', () => {
    expect(shape(declared('00010203', 'audio/L16; rate=8000'), 'audio', null).media).toMatchObject({ mime_type: 'audio/l16' });
    expect(shape(declared('4f67675300', 'audio/opus'), 'audio', null).media).toMatchObject({ mime_type: 'audio/ogg' });
  });

  const svg = '<?xml version="1.0"?>\n<!-- made -->\n<svg xmlns="http://www.w3.org/2000/svg"/>';
  test.each([
    ['SVG', Buffer.from(svg).toString('hex'), { mimeType: 'image/svg+xml', text: svg }],
    ['BMP', '424d46000000000000003600', { mimeType: 'image/bmp' }],
    ['HEIC', '000000186674797068656963', { mimeType: 'image/heic' }],
    ['AVIF', '000000186674797061766966', { mimeType: 'image/avif' }],
    ['TIFF', '49492a0008000000', { mimeType: 'image/tiff' }],
  ])('an image that models are not shown is a resource: %s', (_, hex, expected) => {
    const [block] = toToolResult(shape(bytes(hex), 'image', null)).content;
    expect(block?.type).toBe('resource');
    expect(block).toHaveProperty('resource.mimeType', expected.mimeType);
    if ('text' in expected) expect(block).toHaveProperty('resource.text', expected.text);
    else expect(block).toHaveProperty('resource.blob', Buffer.from(hex, 'hex').toString('base64'));
  });

  test.each([
    ['nothing', resultOf([column('b', 'bytes')], [])],
    ['null', resultOf([column('b', 'bytes')], [{ b: null }])],
    ['unknown bytes', bytes('00010203')],
    ['one zero byte that is called an image', declared('00', 'image/png')],
    ['half a signature', declared('89504e47', 'image/png')],
    ['sound', bytes('4f67675300')],
  ])('an image of %s is refused', (_, result) => {
    expect(() => shape(result, 'image', null)).toThrow(expect.objectContaining({ code: 'bad_request' }));
  });
});

describe('output schemas', () => {
  test('rows name every column with its kind; a bigint may be a text', () => {
    const schema = outputSchema('rows', [...people.columns, column('name', 'json'), column('b', 'bytes')], false) as never;
    expect(schema).toMatchObject({
      type: 'object',
      properties: {
        rows: {
          items: {
            type: 'object',
            properties: {
              id: { anyOf: [{ type: 'integer' }, { type: 'string' }, { type: 'null' }] },
              name: { anyOf: [{ type: 'string' }, { type: 'null' }] },
              name_2: { anyOf: ['object', 'array', 'string', 'number', 'boolean', 'null'].map((type) => ({ type })) },
              b: { anyOf: [{ type: 'string', contentEncoding: 'base64' }, { type: 'null' }] },
            },
            required: ['id', 'name', 'name_2', 'b'],
          },
        },
      },
      required: ['rows', 'row_count', 'truncated'],
    });
  });

  test('row, column and value follow the first column; an undescribed statement has an open schema', () => {
    expect(outputSchema('row', people.columns, false)).toMatchObject({
      properties: { row: { anyOf: [{ type: 'object', required: ['id', 'name'] }, { type: 'null' }] } },
    });
    expect(outputSchema('column', people.columns, false)).toMatchObject({
      properties: { values: { items: { anyOf: [{ type: 'integer' }, { type: 'string' }, { type: 'null' }] } } },
    });
    expect(outputSchema('value', [column('n', 'boolean')], false)).toMatchObject({
      properties: { value: { anyOf: [{ type: 'boolean' }, { type: 'null' }] } },
    });
    expect(outputSchema('rows', null, false)).toMatchObject({ properties: { rows: { items: { type: 'object' } } } });
  });

  test('every schema says what it takes, with one type a branch', () => {
    const kinds: ValueKind[] = ['boolean', 'integer', 'bigint', 'number', 'string', 'bytes', 'json', 'array'];
    for (const return_type of ['rows', 'row', 'column', 'value'] as const) {
      for (const columns of [null, [], ...kinds.map((kind) => [column('c', kind)])]) {
        const text = JSON.stringify(outputSchema(return_type, columns, false));
        expect(text).not.toContain('{}');
        expect(text).not.toContain('"type":[');
      }
    }
  });

  test('only a statement without columns says how many rows it changed', () => {
    for (const return_type of ['rows', 'row', 'column', 'value'] as const) {
      const has = (columns: readonly Column[] | null) =>
        Object.hasOwn(outputSchema(return_type, columns, false)?.['properties'] as object, 'affected_rows');
      expect([people.columns, [], null].map(has)).toEqual([false, true, true]);
    }
  });

  test('text shapes and templates have none', () => {
    for (const return_type of ['text', 'markdown', 'csv', 'image', 'audio'] as const) {
      expect(outputSchema(return_type, people.columns, false)).toBeNull();
    }
    expect(outputSchema('rows', people.columns, true)).toBeNull();
  });
});

describe('resource bodies', () => {
  test.each([
    ['application/json', null, { text: JSON.stringify(people.rows) }],
    ['application/geo+json', null, { text: JSON.stringify(people.rows) }],
    ['text/csv; charset=utf-8', null, { text: 'id,name\r\n1,Ada\r\n9007199254740993,\r\n' }],
    ['text/plain', null, { text: '1\n9007199254740993' }],
    ['text/markdown', { kind: 'text', text: '# Hi' }, { text: '# Hi' }],
    ['application/json', { kind: 'json', value: { a: 1 } }, { text: '{"a":1}' }],
  ] as const)('%s with %p', (mime_type, transformed, expected) => {
    expect(shapeResource(people, mime_type, transformed)).toEqual(expected);
  });

  test('other types are the bytes of the first cell', () => {
    const shown = (type: string, b = PNG) => shapeResource(resultOf([column('b', 'bytes')], [{ b }]), type, null);
    expect(shown('image/png; a=b')).toEqual({ blob: PNG });
    expect(shown('application/pdf')).toEqual({ blob: PNG });
    expect(shown('image/jpeg')).toEqual({ blob: PNG, mimeType: 'image/png' });
    expect(shown('image/png', 'AAAA')).toEqual({ blob: 'AAAA', mimeType: 'application/octet-stream' });
    expect(() => shapeResource(nobody, 'application/pdf', null)).toThrow(expect.objectContaining({ code: 'bad_request' }));
  });
});

test('no text block is blank: models refuse the whole conversation for one', () => {
  for (const text of ['', ' \n\t']) {
    const result = resultOf([column('t', 'string')], [{ t: text }]);
    expect(toToolResult(shape(result, 'text', null)).content).toEqual([{ type: 'text', text: 'The result is empty.' }]);
    expect(toToolResult(shape(result, 'rows', { kind: 'text', text })).content).toEqual([
      { type: 'text', text: 'The result is empty.' },
    ]);
  }
  const message = (text: string) => ({ role: 'user', text });
  expect(withoutBlankMessages([message('Hi'), message(' '), message('there')])).toEqual([message('Hi'), message('there')]);
  expect(withoutBlankMessages([message(''), message('')])).toEqual([message('The result is empty.')]);
});
