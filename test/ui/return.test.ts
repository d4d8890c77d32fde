import { expect, setSystemTime, test } from 'bun:test';
import { createLiveStream, type StreamSocket } from '#ui/src/kernel/data/live-stream.ts';
import { createPresence } from '#ui/src/kernel/data/presence.ts';

/** Of a line that is dead. */
const SILENT_MS = 60_000;

test('who comes back after more than five minutes, or to a page that the browser had stopped, is told so', () => {
  const document = Object.assign(new EventTarget(), { visibilityState: 'visible' });
  const browser = Object.assign(new EventTarget(), { document });
  let returns = 0;
  setSystemTime(new Date('2026-11-28T05:00:00Z'));
  createPresence(browser as unknown as Window, () => (returns += 1));
  const after = (minutes: number, sign: () => void) => {
    setSystemTime(Date.now() + minutes * 60_000);
    sign();
    return returns;
  };
  expect(after(4, () => browser.dispatchEvent(new Event('pointermove')))).toBe(0);
  expect(after(6, () => browser.dispatchEvent(new Event('pointermove')))).toBe(1);
  expect(after(0, () => browser.dispatchEvent(new Event('pointermove')))).toBe(1);
  expect(after(60, () => document.dispatchEvent(new Event('visibilitychange')))).toBe(2);
  expect(after(0, () => document.dispatchEvent(new Event('resume')))).toBe(3);
  expect(after(0, () => browser.dispatchEvent(Object.assign(new Event('pageshow'), { persisted: false })))).toBe(3);
  expect(after(0, () => browser.dispatchEvent(Object.assign(new Event('pageshow'), { persisted: true })))).toBe(4);
  setSystemTime();
});

test('a stream that is silent for a minute is opened again, on a hidden page once it is shown', () => {
  const page = Object.assign(new EventTarget(), { visibilityState: 'visible' });
  const opened: { readonly tell: (type: string, event?: object) => void; closed: number }[] = [];
  let waits_ms = 0;
  let due: () => void = () => {};
  const stream = createLiveStream({
    page,
    url: () => '/logs',
    onMessage: () => {},
    connect: () => {
      const target = new EventTarget();
      const socket = {
        tell: (type: string, event = {}) => void target.dispatchEvent(Object.assign(new Event(type), event)),
        closed: 0,
      };
      opened.push(socket);
      return Object.assign(target, { close: () => void (socket.closed += 1) }) as unknown as StreamSocket;
    },
    timers: {
      set: (run, ms) => {
        waits_ms = ms;
        due = run;
        return run;
      },
      clear: (timer) => {
        if (timer === due) due = () => {};
      },
    },
  });
  stream.open();
  opened[0]?.tell('open');
  due();
  expect([opened.length, opened[0]?.closed, waits_ms]).toEqual([2, 1, SILENT_MS]);
  opened[1]?.tell('open');
  page.visibilityState = 'hidden';
  due();
  expect([stream.state(), opened.length, opened[1]?.closed]).toEqual(['waiting', 2, 1]);
  // What the browser notices later changes nothing.
  opened[1]?.tell('close', { code: 1_006 });
  page.visibilityState = 'visible';
  page.dispatchEvent(new Event('visibilitychange'));
  opened[2]?.tell('open');
  expect([stream.state(), opened.length]).toEqual(['open', 3]);
});
