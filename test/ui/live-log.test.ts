import { expect, test } from 'bun:test';
import { createLiveLog, MOST_LINES, lineText, searchEntries } from '#ui/src/features/log/live-log.ts';

const frame = (seq: number, more: object = {}) =>
  JSON.stringify({
    type: 'log',
    seq,
    timestamp: '2026-01-01T00:00:00.000Z',
    level: 'INFO',
    source: 'tool',
    message: `tool orders_${seq}`,
    fields: { duration_ms: seq },
    ...more,
  });
const seqs = (log: ReturnType<typeof createLiveLog>) => log.entries().map((entry) => ('line' in entry ? entry.line.seq : 'lost'));

test('lines are kept in their order, each once, with the place where some were lost', () => {
  const log = createLiveLog('ws://here');
  for (const text of [JSON.stringify({ type: 'hello' }), frame(1), JSON.stringify({ type: 'ping' }), frame(2), 'nonsense'])
    log.take(text);
  log.take(JSON.stringify({ type: 'dropped', count: 7 }));
  log.take(frame(2));
  log.take(frame(12));
  expect(seqs(log)).toEqual([1, 2, 'lost', 12]);
  expect(log.url()).toBe('ws://here/api/v1/deploy/logs?since=12');
});

test('a line that a host tells late stands at its time, and nothing passes a gap', () => {
  const log = createLiveLog('ws://here');
  const at = (seconds: number) => ({ timestamp: `2026-01-01T00:00:0${seconds}.000Z` });
  log.take(frame(1, at(1)));
  log.take(frame(2, at(4)));
  log.take(frame(3, at(2)));
  log.take(frame(4, at(2)));
  expect(seqs(log)).toEqual([1, 3, 4, 2]);
  log.take(JSON.stringify({ type: 'dropped', count: 1 }));
  log.take(frame(9, at(3)));
  expect(seqs(log)).toEqual([1, 3, 4, 2, 'lost', 9]);
});

test('many lines are shown together, with one copy of the list', () => {
  const announced: (() => void)[] = [];
  const log = createLiveLog('ws://here', undefined, (publish) => announced.push(publish));
  for (let seq = 1; seq <= 1_000; seq++) log.take(frame(seq));
  expect(announced).toHaveLength(1);
  expect(log.entries()).toBe(log.entries());
  announced[0]?.();
  log.take(frame(1_001));
  expect([announced.length, log.entries().length]).toEqual([2, 1_001]);
});

test('a pause holds the list still and counts what comes', () => {
  const log = createLiveLog('ws://here');
  log.take(frame(1));
  log.pause();
  log.take(frame(2));
  log.take(frame(3));
  expect([seqs(log), log.waiting(), log.paused()]).toEqual([[1], 2, true]);
  log.resume();
  expect([seqs(log), log.waiting(), log.paused()]).toEqual([[1, 2, 3], 0, false]);
  log.pause();
  log.clear();
  log.take(frame(4));
  expect([seqs(log), log.waiting()]).toEqual([[], 1]);
  log.resume();
  expect(seqs(log)).toEqual([4]);
});

test('another selection asks anew, from the beginning', () => {
  let opened = 0;
  const log = createLiveLog('wss://here', () => void (opened += 1));
  log.take(frame(5));
  log.select({ level: 'WARNING', source: 'host' });
  log.select({ level: 'WARNING', source: 'host' });
  expect([opened, seqs(log), log.url()]).toEqual([1, [], 'wss://here/api/v1/deploy/logs?level=WARNING&source=host']);
  log.take(frame(3));
  expect(seqs(log)).toEqual([3]);
});

test('the list is bounded, and words find lines by all that stands in them', () => {
  const log = createLiveLog('ws://here');
  for (let seq = 1; seq <= MOST_LINES + 10; seq++) log.take(frame(seq));
  expect([log.entries().length, seqs(log)[0]]).toEqual([MOST_LINES, 11]);
  const [entry] = log.entries();
  if (entry === undefined || !('line' in entry)) throw new Error('There is no line.');
  expect(lineText(entry.line)).toBe('2026-01-01T00:00:00.000Z INFO tool tool orders_11 duration_ms=11');
  const searches = ['', 'ORDERS_11 info', 'orders_12', 'duration_ms=11'];
  expect(searches.map((search) => searchEntries([entry], search).length)).toEqual([1, 1, 0, 1]);
  expect(searchEntries([{ id: 'lost-1', dropped: 3 }], 'a')).toEqual([]);
});
