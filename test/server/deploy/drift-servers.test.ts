import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { checkDriftWhenDue } from '#core/deploy/checks/drift.ts';
import { takeLease } from '#core/platform/leases.ts';
import { type TestApp, testApp } from '#test/support/app.ts';
import { reachable, testDatabase, type TestDatabase } from '#test/support/databases.ts';
import { until } from '#test/support/until.ts';

/** Two servers of one PostgreSQL database that check one shop for drift. */
describe.skipIf(!reachable.postgres)('drift on two servers', () => {
  let metadata: TestDatabase;
  let shop: TestDatabase;
  let one: TestApp;
  let other: TestApp;
  const send = async (method: string, path: string, body?: object) => {
    const answer = await one.request(method, `/api/v1/${path}`, body === undefined ? {} : { body });
    expect([answer.status < 300, answer.body.detail]).toEqual([true, undefined]);
    return answer.body;
  };
  const notices = async () => {
    const rows = await one.app.store.db.select().from(one.app.store.tables.notice_deliveries);
    return rows.map(({ body }) => (JSON.parse(body) as { data: { drifted: number } }).data.drifted);
  };
  const warned = () =>
    [one, other].flatMap(({ log }) => log.map(({ message }) => message)).filter((text) => text.includes('no longer fits')).length;

  beforeEach(async () => {
    [metadata, shop] = [await testDatabase('postgresql'), await testDatabase('postgresql')];
    one = await testApp({}, metadata.url);
    other = await testApp({}, metadata.url);
    await one.signIn();
    await other.call('auth.login', { username: 'ada', password: 'correct horse' });
    await shop.run('create table orders (id integer primary key, total integer)');
    const { host, port, database, username } = shop.settings;
    const draft = { name: 'shop', db_type: 'postgresql', host, port, database, username, ssl_mode: 'disable' };
    const { id } = await send('POST', 'connections', draft);
    const description = 'Orders of the shop, one row for each.';
    await send('POST', 'tools', { connection_id: id, name: 'star', description, sql_query: 'select * from orders order by id' });
    await send('POST', 'deploy', {});
    await send('POST', 'notices', { name: 'chat', url: 'https://hooks.example.com/x', events: ['drift'] });
    expect(await checkDriftWhenDue(one.app)).toBe(true);
  });
  afterEach(async () => {
    await one.close();
    await other.close();
    await metadata.drop();
    await shop.drop();
  });

  test('a drift is found by one of them when the check is due, and sent once', async () => {
    await shop.run('alter table orders add region text');
    for (const server of [one, other]) server.advance(61 * 60_000);
    const did = await Promise.all([one, other, one, other].map(({ app }) => checkDriftWhenDue(app)));
    expect(did.filter(Boolean)).toHaveLength(1);
    expect([await notices(), warned()]).toEqual([[1], 1]);
    // Both show it.
    for (const server of [one, other]) {
      expect(await server.call('drift.list', {})).toMatchObject({ total: 1, items: [{ name: 'star' }] });
    }
  });

  test('checks that people start on both at once send each drift once', async () => {
    for (const column of ['a', 'b', 'c']) {
      await shop.run(`alter table orders add ${column} text`);
      const found = await Promise.all([one, other, one, other].map((server) => server.send('drift.check')));
      expect(found.map(({ status, body }) => [status, body.total])).toEqual(found.map(() => [200, 1]));
    }
    // It is the same tool each time, and it drifted once.
    expect([await notices(), warned()]).toEqual([[1], 1]);
  });

  test('the other one checks when the first dies during a check', async () => {
    await shop.run('alter table orders add region text');
    for (const server of [one, other]) server.advance(61 * 60_000);
    // What is left of a server that was killed: its lease, which nobody renews.
    expect(await takeLease(one.app, 'drift', 'a server that was killed', 3)).toBe(true);
    expect(await checkDriftWhenDue(other.app)).toBe(false);
    expect(await notices()).toEqual([]);
    await until(() => checkDriftWhenDue(other.app));
    expect([await notices(), warned()]).toEqual([[1], 1]);
    expect(await checkDriftWhenDue(one.app)).toBe(false);
  }, 60_000);
});
