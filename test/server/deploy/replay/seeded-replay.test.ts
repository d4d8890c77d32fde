import { afterEach, beforeEach, expect, test } from 'bun:test';
import { type ReplayShop, replayShop } from './replay-support.ts';

/** Faults that no gate sees, in a candidate: a replay of recent calls finds each; deployed without it, the fault reaches clients. */
let shop: ReplayShop;
let path: string;
const GOOD = 'select id, total from orders where customer = :customer order by id';

beforeEach(async () => {
  shop = await replayShop(3);
  await shop.api('PATCH', '/server/config', {
    deploy_gates: { breaking: 'block', lint: 'block', tests: 'block', drift: 'block' },
  });
  const made = await shop.api('POST', '/tools', {
    connection_id: shop.connection_id,
    name: 'orders_of',
    description: 'Orders of one customer with their totals in euros, in the order of their numbers.',
    sql_query: GOOD,
    parameters: [{ name: 'customer', type: 'string', description: 'Name of the customer', examples: ['ada'] }],
  });
  path = `/tools/${String(made['id'])}`;
  await shop.deploy();
  for (const n of [0, 1, 2]) for (const customer of ['ada', 'bob', 'nobody']) await shop.call(n, 'orders_of', { customer });
});
afterEach(() => shop.close());

const candidate = async (sql_query: string): Promise<string> => {
  await shop.api('PATCH', path, { sql_query });
  return String((await shop.api('POST', '/snapshots/candidate', {}))['candidate']);
};

test('wrong rows', async () => {
  const id = await candidate(GOOD.replace('customer = :customer', 'customer >= :customer'));
  const found = await shop.replay({ candidate: id });
  // Whoever has no orders sees no difference.
  expect(found).toMatchObject({ against: id, calls: 9, same: 3, changed: 6, failed: 0 });
  expect(found.hosts.map(({ calls, error }) => [calls, error])).toEqual([1, 2, 3].map(() => [3, null]));
  // On a busy machine some are slower, too.
  const changed = found.samples.filter(({ outcome }) => outcome !== 'slower');
  expect(changed.map(({ tool, outcome }) => `${tool} ${outcome}`)).toEqual(Array(6).fill('orders_of changed'));
  const before = { rows: [{ id: 2, total: 20 }] };
  for (const n of [0, 1, 2]) expect(await shop.call(n, 'orders_of', { customer: 'bob' })).toMatchObject(before);
  // Every gate blocks what it finds, and finds nothing.
  await shop.deploy();
  for (const n of [0, 1, 2])
    expect(await shop.call(n, 'orders_of', { customer: 'bob' })).toMatchObject({ rows: [{ id: 2 }, { id: 4 }] });
});

test('a slower statement', async () => {
  const counting = '(with recursive n(i) as (select 1 union all select i + 1 from n where i < 1000000) select max(i) from n)';
  const id = await candidate(`select id, total from orders where customer = :customer and total < ${counting} order by id`);
  const found = await shop.replay({ candidate: id });
  expect(found).toMatchObject({ calls: 9, same: 9, changed: 0, failed: 0 });
  // Who has no orders does not wait for the count.
  expect(found.slower).toBeGreaterThanOrEqual(6);
  expect(found.samples[0]).toMatchObject({ tool: 'orders_of', outcome: 'slower', rows: null });
  await shop.deploy();
  expect(await shop.call(0, 'orders_of', { customer: 'bob' })).toMatchObject({ rows: [{ id: 2, total: 20 }] });
});
