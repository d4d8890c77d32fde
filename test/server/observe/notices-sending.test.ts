import { sql } from 'drizzle-orm';
import { afterAll, afterEach, beforeEach, expect, test } from 'bun:test';
import { emitEvent } from '#core/records/events.ts';
import { createHostWatch } from '#core/observe/notices/watch-hosts.ts';
import { keepSendingNotices, sendDue } from '#core/observe/notices/send.ts';
import { type TestApp, testApp } from '#test/support/app.ts';
import { connectHost } from '#test/support/host.ts';
import { until } from '#test/support/until.ts';
import { paced } from '#test/support/paced.ts';

/** A webhook is sent to as it is now, not as it was when a turn began. */
let t: TestApp;
let status = 200;
let whileSending: () => Promise<unknown> = async () => undefined;
const received: string[] = [];
const hook = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  async fetch(request) {
    received.push(new URL(request.url).pathname);
    const act = whileSending;
    whileSending = async () => undefined;
    await act();
    return new Response('', { status });
  },
});
const url = (path: string) => `http://127.0.0.1:${hook.port}${path}`;
let at: string;
const deliveries = async () => {
  const { notice_deliveries: table } = t.app.store.tables;
  return t.app.store.db.select().from(table).orderBy(table.id);
};

beforeEach(async () => {
  t = await testApp({}, undefined, { metadata: 'sqlite' });
  await t.signIn();
  received.length = 0;
  status = 200;
  const made = await t.call('notices.create', { name: 'team', url: url('/old'), events: ['deploy'] });
  at = `/api/v1/notices/${made.id}`;
  for (let n = 0; n < 3; n++) await emitEvent(t.app, 'deploy', { version: n, by: 'ada' });
});
afterEach(() => t.close());
afterAll(() => hook.stop(true));

test.each([200, 503])('one that is disabled while it answers %d gets nothing more', async (answer) => {
  status = answer;
  whileSending = () => t.request('PATCH', at, { body: { enabled: false } });
  await sendDue(t.app);
  t.advance(3_600_000);
  await sendDue(t.app);
  expect(received).toEqual(['/old']);
  const others = Array.from({ length: 2 }, () => ({ status: 'failed', error: 'The webhook was disabled.' }));
  expect(await deliveries()).toMatchObject([{ status: answer === 200 ? 'delivered' : 'failed' }, ...others]);
});

test('one that is deleted or gets another address in between is followed', async () => {
  whileSending = () => t.request('PATCH', at, { body: { url: url('/new') } });
  await sendDue(t.app);
  expect(received).toEqual(['/old', '/new', '/new']);
  for (let n = 0; n < 2; n++) await emitEvent(t.app, 'deploy', { version: n, by: 'ada' });
  whileSending = () => t.request('DELETE', at);
  await sendDue(t.app);
  expect(received).toHaveLength(4);
});

test('a server that lost its lease while it sent sends nothing more, and the next one sends the rest once', async () => {
  const { leases } = t.app.store.tables;
  whileSending = () => t.app.store.write((tx) => tx.update(leases).set({ holder: 'another server' }));
  await sendDue(t.app);
  expect(received).toHaveLength(1);
  expect((await deliveries()).map((row) => row.status)).toEqual(['delivered', 'waiting', 'waiting']);
  await t.app.store.write((tx) => tx.delete(leases));
  await sendDue(t.app);
  expect(received).toHaveLength(3);
});

test('a host that restarts is not told as lost, whether it left or crashed; one that stays away is', async () => {
  const { notice_events } = t.app.store.tables;
  const told = async () =>
    (await t.app.store.db.select().from(notice_events)).flatMap(({ event, data }) => (event === 'host_gone' ? [data['id']] : []));
  const look = createHostWatch(t.app);
  const wait = async () => {
    for (let n = 0; n < 8; n++) {
      t.advance(5_000);
      await look();
    }
  };
  const leave = async (id: string) => {
    const headers = { 'x-service-token': t.app.env.SVC_AGENT_SERVICE_TOKEN };
    const body = { boot_id: crypto.randomUUID() };
    expect((await t.request('POST', `/api/internal/hosts/${id}/leave`, { body, headers })).status).toBe(204);
  };
  // Two on one machine, and one elsewhere.
  const first = connectHost(t.app, 'web-aaaaaaaa-00000001');
  const second = connectHost(t.app, 'web-bbbbbbbb-00000001');
  const other = connectHost(t.app, 'db-cccccccc-00000001');
  await look();
  await leave('web-aaaaaaaa-00000001');
  first();
  await wait();
  expect(await told()).toEqual([]);
  t.advance(10_000);
  second();
  await look();
  t.advance(8_000);
  const again = connectHost(t.app, 'web-bbbbbbbb-00000002');
  await wait();
  expect(await told()).toEqual([]);
  // Crashed for good: that the one elsewhere is there changes nothing.
  again();
  await wait();
  expect(await told()).toEqual(['web-bbbbbbbb-00000002']);
  other();
  await wait();
  expect(await told()).toEqual(['web-bbbbbbbb-00000002', 'db-cccccccc-00000001']);
  // It is over for the one that comes back, and for no other.
  connectHost(t.app, 'db-cccccccc-00000002');
  await look();
  const lost = (await t.app.store.db.select().from(notice_events)).filter(({ event }) => event === 'host_gone');
  expect(lost.map(({ ended_at }) => ended_at !== null)).toEqual([false, true]);
});

test('a host that went while the database was away is told once it is back', async () => {
  const { db } = t.app.store;
  const gone = connectHost(t.app, 'host-1');
  const look = createHostWatch(t.app);
  await look();
  gone();
  t.advance(31_000);
  await t.app.store.write((tx) => tx.run(sql`alter table notice_events rename to away`));
  expect(
    await look().then(
      () => 'told',
      () => 'failed',
    ),
  ).toBe('failed');
  await t.app.store.write((tx) => tx.run(sql`alter table away rename to notice_events`));
  for (let n = 0; n < 2; n++) await look();
  const { notice_events } = t.app.store.tables;
  const rows = await db.select().from(notice_events);
  expect(rows.filter(({ event }) => event === 'host_gone')).toHaveLength(1);
});

test('what failed while the clock was days ahead is sent again once it is right', async () => {
  status = 503;
  t.advance(30 * 24 * 3_600_000);
  await sendDue(t.app);
  t.advance(-30 * 24 * 3_600_000);
  status = 200;
  await sendDue(t.app);
  expect(await deliveries()).toMatchObject([
    { status: 'delivered', attempts: 2 },
    { status: 'delivered' },
    { status: 'delivered' },
  ]);
});

test('an end does not wait for a receiver, and what was cut off does not count', async () => {
  const held = Promise.withResolvers<void>();
  whileSending = () => held.promise;
  const end = keepSendingNotices(t.app);
  await until(() => received.length === 1);
  const started = performance.now();
  end();
  const { leases } = t.app.store.tables;
  await until(async () => (await t.app.store.db.$count(leases)) === 0);
  expect(performance.now() - started).toBeLessThan(paced(5_000));
  expect(await deliveries()).toMatchObject([{ status: 'waiting', attempts: 0 }, {}, {}]);
  held.resolve();
});
