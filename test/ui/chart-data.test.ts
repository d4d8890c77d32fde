import { expect, test } from 'bun:test';
import { chartData, partsOf, ticksFor } from '#ui/src/view/chart-data.ts';
import type { Drawing } from '#core/lib/view/drawing.ts';

const OVER_TIME: Drawing = { kind: 'line', x: 'at', y: ['level'], series: 'tank', title: null, format: null };
const at = (minute: number) => `2026-01-01T00:${String(minute).padStart(2, '0')}:00Z`;

test('a series is null where its row has no number, and undefined where it has no row', () => {
  const rows = [
    { at: at(1), tank: 'A', level: 1 },
    { at: at(2), tank: 'B', level: 5 },
    { at: at(3), tank: 'A', level: null },
    { at: at(4), tank: 'A', level: 3 },
  ];
  const { series, points } = chartData(OVER_TIME, { columns: ['at', 'tank', 'level'], rows });
  expect(series).toEqual(['A', 'B']);
  expect(points.map(({ values }) => values)).toEqual([
    [1, undefined],
    [undefined, 5],
    [null, undefined],
    [3, undefined],
  ]);
});

test('the scale of half a million values is found', () => {
  const values = Array.from({ length: 500_000 }, (_, n) => n % 90);
  expect(ticksFor(values)).toEqual([0, 20, 40, 60, 80, 100]);
});

test('what is beyond six parts is added up without the dust of binary fractions', () => {
  const rows = Array.from({ length: 8 }, (_, n) => ({ kind: `k${n}`, share: n < 5 ? 10 : 0.1 }));
  const drawing: Drawing = { ...OVER_TIME, kind: 'pie', x: 'kind', y: ['share'], series: null };
  expect(partsOf(chartData(drawing, { columns: ['kind', 'share'], rows }))?.at(-1)).toEqual({ label: 'Other', value: 0.3 });
});
