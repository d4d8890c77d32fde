import { expect, test } from 'bun:test';
import { createApi } from '#ui/src/api.ts';
import { createSessionGate } from '#ui/src/kernel/data/session-gate.ts';
import { toProblem } from '#ui/src/kernel/problem.ts';
import { createSession } from '#ui/src/kernel/session.ts';

/** A gate over the real client; the network below it keeps the order of what it was asked, and answers when it is told to. */
function gateOver(status = 200) {
  const asked: string[] = [];
  const given_up: string[] = [];
  const waiting: (() => void)[] = [];
  const fetch = (url: string, { method, signal }: RequestInit) => {
    const line = `${method} ${url.replace('/api/v1', '')}`;
    asked.push(line);
    const { promise, resolve, reject } = Promise.withResolvers<Response>();
    signal?.addEventListener('abort', () => {
      given_up.push(line);
      reject(signal.reason);
    });
    waiting.push(() => resolve(Response.json({ id: 'ada', role: 'owner', version: '1', providers: [] }, { status })));
    return promise;
  };
  const api = createApi({ fetch, onSessionEnd: () => {} });
  const gate = createSessionGate(api, fetch);
  const session = createSession(api, { gate });
  const go = async () => {
    for (const answer of waiting.splice(0)) answer();
    await Bun.sleep(0);
  };
  return { gate, session, asked, given_up, go };
}

const outcome = (answer: Promise<unknown>) =>
  answer.then(
    () => 'answered',
    (fault: unknown) => toProblem(fault).code,
  );
const LIST = 'GET /tools?limit=5';
const LOGOUT = 'POST /auth/logout';

test('signing out gives up every read, also those that have a body, before the server hears of it', async () => {
  const { gate, session, asked, given_up, go } = gateOver();
  const reads = [
    outcome(gate.call('tools.list', { limit: 5 })),
    outcome(gate.call('auth.me', {})),
    outcome(gate.call('connections.test', { id: 'c' })),
    outcome(gate.call('insights.find', { question: 'orders' })),
    outcome(gate.send('/playground/mcp', { method: 'POST' })),
  ];
  const read = [LIST, 'GET /auth/me', 'POST /connections/c/test', 'POST /insights/find', 'POST /playground/mcp'];
  expect(asked).toEqual(read);
  const left = session.logout();
  expect(given_up.toSorted()).toEqual(read.toSorted());
  expect(await Promise.all(reads)).toEqual(read.map(() => 'aborted'));
  // A part of the page that was still on its way, or something that was clicked meanwhile.
  const late = [
    outcome(gate.call('tools.list', { limit: 5 })),
    outcome(gate.call('tools.delete', { id: 't' })),
    outcome(gate.send('/playground/mcp', { method: 'DELETE' })),
  ];
  await Bun.sleep(0);
  expect(asked).toEqual([...read, LOGOUT]);
  await go();
  expect(await left).toBeUndefined();
  expect(await Promise.all(late)).toEqual(late.map(() => 'aborted'));
  expect([session.state(), await outcome(gate.call('tools.list', { limit: 5 }))]).toEqual(['anonymous', 'aborted']);
  // Signing in needs nobody's session.
  expect(asked).toEqual([...read, LOGOUT, 'GET /auth/status']);
});

test('signing out waits for changes and for lines that say goodbye, and a second one joins the first', async () => {
  const { gate, session, asked, given_up, go } = gateOver();
  const order: string[] = [];
  gate.attach({ open: () => order.push('open'), close: async () => void (await gate.send('/mcp', { method: 'DELETE' })) });
  const change = outcome(gate.call('tools.delete', { id: 't' }));
  const both = [session.logout(), session.logout()];
  await Bun.sleep(0);
  expect([asked, given_up]).toEqual([['DELETE /tools/t', 'DELETE /mcp'], []]);
  await go();
  expect([await change, asked.at(-1)]).toEqual(['answered', LOGOUT]);
  await go();
  expect(await Promise.all(both)).toEqual([undefined, undefined]);
  // A part of the page that came late opens nothing.
  gate.attach({ open: () => order.push('late'), close: () => Promise.resolve() });
  expect([asked.filter((line) => line === LOGOUT).length, order]).toEqual([1, ['open']]);
});

test('a sign-out that failed lets go on what waited, and opens lines again', async () => {
  const { gate, session, asked, go } = gateOver(503);
  let opened = 0;
  const detach = gate.attach({ open: () => void (opened += 1), close: () => Promise.resolve() });
  const left = session.logout();
  const waits = outcome(gate.call('tools.list', { limit: 5 }));
  await Bun.sleep(0);
  expect(asked).toEqual([LOGOUT]);
  await go();
  expect((await left)?.code).toBe('unavailable');
  await Bun.sleep(0);
  expect([asked, opened]).toEqual([[LOGOUT, LIST], 2]);
  await go();
  expect(await waits).toBe('unavailable');
  detach();
  gate.resume();
  expect(opened).toBe(2);
});

test('what an expired page reads waits until somebody has signed in again', async () => {
  const { gate, session, asked, go } = gateOver();
  const loaded = session.login({ username: 'ada', password: 'correct horse' });
  await go();
  await go();
  expect([await loaded, session.state()]).toEqual(['signed_in', 'signed_in']);
  asked.length = 0;
  session.end();
  const waits = outcome(gate.call('tools.list', { limit: 5 }));
  await Bun.sleep(0);
  expect(asked).toEqual([]);
  const again = session.login({ username: 'ada', password: 'correct horse' });
  await go();
  await go();
  expect(await again).toBe('signed_in');
  await go();
  expect(await waits).toBe('answered');
  session.end();
  const over = outcome(gate.call('tools.list', { limit: 5 }));
  session.leave();
  expect([await over, session.state()]).toEqual(['aborted', 'anonymous']);
});
