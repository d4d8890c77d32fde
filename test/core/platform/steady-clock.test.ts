import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { withSteadyClock } from '#core/platform/steady-clock.ts';
import { type TestApp, testApp } from '#test/support/app.ts';
import { namedStores } from '#test/support/metadata.ts';

const [MINUTE, HOUR, DAY] = [60_000, 3_600_000, 24 * 3_600_000];

describe.each([...namedStores])('deletions by a clock (%s)', (metadata) => {
  let t: TestApp;
  beforeEach(async () => {
    t = await testApp({}, undefined, { metadata });
  });
  afterEach(() => t.close());
  const timeOf = () => withSteadyClock(t.app, async ({ clock }) => clock().toISOString());
  const now = () => t.app.clock().toISOString();
  const warnings = () => t.log.filter(({ message }) => message.startsWith('the clock is far ahead')).length;

  test('go on while it moves as time does', async () => {
    for (let n = 0; n < 20; n++) {
      expect(await timeOf()).toBe(now());
      t.advance(n % 2 === 0 ? MINUTE : 10 * MINUTE);
    }
    expect(warnings()).toBe(0);
  });

  test('wait after a jump ahead, and go on at once when it is set right', async () => {
    expect(await timeOf()).toBe(now());
    t.advance(400 * DAY);
    for (let n = 0; n < 5; n++) {
      expect(await timeOf()).toBeNull();
      t.advance(10 * MINUTE);
    }
    expect(warnings()).toBe(1);
    t.advance(-400 * DAY);
    expect(await timeOf()).toBe(now());
    // The next jump is one of its own.
    t.advance(400 * DAY);
    expect(await timeOf()).toBeNull();
    expect(warnings()).toBe(2);
  });

  test('go on after some hours: the server was off for long', async () => {
    expect(await timeOf()).toBe(now());
    t.advance(30 * DAY);
    for (let n = 0; n < 35; n++) {
      expect(await timeOf()).toBeNull();
      t.advance(10 * MINUTE);
    }
    t.advance(10 * MINUTE);
    expect(await timeOf()).toBe(now());
    t.advance(10 * MINUTE);
    expect(await timeOf()).toBe(now());
  });

  test('go by an earlier clock too', async () => {
    expect(await timeOf()).toBe(now());
    t.advance(-2 * HOUR);
    expect(await timeOf()).toBe(now());
    t.advance(MINUTE);
    expect(await timeOf()).toBe(now());
  });

  if (metadata === 'postgresql') {
    test('go by the clock of the database when that of the server is ahead', async () => {
      t.advance(Date.now() - t.app.clock().getTime());
      expect(await timeOf()).not.toBeNull();
      t.advance(400 * DAY);
      expect(Math.abs(Date.parse((await timeOf()) ?? '') - Date.now())).toBeLessThan(MINUTE);
      expect(warnings()).toBe(0);
    });
  }
});
