import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { emitEvent } from '#core/records/events.ts';
import { forgetEvents } from '#core/observe/notices/event-handlers.ts';
import { run } from '#core/control-plane/run.ts';
import { type TestApp, testApp } from '#test/support/app.ts';
import { namedStores } from '#test/support/metadata.ts';

describe.each([...namedStores])('notices in %s', (metadata) => {
  let t: TestApp;
  beforeEach(async () => {
    t = await testApp({}, undefined, { metadata });
    await t.signIn();
  }, 60_000);
  afterEach(() => t.close(), 20_000);

  interface List {
    readonly items: readonly { id: string; event: string; message: string; about: string | null; unread: boolean }[];
    readonly total: number;
    readonly unread: number;
  }
  const list = async (query = '') => (await t.request('GET', `/api/v1/notices/events${query}`)).body as object as List;
  const as = (role: 'viewer' | 'admin', id: string) => ({
    actor: { type: 'admin' as const, id, name: id, scopes: [], role },
    ip: null,
    user_agent: null,
    request_id: 'r',
  });

  test('are kept without a webhook, and read by each person for themselves', async () => {
    await emitEvent(t.app, 'deploy', { version: 1, by: 'grace', note: 'Order tools.' });
    await emitEvent(t.app, 'host_gone', { id: 'h1', url: 'http://h1:8080', seen_at: '' });
    const first = await list();
    expect(first).toMatchObject({
      total: 2,
      unread: 2,
      items: [
        { event: 'host_gone', message: 'The host http://h1:8080 disconnected.', about: null, unread: true },
        { event: 'deploy', message: 'grace deployed version 1: Order tools.', about: '1', unread: true },
      ],
    });
    const read = (body: object) => t.send('notices.read', body);
    expect((await read({ up_to: first.items[1]?.id })).body).toEqual({ unread: 1 });
    expect((await list('?event=deploy')).items).toMatchObject([{ unread: false }]);
    // An earlier one takes nothing back, and one that is not there yet reads no more than there is.
    expect((await read({ up_to: '0' })).body).toEqual({ unread: 1 });
    expect((await read({ up_to: '999999' })).body).toEqual({ unread: 0 });
    await emitEvent(t.app, 'test_failed', { failed: 1, tests: [{ name: 'orders' }], against: 'draft', by: 'ada' });
    expect(await list()).toMatchObject({ unread: 1, items: [{ message: '1 test failed: orders.' }, {}, {}] });
    for (const body of [{}, { up_to: 'x' }, { up_to: '1', more: true }]) expect((await read(body)).status).toBe(422);
    expect((await t.send('notices.events', {}, { anonymous: true })).status).toBe(401);
  });

  test('are unread for one person after another has read them, and before somebody came they were nobody’s', async () => {
    const ids = { ada: '', grace: '' };
    await emitEvent(t.app, 'host_gone', { id: 'h0', url: 'http://h0:8080', seen_at: '' });
    t.advance(1_000);
    const { people } = t.app.store.tables;
    const [ada] = await t.app.store.db.select().from(people);
    if (ada === undefined) throw new Error('ada signed in');
    ids.ada = ada.id;
    ids.grace = t.app.ids();
    const created_at = t.app.clock().toISOString();
    await t.app.store.write((tx) =>
      tx.insert(people).values({ ...ada, id: ids.grace, username: 'grace', slot: null, created_at }),
    );
    for (const n of [1, 2]) await emitEvent(t.app, 'host_gone', { id: `h${n}`, url: `http://h${n}:8080`, seen_at: '' });
    const unread = async (id: string) => {
      const { items, unread: count } = await run(t.app, 'notices.events', {}, as('admin', id));
      return [count, items.filter((item) => item.unread).length];
    };
    expect([await unread(ids.ada), await unread(ids.grace)]).toEqual([
      [3, 3],
      [2, 2],
    ]);
    const [newest] = (await run(t.app, 'notices.events', {}, as('admin', ids.grace))).items;
    await run(t.app, 'notices.read', { up_to: newest?.id ?? '' }, as('admin', ids.grace));
    expect([await unread(ids.ada), await unread(ids.grace)]).toEqual([
      [3, 3],
      [0, 0],
    ]);
    await emitEvent(t.app, 'host_gone', { id: 'h3', url: 'http://h3:8080', seen_at: '' });
    await run(t.app, 'notices.read', { up_to: newest?.id ?? '' }, as('admin', ids.ada));
    expect([await unread(ids.ada), await unread(ids.grace)]).toEqual([
      [1, 1],
      [1, 1],
    ]);
  });

  test('of sign-ins, the prompt guard and certificates are only administrators’, and no data is shown', async () => {
    await emitEvent(t.app, 'login_locked', { limit: 'address', address: '192.0.2.1', retry_after: 60 });
    await emitEvent(t.app, 'guard_hit', {
      code: 'guard',
      fields: ['secret-canary'],
      entity_type: 'tool',
      entity_name: 'orders',
      by: 'ada',
    });
    await emitEvent(t.app, 'certificate', { status: 'issued', domains: ['example.com'] });
    await emitEvent(t.app, 'drift', { version: 1, drifted: 2, definitions: [{ name: 'a' }, { name: 'b' }] });
    const seen = async (role: 'viewer' | 'admin') =>
      (await run(t.app, 'notices.events', {}, as(role, 'nobody'))).items.map(({ event }) => event);
    expect(await seen('viewer')).toEqual(['drift']);
    expect(await seen('admin')).toEqual(['drift', 'certificate', 'guard_hit', 'login_locked']);
    expect(JSON.stringify(await list())).not.toContain('canary');
    expect(await list('?event=guard_hit')).toMatchObject({
      items: [{ message: 'The prompt guard blocked a change of orders by ada.' }],
    });
  });

  test('are kept for 30 days and 200 of each, and ids go on', async () => {
    for (let n = 0; n < 205; n++) await emitEvent(t.app, 'host_gone', { id: `h${n}` });
    await emitEvent(t.app, 'deploy', { version: 1, by: 'ada', note: null });
    await forgetEvents(t.app);
    expect(await list()).toMatchObject({ total: 201, unread: 100 });
    const [newest] = (await list('?limit=1')).items;
    t.advance(31 * 86_400_000);
    await forgetEvents(t.app);
    await emitEvent(t.app, 'deploy', { version: 2, by: 'ada', note: null });
    const { items } = await run(t.app, 'notices.events', {}, as('viewer', 'nobody'));
    expect(items.map(({ about }) => about)).toEqual(['2', '1']);
    expect(Number(items[0]?.id)).toBe(Number(newest?.id) + 1);
  });
});
