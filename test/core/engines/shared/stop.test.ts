import { describe, expect, test } from 'bun:test';
import { Stop, toAbortSignal } from '#core/engines/shared/stop.ts';
import { createTimeouts } from '#core/engines/shared/timeouts.ts';
import { openLightDeadline } from '#core/engines/shared/deadline.ts';

const settled = (run: (resolve: () => void) => void): Promise<void> => new Promise(run);

describe('what ends a call early', () => {
  test('tells every listener once, with the first reason', () => {
    const stop = new Stop();
    const heard: string[] = [];
    const forgotten = () => heard.push('forgotten');
    stop.addEventListener('abort', () => heard.push('a'));
    stop.addEventListener('abort', forgotten);
    stop.addEventListener('abort', () => heard.push('b'));
    stop.removeEventListener('abort', forgotten);
    const reason = new Error('first');
    stop.throwIfAborted();
    stop.abort(reason);
    stop.abort(new Error('second'));
    expect(heard).toEqual(['a', 'b']);
    expect(stop.reason).toBe(reason);
    expect(() => stop.throwIfAborted()).toThrow(reason);
  });

  test('is the platform’s own signal for what wants one, before and after it was aborted', () => {
    const stop = new Stop();
    const early = toAbortSignal(stop);
    expect(early.aborted).toBe(false);
    stop.abort();
    expect(early.reason).toMatchObject({ code: 'cancelled' });
    expect(toAbortSignal(stop).aborted).toBe(true);
    const own = new AbortController().signal;
    expect(toAbortSignal(own)).toBe(own);
  });
});

describe('timers of calls', () => {
  test('come due in their order, unless they were taken back', async () => {
    const timeouts = createTimeouts();
    const due: number[] = [];
    timeouts.add(5, () => due.push(1));
    const taken = timeouts.add(5, () => due.push(2));
    taken.clear();
    await settled((resolve) => void timeouts.add(20, resolve));
    // Those of one length share a timer, which goes on with those that came later.
    await settled((resolve) => {
      timeouts.add(5, () => due.push(3));
      timeouts.add(5, resolve);
    });
    expect(due).toEqual([1, 3]);
  });

  test('one that is taken back while others come due stays silent', async () => {
    const timeouts = createTimeouts();
    let called = false;
    await settled((resolve) => {
      timeouts.add(5, () => {
        later.clear();
        resolve();
      });
      const later = timeouts.add(5, () => {
        called = true;
      });
    });
    await settled((resolve) => void timeouts.add(10, resolve));
    expect(called).toBe(false);
  });

  test('a deadline says whether time was up or the caller left', async () => {
    const timeouts = createTimeouts();
    const late = openLightDeadline(timeouts, 5);
    await settled((resolve) => late.signal.addEventListener('abort', resolve));
    expect(late.signal.reason).toMatchObject({ code: 'timeout' });

    const caller = new Stop();
    const left = openLightDeadline(timeouts, 60_000, caller);
    const over = openLightDeadline(timeouts, 60_000, caller);
    over.clear();
    caller.abort();
    expect(left.signal.reason).toMatchObject({ code: 'cancelled' });
    expect(over.signal.aborted).toBe(false);
    expect(openLightDeadline(timeouts, 60_000, caller).signal.aborted).toBe(true);
  });
});
