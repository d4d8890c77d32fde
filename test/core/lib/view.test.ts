import { describe, expect, test } from 'bun:test';
import type { View } from '#core/contract/definitions/view.ts';
import { resolveDrawing } from '#core/lib/view/drawing.ts';
import { columnKind, toTable, toTime } from '#core/lib/view/table.ts';

const tableOf = (rows: readonly object[]) => toTable({ rows }) ?? { columns: [], rows: [] };
const MONTHS = ['2026-01', '2026-02', '2026-03'];

describe('a result without a view of its own', () => {
  const CASES: readonly (readonly [string, readonly object[], object])[] = [
    ['one cell is a value', [{ total: 7 }], { kind: 'value', y: ['total'] }],
    ['one row is a record', [{ id: 1, name: 'Ada' }], { kind: 'record' }],
    ['no rows are a table', [], { kind: 'table' }],
    [
      'numbers of categories are bars',
      [
        { a: 'x', n: 1 },
        { a: 'y', n: 2 },
      ],
      { kind: 'bar', x: 'a', y: ['n'] },
    ],
    [
      'numbers that came as text are numbers',
      [
        { a: 'x', n: '1.50' },
        { a: 'y', n: '2' },
      ],
      { kind: 'bar', y: ['n'] },
    ],
    [
      'a category that comes twice is no axis',
      [
        { a: 'x', n: 1 },
        { a: 'x', n: 2 },
      ],
      { kind: 'table' },
    ],
    [
      'numbers that name something are no amounts',
      [
        { id: 1, name: 'a' },
        { id: 2, name: 'b' },
      ],
      { kind: 'table' },
    ],
    [
      'digits with a leading zero are a text',
      [
        { a: 'x', code: '007' },
        { a: 'y', code: '07' },
      ],
      { kind: 'table' },
    ],
    ['more than 50 categories are a table', Array.from({ length: 51 }, (_, n) => ({ a: `c${n}`, n })), { kind: 'table' }],
    ['numbers over time are lines', MONTHS.map((at, n) => ({ at, n, m: -n })), { kind: 'line', x: 'at', y: ['n', 'm'] }],
    [
      'years are times',
      [
        { year: 2024, n: 1 },
        { year: 2025, n: 2 },
      ],
      { kind: 'line', x: 'year', y: ['n'] },
    ],
    [
      'a time that comes twice is no axis',
      [
        { at: '2026-01-01', n: 1 },
        { at: '2026-01-01', n: 2 },
      ],
      { kind: 'table' },
    ],
    [
      'a text beside a time tells the lines apart',
      MONTHS.flatMap((at) => [
        { at, shop: 'a', n: 1 },
        { at, shop: 'b', n: 2 },
      ]),
      { kind: 'line', x: 'at', y: ['n'], series: 'shop' },
    ],
    [
      'texts alone are a table',
      [
        { a: 'x', b: 'y' },
        { a: 'z', b: 'w' },
      ],
      { kind: 'table' },
    ],
  ];
  for (const [name, rows, drawing] of CASES) {
    test(`is drawn by its rows: ${name}`, () => expect(resolveDrawing(null, tableOf(rows))).toMatchObject(drawing));
  }
});

describe('a view of a tool', () => {
  const rows = [
    { country: 'DE', year: 2025, n: 1, m: 2 },
    { country: 'FR', year: 2025, n: 3, m: 4 },
  ];
  const CASES: readonly (readonly [View, object])[] = [
    [{ kind: 'bar' }, { kind: 'bar', x: 'country', y: ['n', 'm'] }],
    [{ kind: 'bar', x: 'year' }, { kind: 'table' }],
    [{ kind: 'pie', x: 'year', y: ['n'] }, { kind: 'table' }],
    [
      { kind: 'bar', x: 'country', y: ['m'] },
      { kind: 'bar', x: 'country', y: ['m'], series: null },
    ],
    [
      { kind: 'pie', x: 'country' },
      { kind: 'pie', y: ['n'] },
    ],
    [
      { kind: 'line', series: 'country' },
      { kind: 'line', x: 'year', y: ['n'], series: 'country' },
    ],
    [{ kind: 'bar', x: 'gone' }, { kind: 'table' }],
    [{ kind: 'bar', y: ['country'] }, { kind: 'table' }],
    [
      { kind: 'record', title: 'Sums' },
      { kind: 'table', title: 'Sums' },
    ],
    [{ kind: 'value', y: ['n'] }, { kind: 'table' }],
    [
      { kind: 'table', y: ['n'], format: 'EUR' },
      { kind: 'table', y: ['n'], format: 'EUR' },
    ],
  ];
  for (const [view, drawing] of CASES) {
    test(`is completed from the rows, or a table: ${JSON.stringify(view)}`, () =>
      expect(resolveDrawing(view, tableOf(rows))).toMatchObject(drawing));
  }
});

test('times are read with and without a zone, and nothing else is a time', () => {
  expect(toTime('2026-01-02')).toBe(Date.UTC(2026, 0, 2));
  expect(toTime('2026-01-02 03:04:05')).toBe(Date.UTC(2026, 0, 2, 3, 4, 5));
  expect(toTime('2026-01-02 03:04:05.25+02')).toBe(Date.UTC(2026, 0, 2, 1, 4, 5, 250));
  expect(toTime('2026-01-02T03:04:05-0130')).toBe(Date.UTC(2026, 0, 2, 4, 34, 5));
  expect([toTime('2026'), toTime('2026-13-01'), toTime('call 2026-01-02'), toTime(20_260_102)]).toEqual([null, null, null, null]);
  expect(columnKind(tableOf([{ a: null }, { a: null }]), 'a')).toBe('text');
});

test('more lines than are drawn are a table', () => {
  const rows = Array.from({ length: 18 }, (_, n) => ({ year: 2024 + (n % 2), country: `c${n >> 1}`, n }));
  expect(resolveDrawing({ kind: 'line', series: 'country' }, tableOf(rows)).kind).toBe('table');
  expect(resolveDrawing({ kind: 'line', series: 'country' }, tableOf(rows.slice(0, 16))).kind).toBe('line');
});
