import { expect, test } from 'bun:test';
import { type Command, createCommands, type KeyPress } from '#ui/src/kernel/commands.ts';
import { createCountdown } from '#ui/src/features/sign-in/countdown.ts';
import { createPoll, createQuery, type Timers } from '#ui/src/kernel/data/query.ts';
import type { Storage } from '#ui/src/kernel/storage.ts';
import { createTheme, type Theme } from '#ui/src/kernel/theme.ts';
import { createToasts } from '#ui/src/kernel/toasts.ts';
import { fullDay } from '#ui/src/kernel/dates.ts';
import { ago, clock, duration, plural, until } from '#ui/src/kernel/words.ts';
import { clientName } from '#core/client/client-texts.ts';
import { shellQuote } from '#core/lib/text/command-text.ts';

function memoryStorage(): Storage {
  const values = new Map<string, string>();
  return {
    read: (key) => values.get(key),
    write: (key, value) => void (value === undefined ? values.delete(key) : values.set(key, value)),
  };
}

/** Timers that run when told to. */
function handTimers() {
  const waiting = new Map<number, () => void>();
  let last = 0;
  const timers: Timers = {
    set(run) {
      last += 1;
      waiting.set(last, run);
      return last;
    },
    clear: (timer) => void waiting.delete(timer as number),
  };
  const elapse = async () => {
    const due = [...waiting];
    waiting.clear();
    for (const [, run] of due) run();
    await Bun.sleep(0);
  };
  return { timers, elapse, waiting };
}

const key = (name: string, more: Partial<KeyPress> = {}): KeyPress => ({
  key: name,
  ctrlKey: false,
  metaKey: false,
  altKey: false,
  repeat: false,
  defaultPrevented: false,
  target: null,
  preventDefault: () => {},
  ...more,
});

test('a key runs its command unless it is typed, repeated, modified, switched off or not possible now', () => {
  const commands = createCommands(memoryStorage());
  const ran: string[] = [];
  const command = (id: string, letter: string, enabled = true): Command => ({
    id,
    title: id,
    group: 'Server',
    key: letter,
    enabled: () => enabled,
    run: () => void ran.push(id),
  });
  commands.register([command('deploy', 'd'), command('never', 'n', false)]);

  expect(commands.press(key('d'))).toBe(true);
  const field = Object.assign(new EventTarget(), { closest: () => ({}) });
  for (const event of [
    key('d', { target: field }),
    key('d', { repeat: true }),
    key('d', { ctrlKey: true }),
    key('n'),
    key('x'),
  ]) {
    expect(commands.press(event)).toBe(false);
  }
  commands.setKeys(false);
  expect(commands.press(key('d'))).toBe(false);
  commands.run('deploy');
  expect(ran).toEqual(['deploy', 'deploy']);
});

test('commands leave with the part of the page that brought them, and single keys stay off after a reload', () => {
  const storage = memoryStorage();
  const commands = createCommands(storage);
  const leave = commands.register([{ id: 'a', title: 'A', group: 'Server', run: () => {} }]);
  commands.register([{ id: 'b', title: 'B', group: 'Server', run: () => {} }]);
  leave();
  expect(commands.all().map(({ id }) => id)).toEqual(['b']);
  commands.setKeys(false);
  expect(createCommands(storage).keys()).toBe(false);
});

test('an older answer never replaces a newer one, and a failure keeps the data', async () => {
  const answers = [Promise.withResolvers<string>(), Promise.withResolvers<string>(), Promise.withResolvers<string>()];
  const signals: AbortSignal[] = [];
  const query = createQuery((signal) => {
    signals.push(signal);
    return answers[signals.length - 1]!.promise;
  });
  const first = query.reload();
  const second = query.reload();
  expect(signals[0]?.aborted).toBe(true);
  answers[1]?.resolve('new');
  await second;
  answers[0]?.resolve('old');
  await first;
  expect([query.data(), query.pending()]).toEqual(['new', false]);

  const third = query.reload();
  answers[2]?.reject(new TypeError('Failed to fetch'));
  await third;
  expect([query.data(), query.problem()?.code]).toEqual(['new', 'offline']);
});

test('polling waits for its own answer, pauses while the page is hidden and ends when stopped', async () => {
  const { timers, elapse, waiting } = handTimers();
  let visible = true;
  let runs = 0;
  const answer = Promise.withResolvers<void>();
  const poll = createPoll({
    run: () => {
      runs += 1;
      return runs === 1 ? answer.promise : Promise.resolve();
    },
    every_ms: 2_000,
    visible: () => visible,
    timers,
  });
  poll.start();
  poll.start();
  await elapse();
  expect([runs, waiting.size]).toEqual([1, 0]);
  answer.resolve();
  await Bun.sleep(0);
  visible = false;
  await elapse();
  expect([runs, waiting.size]).toEqual([1, 1]);
  visible = true;
  await elapse();
  expect(runs).toBe(2);
  poll.stop();
  expect(waiting.size).toBe(0);
});

test('a countdown ends at zero, can be begun again and does not stand still with its timers', async () => {
  const { timers, elapse, waiting } = handTimers();
  let now = 5_000;
  const countdown = createCountdown(timers, () => now);
  countdown.start(2);
  countdown.start(1.2);
  expect([countdown.left(), waiting.size]).toEqual([2, 1]);
  for (const left of [1, 0]) {
    now += 1_000;
    await elapse();
    expect([countdown.left(), waiting.size]).toEqual([left, left]);
  }
  countdown.start(300);
  now += 250_000;
  await elapse();
  expect(countdown.left()).toBe(50);
  countdown.stop();
  expect([countdown.left(), waiting.size]).toEqual([0, 0]);
});

test('good news goes by itself, bad news stays, and the same sentence stands there once', async () => {
  const { timers, elapse } = handTimers();
  const toasts = createToasts(timers);
  toasts.show('Saved', 'good');
  toasts.show('Saved', 'good');
  toasts.show('Broken', 'bad');
  expect(toasts.list().map(({ text }) => text)).toEqual(['Saved', 'Broken']);
  await elapse();
  expect(toasts.list().map(({ text }) => text)).toEqual(['Broken']);
  toasts.dismiss(toasts.list()[0]?.id ?? 0);
  expect(toasts.list()).toEqual([]);
});

test('work that takes long is named until it ends, however long that is', async () => {
  const { timers, elapse } = handTimers();
  const toasts = createToasts(timers);
  const texts = () => toasts.list().map(({ text }) => text);
  expect(await toasts.during(Promise.resolve(1))).toBe(1);
  await elapse();
  expect(texts()).toEqual([]);

  const work = Promise.withResolvers<void>();
  const done = toasts.during(work.promise).catch(() => undefined);
  await elapse();
  toasts.hold(true);
  toasts.hold(false);
  await elapse();
  expect(texts()).toEqual(['Working…']);
  work.reject(new Error('refused'));
  await done;
  expect(texts()).toEqual([]);
});

test('the theme goes round, is remembered, and an unknown stored word means system', () => {
  const storage = memoryStorage();
  const applied: Theme[] = [];
  const choice = createTheme(storage, (theme) => void applied.push(theme));
  expect([choice.next(), choice.next()]).toEqual(['light', 'dark']);
  expect(createTheme(storage, () => {}).theme()).toBe('dark');
  choice.next();
  expect([storage.read('theme'), applied.at(-1)]).toEqual([undefined, 'system']);
  storage.write('theme', 'pink');
  expect(createTheme(storage, () => {}).theme()).toBe('system');
});

test('numbers, times and names read as people write them', () => {
  expect([plural(1, 'tool'), plural(1_200, 'tool'), plural(2, 'entry', 'entries')]).toEqual([
    '1 tool',
    '1,200 tools',
    '2 entries',
  ]);
  expect([duration(0.4), duration(184.4), duration(1_240)]).toEqual(['0 ms', '184 ms', '1.2 s']);
  expect([60_000, 725_400, 7_200_000, 5_400_000, 598_850_900].map(duration)).toEqual([
    '1 min',
    '12 min 5 s',
    '2 h',
    '1 h 30 min',
    '6 d 22 h',
  ]);
  expect([clock(9), clock(754)]).toEqual(['0:09', '12:34']);
  const now = Date.parse('2026-01-02T00:00:00.000Z');
  expect(['2026-01-02T00:00:03Z', '2026-01-01T23:59:18Z', '2026-01-01T22:30:00Z'].map((iso) => ago(iso, now))).toEqual([
    'just now',
    '42 seconds ago',
    '1 hour ago',
  ]);
  expect(ago('2025-06-03T12:00:00Z', now)).toBe(fullDay('2025-06-03T12:00:00Z'));
  expect(['2026-01-01T23:00:00Z', '2026-01-02T00:12:30Z', '2026-01-02T05:00:00Z'].map((iso) => until(iso, now))).toEqual([
    'now',
    'in 12 minutes',
    'in 5 hours',
  ]);
  expect(until('2026-03-04T12:00:00Z', now)).toBe(fullDay('2026-03-04T12:00:00Z'));
  expect([clientName('Northwind Shop!'), clientName('…')]).toEqual(['northwind-shop', 'sluice']);
  expect(shellQuote(`it's`)).toBe(`'it'\\''s'`);
});
