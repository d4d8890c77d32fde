import { describe, expect, test } from 'bun:test';
import { createQueue } from '#mcp-host/connections/queue.ts';

const limits = { name: 'shop', max_concurrency: 1, queue_limit: 2, queue_timeout_ms: 1_000 };
const settled = async (promise: Promise<void> | undefined): Promise<boolean> =>
  Promise.race([Promise.resolve(promise).then(() => true), Bun.sleep(1).then(() => false)]);

const refusal = (promise: Promise<void> | undefined): Promise<unknown> =>
  Promise.resolve(promise).then(
    () => null,
    (error: unknown) => error,
  );

describe('a connection’s queue', () => {
  test('lets calls in at once up to its concurrency, then in the order they came', async () => {
    const queue = createQueue(limits);
    expect(queue.enter()).toBeUndefined();
    const second = queue.enter();
    const third = queue.enter();
    expect(await settled(second)).toBe(false);
    queue.leave();
    expect(await settled(second)).toBe(true);
    expect(await settled(third)).toBe(false);
    queue.leave();
    expect(await settled(third)).toBe(true);
    queue.leave();
    expect(queue.counters()).toEqual({ active: 0, waiting: 0, completed: 3, rejected: 0, timed_out: 0, waits: 2 });
  });

  test('shares its waiting places: a caller with many gives up its newest to one with fewer', async () => {
    const queue = createQueue({ ...limits, queue_limit: 6 });
    const of = (name: string) => () => name;
    void queue.enter();
    const flood = Array.from({ length: 6 }, () => queue.enter(undefined, undefined, of('flood')));
    const outcomes = flood.map((entry) => refusal(entry));
    const other = Array.from({ length: 3 }, () => queue.enter(undefined, undefined, of('other')));
    const full = { code: 'queue_full' };
    expect(await Promise.all(outcomes.slice(3))).toMatchObject([full, full, full]);
    // Each has three: neither takes more from the other, and a third caller takes from either.
    expect(await refusal(queue.enter(undefined, undefined, of('other')))).toMatchObject(full);
    expect(await refusal(queue.enter(undefined, undefined, of('flood')))).toMatchObject(full);
    void queue.enter(undefined, undefined, of('third'));
    expect(queue.counters()).toMatchObject({ waiting: 6, rejected: 6 });
    for (let n = 0; n < 6; n++) queue.leave();
    expect(
      (await Promise.all([...flood.slice(0, 3), ...other].map((entry) => refusal(entry)))).filter((one) => one === null),
    ).toHaveLength(5);
  });

  test('a call that comes while others wait does not overtake them', async () => {
    const queue = createQueue(limits);
    void queue.enter();
    const waiting = queue.enter();
    queue.leave();
    const late = queue.enter();
    expect(await settled(waiting)).toBe(true);
    expect(await settled(late)).toBe(false);
    queue.leave();
    expect(await settled(late)).toBe(true);
  });

  test('calls that can be pipelined pass the slots of a connection in their order, and count as waiting', async () => {
    const queue = createQueue({ ...limits, queue_limit: 3 });
    let room = 1;
    const pipeline = () => room-- > 0;
    expect([queue.enter(undefined, pipeline), queue.enter(undefined, pipeline)]).toEqual([undefined, undefined]);
    const third = queue.enter(undefined, pipeline);
    expect(await settled(third)).toBe(false);
    expect(queue.counters()).toMatchObject({ active: 1, waiting: 2 });
    room = 1;
    queue.leave();
    expect(await settled(third)).toBe(true);
    expect(queue.counters()).toMatchObject({ active: 1, waiting: 1 });
    expect(await refusal(createQueue({ ...limits, max_concurrency: 1, queue_limit: 0 }).enter(undefined, pipeline))).toBeNull();
  });

  test('a call that has to run by itself after all comes before those who wait', async () => {
    const queue = createQueue({ ...limits, queue_limit: 3 });
    void queue.enter();
    expect(queue.enter(undefined, () => true)).toBeUndefined();
    const waiting = queue.enter();
    const back = queue.again();
    queue.leave();
    expect([await settled(back), await settled(waiting)]).toEqual([true, false]);
    queue.leave();
    expect(await settled(waiting)).toBe(true);
    queue.leave();
    expect(queue.counters()).toMatchObject({ active: 0, waiting: 0, completed: 3 });
    void queue.enter();
    void queue.enter(undefined, () => true);
    const gone = new AbortController();
    gone.abort();
    expect(await refusal(queue.again(gone.signal))).toMatchObject({ code: 'cancelled' });
    expect(queue.counters()).toMatchObject({ active: 1, waiting: 0 });
  });

  test('several that are displaced at once leave their slots to each other', async () => {
    const queue = createQueue({ ...limits, queue_limit: 3 });
    for (let n = 0; n < 3; n++) void queue.enter(undefined, () => true);
    const back = [queue.again(), queue.again(), queue.again()];
    for (const one of back) {
      expect(await settled(one)).toBe(true);
      queue.leave();
    }
  });

  test('a full queue turns calls away at once and says what to do', async () => {
    const queue = createQueue({ ...limits, queue_limit: 0 });
    void queue.enter();
    expect(await refusal(queue.enter())).toMatchObject({
      code: 'queue_full',
      detail: expect.stringMatching(/shop.*raise max_concurrency or queue_limit/),
    });
    expect(queue.counters().rejected).toBe(1);
  });

  test('a call that waited too long gives its place in the line up', async () => {
    const queue = createQueue({ ...limits, queue_timeout_ms: 5 });
    void queue.enter();
    expect(await refusal(queue.enter())).toMatchObject({ code: 'no_free_slot' });
    expect(queue.counters()).toMatchObject({ active: 1, waiting: 0, timed_out: 1 });
  });

  test('calls that wait now count with the time that they have waited so far', async () => {
    const queue = createQueue(limits);
    void queue.enter();
    expect(queue.gauge()).toMatchObject({ longest_wait_ms: 0, waits: { count: 1, total_ms: 0 } });
    void queue.enter()?.catch(() => undefined);
    await Bun.sleep(20);
    const { longest_wait_ms, waits } = queue.gauge();
    expect(longest_wait_ms).toBeGreaterThanOrEqual(15);
    expect([waits.count, waits.total_ms >= 15]).toEqual([2, true]);
    queue.leave();
    expect(queue.gauge()).toMatchObject({ longest_wait_ms: 0, waits: { count: 2 } });
  });

  test('a caller that leaves is forgotten, before and while it waits', async () => {
    const queue = createQueue(limits);
    void queue.enter();
    const controller = new AbortController();
    const waiting = queue.enter(controller.signal);
    controller.abort();
    expect(await refusal(waiting)).toMatchObject({ code: 'cancelled' });
    expect(await refusal(queue.enter(controller.signal))).toMatchObject({ code: 'cancelled' });
    expect(queue.counters()).toMatchObject({ active: 1, waiting: 0 });
    queue.leave();
    expect(queue.counters().active).toBe(0);
  });

  test('new limits let waiting calls in and keep the counters', async () => {
    const queue = createQueue(limits);
    void queue.enter();
    const waiting = queue.enter();
    queue.configure({ ...limits, max_concurrency: 2 });
    expect(await settled(waiting)).toBe(true);
    expect(queue.counters()).toMatchObject({ active: 2, waits: 1 });
  });

  test('a part of the limit bounds what runs, and is told of; without a part the whole limit counts', async () => {
    const queue = createQueue({ ...limits, max_concurrency: 3, queue_limit: 10 });
    let short = 0;
    queue.onShort(() => short++);
    queue.grant(1);
    expect(queue.enter()).toBeUndefined();
    const waiting = [queue.enter(), queue.enter(), queue.enter()];
    expect([queue.counters(), queue.gauge().limit, queue.limit(), short]).toMatchObject([{ active: 1, waiting: 3 }, 1, 3, 3]);
    queue.grant(2);
    await waiting[0];
    expect(queue.counters()).toMatchObject({ active: 2, waiting: 2 });
    queue.grant(0);
    queue.leave();
    queue.leave();
    expect(queue.counters()).toMatchObject({ active: 0, waiting: 2 });
    queue.grant(null);
    for (const entry of waiting) await entry;
    expect([queue.counters().active, queue.gauge().limit]).toEqual([2, 3]);
    queue.configure({ ...limits, max_concurrency: 1 });
    queue.grant(9);
    expect(queue.gauge().limit).toBe(1);
  });

  test('who leaves after the slots became fewer leaves no slot to those pipelined', () => {
    const queue = createQueue({ ...limits, max_concurrency: 2, queue_limit: 10 });
    for (let n = 0; n < 5; n++) void queue.enter(undefined, () => true);
    queue.grant(1);
    expect(queue.counters()).toMatchObject({ active: 2, waiting: 3 });
    for (const waiting of [3, 2, 1, 0]) {
      queue.leave();
      expect(queue.counters()).toMatchObject({ active: 1, waiting });
    }
    queue.leave();
    expect(queue.counters()).toMatchObject({ active: 0, waiting: 0 });
  });

  test.each([0, 1, null])('who hears of a shortage may change the part at once, to %p', async (part) => {
    const queue = createQueue({ ...limits, max_concurrency: 3, queue_limit: 10 });
    queue.grant(1);
    let is_seat = false;
    const entered = [queue.enter(), queue.enter(undefined, () => is_seat)];
    queue.onShort(() => queue.grant(part));
    is_seat = true;
    queue.grant(1);
    for (const entry of entered) await entry;
    const { active, waiting } = queue.counters();
    expect(active + waiting).toBe(2);
    for (let n = 0; n < 2; n++) queue.leave();
    expect(queue.counters()).toMatchObject({ active: 0, waiting: 0, completed: 2 });
  });

  test('never lets more in than its concurrency, however calls come, leave and give up', async () => {
    const queue = createQueue({ ...limits, max_concurrency: 3, queue_limit: 50, queue_timeout_ms: 20 });
    let active = 0;
    let most = 0;
    const call = async (n: number) => {
      const controller = new AbortController();
      if (n % 7 === 0) setTimeout(() => controller.abort(), n % 5);
      try {
        await queue.enter(controller.signal);
      } catch {
        return;
      }
      most = Math.max(most, ++active);
      await Bun.sleep(n % 4);
      active--;
      queue.leave();
    };
    await Promise.all(Array.from({ length: 200 }, (_, n) => Bun.sleep(n % 11).then(() => call(n))));
    const { active: left, waiting, completed, rejected, timed_out } = queue.counters();
    expect(most).toBe(3);
    expect({ left, waiting }).toEqual({ left: 0, waiting: 0 });
    expect(completed).toBeGreaterThan(0);
    expect(completed + rejected + timed_out).toBeLessThanOrEqual(200);
  });
});
