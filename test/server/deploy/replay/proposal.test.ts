import { afterEach, expect, test } from 'bun:test';
import type { Replay } from '#core/contract/deploy/replay.ts';
import { type ReplayShop, replayShop } from './replay-support.ts';

const GOOD = 'select id, total from orders where customer = :customer order by id';
let shop: ReplayShop;
afterEach(() => shop.close());

test('a proposal is compared with recent calls before it is approved, and leaves nothing behind', async () => {
  shop = await replayShop(2);
  const { t, connection_id } = shop;
  const api: ReplayShop['api'] = (...asked) => shop.api(...asked);
  const parameters = [{ name: 'customer', type: 'string' }];
  const tool = { connection_id, name: 'orders_of', description: 'Orders of one customer', sql_query: GOOD, parameters };
  const { id } = await api('POST', '/tools', tool);
  await api('POST', '/tools', { connection_id, name: 'ledger', description: 'All orders', sql_query: 'select * from orders' });
  const token = async (scopes: string[]) => {
    const made = await api('POST', '/agent-tokens', { name: scopes.join(' '), duration_minutes: 60, scopes });
    return { authorization: `Bearer ${String(made['token'])}` };
  };
  const [author, deployer] = [await token(['propose']), await token(['read', 'deploy'])];
  const propose = async (sql_query: string): Promise<string> => {
    const { body } = await t.send(
      'tools.update',
      { id: String(id), sql_query },
      { anonymous: true, headers: { ...author, 'x-proposal-id': 'new' } },
    );
    return `/proposals/${String(body.proposal_id)}`;
  };
  const wrong = await propose(GOOD.replace('select id, total', 'select id, total + 1 as total'));
  const refused = await t.request('POST', `/api/v1${wrong}/replay`, { body: {} });
  expect(refused).toMatchObject({ status: 409, body: { detail: expect.stringContaining('Nothing is served now') } });
  await shop.deploy();
  for (const n of [0, 1]) {
    await shop.call(n, 'orders_of', { customer: 'ada' });
    await shop.call(n, 'ledger');
  }
  const stored = async () => {
    const { tables, db } = t.app.store;
    return [await db.select().from(tables.candidates), await db.select().from(tables.blobs), await api('GET', '/deploy/status')];
  };
  const before = await stored();

  // A deploy that runs stores texts that the removal of a candidate would not see.
  const deployed = Promise.withResolvers<void>();
  const deploying = t.app.deploy_lock(() => deployed.promise, { turn: 'deploy' });
  const asked = api('POST', `${wrong}/replay`, {});
  expect(await Promise.race([asked, Bun.sleep(500)])).toBeUndefined();
  deployed.resolve();
  await deploying;
  const found = (await asked) as unknown as Replay;
  expect(found).toMatchObject({
    against: wrong.slice('/proposals/'.length),
    calls: 4,
    same: 2,
    changed: 2,
    failed: 0,
    notes: [],
  });
  expect(found.hosts.map(({ calls, error }) => [calls, error])).toEqual([
    [2, null],
    [2, null],
  ]);
  expect(found.samples.find(({ outcome }) => outcome === 'changed')?.rows?.[0]).toEqual({
    live: { id: 1, total: 10 },
    other: { id: 1, total: 11 },
  });
  const same = await propose(`${GOOD} limit 90`);
  expect(await api('POST', `${same}/replay`, { calls: 4 })).toMatchObject({ calls: 4, same: 4, changed: 0 });
  expect(await stored()).toEqual(before);
  expect((await api('GET', `/tools/${String(id)}`))['sql_query']).toBe(GOOD);
  expect((await api('GET', '/snapshots/candidate'))['total']).toBe(0);

  // Rows are for people, and a token that only proposes runs nothing on live databases.
  const as = (headers: Record<string, string>) =>
    t.request('POST', `/api/v1${wrong}/replay`, { anonymous: true, headers, body: {} });
  const told = await as(deployer);
  expect(told).toMatchObject({ status: 200, body: { changed: 2 } });
  expect((told.body as Replay).samples.map(({ rows }) => rows)).toEqual([null, null]);
  expect((await as(author)).status).toBe(403);
  expect((await t.request('POST', `/api/v1${wrong}/replay`, { anonymous: true, body: {} })).status).toBe(401);
  expect((await t.send('proposals.replay', { id: 'nothing' })).status).toBe(404);
  await api('POST', `${wrong}/reject`, {});
  expect((await t.request('POST', `/api/v1${wrong}/replay`, { body: {} })).status).toBe(409);
  expect(await stored()).toEqual(before);
});
