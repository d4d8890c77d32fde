import { expect, test } from 'bun:test';
import type { StreamSocket } from '#ui/src/kernel/data/live-stream.ts';
import { createPulse } from '#ui/src/kernel/data/pulse.ts';

/** A pulse whose connection and clock the test controls. */
function pulseAt() {
  let at = 1_000;
  let line = new EventTarget();
  let ended = 0;
  let is_online = true;
  const pulse = createPulse({
    origin: 'ws://server',
    now: () => at,
    online: () => is_online,
    onSessionEnd: () => void (ended += 1),
    timers: { set: () => 0, clear: () => undefined },
    connect: () => {
      line = new EventTarget();
      return Object.assign(line, { close: () => undefined }) as unknown as StreamSocket;
    },
  });
  const tell = (type: string, more: object = {}) => void line.dispatchEvent(Object.assign(new Event(type), more));
  return {
    pulse,
    setOnline: (online: boolean) => void (is_online = online),
    pass: (ms: number) => (at += ms),
    now: () => at,
    ended: () => ended,
    open: () => {
      tell('open');
      tell('message', { data: JSON.stringify({ began: true }) });
    },
    hear: (...changed: string[]) => tell('message', { data: JSON.stringify({ changed }) }),
    close: (code: number) => tell('close', { code }),
  };
}

test('an announced change outdates what is derived from it; without a connection everything outdates', () => {
  const { pulse, pass, now, open, hear, close, setOnline } = pulseAt();
  pulse.line.open();
  const { isOld } = pulse;
  expect([isOld('tools.list', now()), isOld('tools.list', now() - 15_001)]).toEqual([false, true]);
  pass(2_000);
  open();
  const before = now() - 1_001;
  const read = pass(10);
  pass(10);
  expect([isOld('tools.list', before), isOld('tools.list', read)]).toEqual([true, false]);
  hear('connections.update', 'preview.tool', 'connections.test');
  const names = ['tools.list', 'connections.list', 'deploy.status', 'people.list', 'connections.types'] as const;
  expect(names.map((name) => isOld(name, read))).toEqual([true, true, true, false, false]);
  expect(isOld('tools.list', pass(1))).toBe(false);
  hear('calls');
  expect((['logs.list', 'metrics.stats', 'logs.get', 'notices.list'] as const).map((name) => isOld(name, read))).toEqual([
    true,
    true,
    false,
    false,
  ]);
  // A rollback can change any record.
  hear('history.rollback');
  expect([isOld('people.list', now()), isOld('people.list', pass(1))]).toEqual([true, false]);
  expect(isOld('people.list', now() - 900)).toBe(true);
  setOnline(false);
  expect(isOld('people.list', now() - 15_001)).toBe(true);
  setOnline(true);
  expect(isOld('people.list', now())).toBe(false);
  close(1_006);
  expect([isOld('people.list', now()), isOld('people.list', now() - 15_001)]).toEqual([false, true]);
});

test('a session that ended is reported, and changes that a broken connection missed outdate every answer', () => {
  const { pulse, pass, open, close, ended } = pulseAt();
  pulse.line.open();
  open();
  const read = pass(10);
  expect(pulse.isOld('tools.list', read)).toBe(false);
  pass(2_000);
  open();
  expect([pulse.isOld('tools.list', read), pulse.isOld('tools.list', pass(1))]).toEqual([true, false]);
  close(4_401);
  expect(ended()).toBe(1);
});

test('the notification of a change from this page outdates nothing, the next one does', () => {
  const { pulse, pass, open, hear } = pulseAt();
  pulse.line.open();
  open();
  const read = pass(10);
  pass(10);
  pulse.expect('tools.update');
  hear('tools.update');
  expect(pulse.isOld('tools.list', read)).toBe(false);
  hear('tools.update');
  expect(pulse.isOld('tools.list', read)).toBe(true);
});
