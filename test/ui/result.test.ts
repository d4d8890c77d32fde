import { expect, test } from 'bun:test';
import { sortRows } from '#ui/src/components/table/table.ts';
import type { Table } from '#core/lib/view/table.ts';
import { isNumeric, ofPreview, sortValue, toResult } from '#ui/src/features/run/result.ts';

const PREVIEW = { row_count: 1, execution_time: 2, truncated: false };

const sorted = (table: Table, column: string, down = false): unknown[] =>
  sortRows(table.rows, sortValue(column, isNumeric(table, column)), down).map((row) => row[column]);

test('a preview has the rows of its statement, and what a model receives of them', () => {
  const rows = [{ id: 1 }];
  const model = { content: [{ type: 'text', text: 'one order' }], structuredContent: { total: 1 } };
  const result = ofPreview({ ...PREVIEW, columns: ['id'], column_types: ['int4'], rows, model });
  expect(result).toMatchObject({
    table: { columns: ['id'], types: ['int4'], rows },
    json: rows,
    parts: [{ kind: 'text', data: 'one order' }],
    structured: { total: 1 },
    bytes: 9,
  });
  expect(ofPreview({ ...PREVIEW, columns: ['id'], column_types: ['int4'], rows }).parts).toEqual([]);
});

test('a result that a limit cut off says so, of a tool and of a resource', () => {
  const rows = [{ id: 1 }];
  expect(toResult({ structuredContent: { rows, row_count: 1, truncated: true } }).truncated).toBe(true);
  expect(toResult({ structuredContent: { rows, row_count: 1, truncated: false } }).truncated).toBe(false);
  const contents = { uri: 'data://a', mimeType: 'application/json', text: JSON.stringify(rows) };
  expect(toResult({ contents: [{ ...contents, _meta: { truncated: true, row_count: 1 } }] }).truncated).toBe(true);
  expect(toResult({ contents: [contents] }).truncated).toBe(false);
  expect(ofPreview({ ...PREVIEW, truncated: true, columns: ['id'], column_types: ['int4'], rows }).truncated).toBe(true);
});

test('rows are sorted as what their column holds', () => {
  const rows = [
    { n: 10, big: '9007199254740993', text: 'b 10', at: '2026-02-01', made: { b: 1 } },
    { n: -2.5, big: '-3.5', text: 'b 9', at: null, made: { a: 1 } },
    { n: 3, big: '20', text: 'a', at: '2025-12-31', made: null },
  ];
  const table = { columns: ['n', 'big', 'text', 'at', 'made'], types: ['int4', 'numeric', 'text', 'date', 'jsonb'], rows };
  expect(table.columns.map((column) => isNumeric(table, column))).toEqual([true, true, false, false, false]);
  expect(sorted(table, 'n')).toEqual([-2.5, 3, 10]);
  expect(sorted(table, 'big', true)).toEqual(['9007199254740993', '20', '-3.5']);
  expect(sorted(table, 'text')).toEqual(['a', 'b 9', 'b 10']);
  expect(sorted(table, 'at')).toEqual(['2025-12-31', '2026-02-01', null]);
  expect(sorted(table, 'at', true)).toEqual(['2026-02-01', '2025-12-31', null]);
  expect(sorted(table, 'made')).toEqual([{ a: 1 }, { b: 1 }, null]);
});

test('digits of a text stay a text', () => {
  const table = toResult({ structuredContent: { rows: [{ code: '007' }, { code: '07' }] } }).table;
  expect(table === undefined ? undefined : isNumeric(table, 'code')).toBe(false);
});

test('a result leads to the file of all rows, only at an address of the web', () => {
  const link = (uri: string) => ({
    content: [
      { type: 'text', text: 'rows' },
      { type: 'resource_link', uri, name: 'orders.csv' },
    ],
  });
  expect(toResult(link('https://mcp.example.com/f/sealed')).file).toEqual({
    url: 'https://mcp.example.com/f/sealed',
    name: 'orders.csv',
  });
  expect(toResult(link('javascript:alert(1)')).file).toBeUndefined();
  expect(toResult({ content: [] }).file).toBeUndefined();
});
