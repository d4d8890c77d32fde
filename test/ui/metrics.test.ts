import { expect, test } from 'bun:test';
import { toCsv } from '#core/lib/csv.ts';
import {
  callsHref,
  errorTone,
  fromKey,
  INTERVAL_SECONDS,
  keyOf,
  metricsHref,
  PERIODS,
  sparkPath,
  startOf,
  type Stats,
  topBy,
  toRows,
  totalsOf,
  isLonePoint,
} from '#ui/src/kernel/metrics.ts';
import { groupQueues, keepOrder } from '#ui/src/pages/queue/groups.ts';
import { keepSamples, type QueueMetrics, queueState } from '#ui/src/pages/queue/metrics-queue.ts';

const usage = (more: Partial<Stats['tools'][string]> = {}) => ({
  id: null,
  calls: 10,
  errors: 0,
  error_rate: 0,
  avg_ms: 5,
  p50_ms: 4,
  p95_ms: 9,
  p99_ms: 10,
  rows: 1,
  bytes: 2,
  last_called_at: '2026-01-01T00:00:00.000Z',
  outcomes: {},
  ...more,
});

test('statistics become rows with a key that survives an address', () => {
  const rows = toRows({ tools: { orders: usage() }, resources: { orders: usage() }, prompts: {} });
  expect(rows.map(({ key }) => key)).toEqual(['tool:orders', 'resource:orders']);
  expect(fromKey(keyOf('resource', 'a:b'))).toEqual({ kind: 'resource', name: 'a:b' });
  expect(['', 'tool', 'tool:', 'other:x'].map(fromKey)).toEqual([undefined, undefined, undefined, undefined]);
});

test('totals weigh by calls, and nothing called is no fault', () => {
  const total = totalsOf([usage({ calls: 1, avg_ms: 100, errors: 1 }), usage({ calls: 3, avg_ms: 20 })]);
  expect(total).toEqual({ calls: 4, errors: 1, error_rate: 0.25, avg_ms: 40 });
  expect(totalsOf([])).toEqual({ calls: 0, errors: 0, error_rate: 0, avg_ms: 0 });
  expect([0, 0.01, 0.5].map(errorTone)).toEqual(['good', 'brass', 'bad']);
});

test('the top of a column leaves out what has none, and is steady for equal figures', () => {
  const tools = { b: usage({ errors: 2 }), a: usage({ errors: 2 }), c: usage() };
  const rows = toRows({ tools, resources: {}, prompts: {} });
  expect(topBy(rows, 'errors', 5).map(({ name }) => name)).toEqual(['a', 'b']);
  expect(topBy(rows, 'calls', 1)).toHaveLength(1);
});

test('every period has at most a hundred points of whole minutes that fill it', () => {
  for (const period of PERIODS) {
    const hours =
      (Date.parse('2026-01-08T00:00:00Z') - Date.parse(startOf(period, Date.parse('2026-01-08T00:00:00Z')))) / 3_600_000;
    const points = (hours * 3_600) / INTERVAL_SECONDS[period];
    expect([period, Number.isInteger(points) && points <= 100 && points >= 60]).toEqual([period, true]);
  }
});

test('a spark line fills its box, and needs two values', () => {
  expect(sparkPath([0, 2, 1], 20, 10)).toBe('M0 10L10 0L20 5');
  expect(sparkPath([0, 0], 20, 10)).toBe('M0 10L20 10');
  expect([sparkPath([], 20, 10), sparkPath([1], 20, 10)]).toEqual(['', '']);
});

test('a table for spreadsheets quotes what needs it and runs nothing', () => {
  expect(
    toCsv(
      ['a', 'b'],
      [
        ['x,"y"', 1],
        ['=1+1', null],
        ['two\nlines', -2],
      ],
    ),
  ).toBe('a,b\r\n"x,""y""",1\r\n\'=1+1,\r\n"two\nlines",-2\r\n');
});

test('a figure leads to the calls behind it', () => {
  expect(callsHref({ kind: 'tool', name: 'a b', outcome: 'failed', range: '1h' })).toBe(
    '/logs?view=requests&kind=tool&name=a+b&outcome=failed&range=1h',
  );
  expect([metricsHref('24h'), metricsHref('1h', 'tool:a')]).toEqual(['/metrics?', '/metrics?period=1h&of=tool%3Aa']);
});

test('a series with one value is drawn as a dot', () => {
  expect([[], [null, null], [null, 3, null], [0], [1, 2], [1, null, 2]].map(isLonePoint)).toEqual([
    false,
    false,
    true,
    true,
    false,
    false,
  ]);
});

test('a queue is full when calls wait or every place is taken, and what it did is remembered for a while', () => {
  const queue = (active: number, waiting: number): QueueMetrics => ({
    name: 'shop',
    active,
    waiting,
    limit: 4,
    completed: 0,
    rejected: 0,
    timed_out: 0,
    avg_wait_ms: 0,
    p95_wait_ms: 0,
    longest_wait_ms: 0,
  });
  expect([undefined, queue(0, 0), queue(2, 0), queue(4, 0), queue(1, 1)].map(queueState)).toEqual([
    'idle',
    'calm',
    'busy',
    'full',
    'full',
  ]);
  let kept: ReturnType<typeof keepSamples> = new Map([['gone', [{ active: 1, waiting: 0 }]]]);
  for (let n = 0; n < 70; n++) kept = keepSamples(kept, { c1: queue(n, 0) });
  expect([kept.has('gone'), kept.get('c1')?.length, kept.get('c1')?.at(-1)]).toEqual([false, 60, { active: 69, waiting: 0 }]);
});

test('queues are grouped by their last two minutes and sorted by name, and keep their order while a person points at them', () => {
  const queue = { waiting: 0, active: 0 } as QueueMetrics;
  const row = (id: string, of = queue) => ({ id, name: id, queue: of });
  const rows = [row('d'), row('c', { ...queue, active: 1 }), { id: 'b', name: 'b', queue: undefined }, row('a')];
  const before = groupQueues(rows, new Map([['a', [{ active: 1, waiting: 2 }]]]));
  expect(before).toEqual({ waiting: ['a'], used: ['c'], free: ['d'], none: ['b'] });
  const after = groupQueues([row('d', { ...queue, waiting: 3 }), row('c'), row('a'), row('e')], new Map());
  expect(after).toEqual({ waiting: ['d'], used: [], free: ['a', 'c', 'e'], none: [] });
  expect(keepOrder(before, after)).toEqual({ waiting: ['a'], used: ['c'], free: ['d', 'e'], none: [] });
});
