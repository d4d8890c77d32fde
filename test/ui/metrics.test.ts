import { expect, test } from 'bun:test';
import { toCsv } from '#core/lib/csv.ts';
import {
  callsFilter,
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
import { behindHref, type Insight } from '#ui/src/features/insights/words.ts';
import { shownAt } from '#ui/src/pages/flow/traffic.ts';
import { barOf, spanOf } from '#ui/src/pages/logs/session-bars.ts';
import { groupQueues, keepOrder } from '#ui/src/pages/queue/groups.ts';
import { keepSamples, type QueueMetrics, queueState } from '#ui/src/features/queue/metrics-queue.ts';

const usage = (more: Partial<Stats['tools'][string]> = {}) => ({
  id: null,
  calls: 10,
  errors: 0,
  ran: more.calls ?? 10,
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

test('a link to calls keeps what the log can show, and the longest period is all of it', () => {
  expect(callsFilter({})).toEqual({});
  expect(callsFilter({ client: 'cursor' })).toEqual({ client: 'cursor' });
  expect([callsFilter({ person: 'ada' }), callsFilter({ client: 'cursor', token: 'svc' })]).toEqual([undefined, undefined]);
  const insight = { logs: { name: 'list_orders' }, rule: 'slow-tool' } as unknown as Insight;
  expect(['24h', '30d'].map((period) => behindHref(insight, period as '24h' | '30d'))).toEqual([
    '/logs?name=list_orders&range=24h',
    '/logs?name=list_orders&range=all',
  ]);
});

test('an address asks for a minute of the last hour, or for now', () => {
  const until = '2026-01-01T12:00:30.000Z';
  const shown = (given: string) => shownAt(given, until);
  expect(['', 'hour', 'nonsense', '2026-01-01T10:59:00.000Z', '2026-01-01T12:01:00.000Z'].map(shown)).toEqual([
    '',
    'hour',
    '',
    '',
    '',
  ]);
  expect(['2026-01-01T11:01:20.000Z', '2026-01-01T12:00:00.000Z'].map(shown)).toEqual([
    '2026-01-01T11:01:00.000Z',
    '2026-01-01T12:00:00.000Z',
  ]);
});

test('the bar of a session has a place in its lane, however short it is', () => {
  const times = (from: number, until: number) => ({
    started_at: new Date(from).toISOString(),
    last_at: new Date(until).toISOString(),
  });
  const span = spanOf([times(0, 500), times(1_000, 1_000)]);
  expect(span).toEqual({ from: 0, until: 1_000 });
  expect(barOf(times(0, 500), span)).toEqual({ left: 0, width: 50 });
  expect(barOf(times(1_000, 1_000), span)).toEqual({ left: 99.2, width: 0.8 });
});

test('totals weigh by calls that ran, and nothing called is no fault', () => {
  const total = totalsOf([usage({ calls: 1, avg_ms: 100, errors: 1 }), usage({ calls: 3, avg_ms: 20 })]);
  expect(total).toEqual({ calls: 4, errors: 1, error_rate: 0.25, avg_ms: 40 });
  const refused = usage({ calls: 100, ran: 3, avg_ms: 20, errors: 97 });
  expect(totalsOf([usage({ calls: 1, avg_ms: 100 }), refused]).avg_ms).toBe(40);
  expect(totalsOf([])).toEqual({ calls: 0, errors: 0, error_rate: 0, avg_ms: 0 });
  expect([0, 0.01, 0.5].map(errorTone)).toEqual(['good', 'warning', 'bad']);
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
    '/logs?kind=tool&name=a+b&outcome=failed&range=1h',
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

test('queues are grouped by their last two minutes, sorted by name, and stay in order under the pointer', () => {
  const queue = { waiting: 0, active: 0 } as QueueMetrics;
  const row = (id: string, of = queue) => ({ id, name: id, queue: of });
  const rows = [row('d'), row('c', { ...queue, active: 1 }), { id: 'b', name: 'b', queue: undefined }, row('a')];
  const before = groupQueues(rows, new Map([['a', [{ active: 1, waiting: 2 }]]]));
  expect(before).toEqual({ waiting: ['a'], used: ['c'], free: ['d'], none: ['b'] });
  const after = groupQueues([row('d', { ...queue, waiting: 3 }), row('c'), row('a'), row('e')], new Map());
  expect(after).toEqual({ waiting: ['d'], used: [], free: ['a', 'c', 'e'], none: [] });
  expect(keepOrder(before, after)).toEqual({ waiting: ['a'], used: ['c'], free: ['d', 'e'], none: [] });
});
