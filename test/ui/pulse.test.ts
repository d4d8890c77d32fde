import { expect, test } from 'bun:test';
import type { OperationName, Output } from '#core/contract/index.ts';
import type { Call } from '#ui/src/api.ts';
import { createCache } from '#ui/src/kernel/data/cache.ts';
import type { StreamSocket } from '#ui/src/kernel/data/live-stream.ts';
import { createPulse } from '#ui/src/kernel/data/pulse.ts';

/** A pulse whose line and clock the test has. */
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

test('an answer is old once its noun was announced, after a minute, and while no line is open', () => {
  const { pulse, pass, now, open, hear, close, setOnline } = pulseAt();
  pulse.line.open();
  const isOld = (noun: string, since: number) => pulse.isOld([noun], since);
  expect(isOld('tools', now())).toBe(true);
  open();
  const before = now();
  const asked = pass(10);
  pass(10);
  expect([isOld('tools', before), isOld('tools', asked)]).toEqual([true, false]);
  hear('connections.update', 'preview.tool', 'connections.test');
  expect(['tools', 'connections', 'deploy', 'people'].map((noun) => isOld(noun, asked))).toEqual([true, true, true, false]);
  expect(isOld('tools', pass(1))).toBe(false);
  hear('calls');
  expect(['logs', 'metrics', 'notices'].map((noun) => isOld(noun, asked))).toEqual([true, true, false]);
  // A rollback may have changed anything.
  hear('history.rollback');
  expect([isOld('people', now()), isOld('people', pass(1))]).toEqual([true, false]);
  expect(isOld('people', now() - 60_001)).toBe(true);
  setOnline(false);
  expect(isOld('people', now())).toBe(true);
  setOnline(true);
  expect(isOld('people', now())).toBe(false);
  close(1_006);
  expect(isOld('people', now())).toBe(true);
});

test('a session that ended is asked for, and what was missed while the line was broken is read again', () => {
  const { pulse, pass, open, close, ended, now } = pulseAt();
  pulse.line.open();
  open();
  const asked = pass(10);
  expect(pulse.isOld(['tools'], asked)).toBe(false);
  pass(10);
  open();
  expect([pulse.isOld(['tools'], asked), pulse.isOld(['tools'], pass(1))]).toEqual([true, false]);
  close(4_401);
  expect([ended(), pulse.isOld(['tools'], now())]).toEqual([1, true]);
});

test('a query at rest asks nothing until what it read is announced', async () => {
  const { pulse, pass, now, open, hear } = pulseAt();
  pulse.line.open();
  open();
  pass(10);
  let asked = 0;
  const call = ((_name: OperationName) => {
    asked += 1;
    return Promise.resolve({ items: [], total: 0 } as unknown as Output<'tools.list'>);
  }) as unknown as Call;
  const query = createCache(call, now).query((read) => read('tools.list', {}));
  const tick = async () => {
    pass(2_000);
    if (query.isOld(pulse.isOld)) await query.reload();
  };
  await query.show();
  for (let n = 0; n < 10; n++) await tick();
  expect(asked).toBe(1);
  hear('tools.create', 'notices');
  for (let n = 0; n < 5; n++) await tick();
  expect(asked).toBe(2);
  for (let n = 0; n < 60; n++) await tick();
  // Once a minute all the same.
  expect(asked).toBe(4);
  query.close();
});
