import { afterEach, describe, expect, test } from 'bun:test';
import type { CallGroup, QueueGauge } from '#core/contract/observe/usage-batch.ts';
import { LOGGED_ARGUMENTS, type LoggedArguments, LONGEST_SEALED } from '#core/contract/observe/logged-arguments.ts';
import { createSealing } from '#core/lib/sealing.ts';
import { quantile } from '#core/lib/histogram.ts';
import { createLog, type LogLine } from '#core/process/log.ts';
import { createLines } from '#mcp-host/observe/usage.ts';
import { type Batch, createUsage, type Usage, type UsageOptions } from '#mcp-host/observe/usage.ts';
import type { UsageItem } from '#mcp-host/requests/usage-item.ts';
import { createWaits } from '#mcp-host/connections/waits.ts';
import { until } from '#test/support/until.ts';

const item = (name: string, over: Partial<CallGroup> = {}): UsageItem => ({
  of: {
    kind: 'tool',
    name,
    entity_id: name,
    connection_id: null,
    snapshot_version: 1,
    client: 'test/1',
    token_prefix: null,
    ...over,
  },
  timestamp: Date.parse('2026-03-01T12:00:00.000Z'),
  duration_ms: 1,
  wait_ms: 0,
  database_ms: 0,
  rows: 0,
  bytes: 0,
  tokens: 0,
  truncated: false,
  fault: null,
  trace_id: null,
  ignored_arguments: [],
  arguments: null,
});
const namesOf = (batch: Batch | undefined) => batch?.calls.group.map((place) => batch.groups[place]?.name);
const items = (count: number) => Array.from({ length: count }, (_, n) => item(`tool_${n}`));
const log = createLog('ERROR', () => undefined);

let usage: Usage | undefined;
afterEach(() => usage?.close());

function start(options: Partial<UsageOptions> & { answer?: () => Promise<void> }) {
  const sent: Batch[] = [];
  const { answer = () => Promise.resolve(), ...rest } = options;
  const send = async (batch: Batch) => {
    sent.push(batch);
    await answer();
  };
  const made = createUsage({ send, log, lines: createLines(), queues: () => [], interval_ms: 10_000, ...rest });
  usage = made;
  return { sent, usage: made };
}

describe('usage on its way to the server', () => {
  test('goes in batches one after the other until nothing is left, also what came meanwhile', async () => {
    const running = start({ batch_size: 10, answer: () => Bun.sleep(1) });
    for (const each of items(25)) running.usage.add(each);
    const first = running.usage.flush();
    await Bun.sleep(0);
    running.usage.add(item('late'));
    await first;
    await running.usage.flush();
    expect(running.sent.map(({ seq, calls }) => [seq, calls.timestamp.length])).toEqual([
      [1, 10],
      [2, 10],
      [3, 6],
    ]);
    expect(running.usage.dropped()).toBe(0);
  });

  test('says once what calls have in common, whoever calls in between, and a list for each field', async () => {
    const running = start({});
    const callers: Partial<CallGroup>[] = [{}, { client: 'other/2' }, { token_prefix: 'svc_mcp_AbCd' }, { snapshot_version: 2 }];
    const expected: [string, Partial<CallGroup>][] = [];
    for (let n = 0; n < 100; n++) {
      const call: [string, Partial<CallGroup>] = [`tool_${n % 3}`, callers[(n * 7) % callers.length] ?? {}];
      expected.push(call);
      running.usage.add({
        ...item(...call),
        duration_ms: n,
        fault: n % 10 === 0 ? { code: 'timeout', message: 'Too slow.', sqlstate: null } : null,
      });
    }
    await running.usage.flush();
    const [batch] = running.sent;
    expect(batch?.groups).toHaveLength(12);
    expect(batch?.calls.group.map((place) => batch.groups[place])).toEqual(expected.map((call) => item(...call).of));
    expect(batch?.calls.duration_ms).toEqual(Array.from({ length: 100 }, (_, n) => n));
    expect(batch?.calls.error.filter((code) => code === 'timeout')).toHaveLength(10);
    expect(new Set(Object.values(batch?.calls ?? {}).map((list) => list?.length))).toEqual(new Set([100]));
  });

  test('of calls that failed at length goes in more batches: the server takes no body of any size', async () => {
    const running = start({});
    const message = '"'.repeat(2_000);
    for (const each of items(3_000)) running.usage.add({ ...each, fault: { code: 'query_failed', message, sqlstate: null } });
    await running.usage.flush();
    expect(running.sent.map(({ calls }) => calls.timestamp.length)).toEqual([1_000, 1_000, 1_000]);
    expect(Math.max(...running.sent.map((batch) => JSON.stringify(batch).length))).toBeLessThan(16 * 1024 * 1024);
  });

  test('holds arguments encrypted, and of those that wait no more than a megabyte', async () => {
    const keys = ['k'.repeat(32)];
    const sealing = createSealing<LoggedArguments>(keys, LOGGED_ARGUMENTS, LONGEST_SEALED);
    const running = start({ sealing });
    const sent = (text: string) => {
      const logged = { called: 'tool', arguments: { text }, masked: [], left_out: [] };
      running.usage.add({ ...item('tool'), arguments: { logged, bytes: text.length } });
    };
    const large = 'x'.repeat(16_000);
    for (let n = 0; n < 66; n++) sent(large);
    running.usage.add(item('silent'));
    await running.usage.flush();
    sent(large);
    await running.usage.flush();
    const opened = running.sent.flatMap(({ notes }) => notes.map(({ arguments: text = '' }) => sealing.open(text)));
    expect(opened).toHaveLength(67);
    expect(JSON.stringify(running.sent).includes('x'.repeat(50))).toBe(false);
    expect(opened.filter((logged) => logged?.arguments['text'] === large)).toHaveLength(66);
    expect(opened[65]).toEqual({ called: 'tool', arguments: {}, masked: [], left_out: ['text'] });
  });

  test('of a busy host waits for a full batch, and no longer than its patience', async () => {
    const running = start({ interval_ms: 5, patience_ms: 60_000, batch_size: 500 });
    const lengths = () => running.sent.map(({ calls }) => calls.timestamp.length);
    for (const each of items(300)) running.usage.add(each);
    await until(() => running.sent.length === 1);
    for (const each of items(600)) running.usage.add(each);
    await until(() => running.sent.length === 2);
    await running.usage.flush();
    expect(lengths()).toEqual([300, 500, 100]);
    running.usage.close();
    const hasty = start({ interval_ms: 5, patience_ms: 0, batch_size: 500 });
    for (const each of items(300)) hasty.usage.add(each);
    await until(() => hasty.sent.length === 1);
    for (const each of items(200)) hasty.usage.add(each);
    await until(() => hasty.sent.length === 2);
    expect(hasty.sent[1]?.calls.timestamp).toHaveLength(200);
  });

  test('is sent again unchanged after a failure, and given up when the server says that it is malformed', async () => {
    const answers = [
      new Error('gone'),
      Object.assign(new Error('busy'), { status: 503 }),
      Object.assign(new Error('no'), { status: 422 }),
    ];
    const running = start({
      answer: () => {
        const next = answers.shift();
        return next === undefined ? Promise.resolve() : Promise.reject(next);
      },
    });
    running.usage.add(item('one'));
    await running.usage.flush();
    running.usage.add(item('two'));
    await running.usage.flush();
    await running.usage.flush();
    expect(running.sent.map((batch) => [batch.seq, namesOf(batch)?.[0]])).toEqual([
      [1, 'one'],
      [1, 'one'],
      [1, 'one'],
      [2, 'two'],
    ]);
    expect(running.usage.dropped()).toBe(1);
  });

  test('that the server fails to store each time is given up in the end, unless its database is only away', async () => {
    let status = 503;
    const running = start({ answer: () => Promise.reject(Object.assign(new Error('no'), { status })) });
    running.usage.add(item('one'));
    for (let n = 0; n < 500; n++) await running.usage.flush();
    expect([running.sent.at(-1)?.seq, running.usage.dropped()]).toEqual([1, 0]);
    status = 500;
    let tries = 0;
    for (; running.usage.dropped() === 0 && tries < 500; tries++) await running.usage.flush();
    expect(tries).toBe(100);
    running.usage.add(item('two'));
    await running.usage.flush();
    const last = running.sent.at(-1);
    expect([last?.seq, namesOf(last), running.usage.dropped()]).toEqual([2, ['two'], 1]);
  });

  test('while the server is away never grows beyond its capacity: the oldest calls go and are counted', async () => {
    const running = start({ capacity: 100, answer: () => Promise.reject(new Error('gone')) });
    for (const each of items(1_000)) running.usage.add(each);
    expect(running.usage.dropped()).toBeGreaterThanOrEqual(900);
    await running.usage.flush();
    expect(namesOf(running.sent[0])?.at(-1)).toBe('tool_999');
  });

  test('says how the queues are when they changed, and from time to time when they did not', async () => {
    const counters = { limit: 4, active: 0, waiting: 0, completed: 0, rejected: 0, timed_out: 0, longest_wait_ms: 0 };
    const queue = { id: 'c', name: 'shop', ...counters };
    let active = 0;
    const queues = (): QueueGauge[] => [{ ...queue, active, waits: { count: 0, total_ms: 0, histogram: {} } }];
    const running = start({ queues, interval_ms: 5, heartbeat_ms: 200 });
    await until(() => running.sent.length === 1);
    await Bun.sleep(50);
    expect(running.sent).toHaveLength(1);
    active = 2;
    await until(() => running.sent.length === 2);
    expect(running.sent.at(-1)?.queues).toMatchObject([{ active: 2 }]);
    await until(() => running.sent.length === 3);
    expect(running.sent.at(-1)).toMatchObject({ seq: 3, groups: [], queues: [{ active: 2 }] });
  });
});

test('lines on their way are bounded in number and length and hold plain values only', () => {
  const lines = createLines(3);
  const noted: LogLine[] = [];
  const from = createLog('INFO', (line) => noted.push(line), 'host');
  from.tap((line) => lines.add(line));
  for (let n = 0; n < 10; n++) from.info(`line ${n}`, { n, text: 'x'.repeat(5_000), nested: { secret: 1 }, nothing: null });
  from.debug('below the level');
  const taken = lines.take();
  expect(taken.map(({ message }) => message)).toEqual(['line 7', 'line 8', 'line 9']);
  expect(taken[0]?.fields).toEqual({ n: 7, text: 'x'.repeat(500), nothing: null });
  expect(lines.count()).toBe(0);
  expect(noted).toHaveLength(10);
});

test('waits are those of the last 5 to 10 minutes', () => {
  let now = 0;
  const waits = createWaits(() => now);
  for (const ms of [0, 100]) waits.add(ms);
  now = 6 * 60_000;
  waits.add(50);
  expect(waits.recent()).toMatchObject({ count: 3, total_ms: 150 });
  expect(quantile(waits.recent().histogram, 0.99)).toBeWithin(98, 102);
  now = 11.5 * 60_000;
  expect(waits.recent()).toMatchObject({ count: 1, total_ms: 50 });
  now = 60 * 60_000;
  expect(waits.recent()).toEqual({ count: 0, total_ms: 0, histogram: {} });
});
