import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { isErrorBody, type TestApp, testApp } from '#test/support/app.ts';
import { sqliteConnection } from '#test/support/sqlite-connection.ts';

let t: TestApp;
const ids: Record<string, string> = {};
const TOOLS = {
  find_orders: 'Orders of one customer with their state, newest first.',
  search_orders: 'Searches the orders of a customer by state, newest first.',
  list_products: 'Products with price and stock.',
  monthly_revenue: 'Revenue of each month in euros.',
};

beforeAll(async () => {
  t = await testApp();
  await t.signIn();
  const connection_id = await sqliteConnection(t, 'create table orders (id integer)');
  for (const [name, description] of Object.entries(TOOLS)) {
    const body = { connection_id, name, description, sql_query: 'select id from orders order by id limit 1' };
    ids[name] = (await t.call('tools.create', body)).id;
  }
});
afterAll(() => t.close());

const find = async (body: object) => {
  const answer = await t.send('insights.find', body);
  expect([answer.status, answer.body.detail]).toEqual([200, undefined]);
  return answer.body;
};

describe('insights/find', () => {
  test('ranks the tools that fit a question and says which two a model may confuse', async () => {
    const { items, total, overlaps } = await find({ question: 'Which orders of this customer are in the state “open”?' });
    expect(items.map(({ name }) => name).toSorted()).toEqual(['find_orders', 'search_orders']);
    expect(total).toBe(2);
    expect(items[0]?.matched.toSorted()).toEqual(['customer', 'orders', 'state']);
    expect(overlaps).toHaveLength(1);
    expect(overlaps[0]?.words.toSorted()).toEqual(['customer', 'orders', 'state']);
    expect(overlaps[0]?.message).toContain('when to use it');
  });

  test('names nothing that nothing fits, and no overlap where one tool is clearly the best', async () => {
    expect(await find({ question: 'weather in Oslo' })).toEqual({ items: [], total: 0, overlaps: [] });
    const { items, overlaps } = await find({ question: 'revenue per month' });
    expect([items.map(({ name }) => name), overlaps]).toEqual([['monthly_revenue'], []]);
  });

  test('finds a change at once, leaves disabled tools out and keeps to a toolset', async () => {
    const patch = (body: object) => t.send('tools.update', { id: ids['list_products'], ...body });
    await patch({ description: 'Products with price, stock and the weather at the warehouse.' });
    expect((await find({ question: 'weather' })).items.map(({ name }) => name)).toEqual(['list_products']);
    await patch({ enabled: false });
    expect((await find({ question: 'weather' })).total).toBe(0);
    const body = { name: 'desk', description: 'For the desk', include: { tool_ids: [ids['find_orders']] } };
    expect((await t.send('toolsets.create', body)).status).toBe(201);
    const { items } = await find({ question: 'orders', toolset: 'desk' });
    expect(items.map(({ name }) => name)).toEqual(['find_orders']);
  });

  test('refuses nobody’s credentials, an empty question and an unknown toolset', async () => {
    const ask = async (body: object, options: object = {}) => {
      const answer = await t.request('POST', '/api/v1/insights/find', { body, ...options });
      return [answer.status, isErrorBody(answer.body)];
    };
    expect(await ask({ question: 'orders' }, { anonymous: true })).toEqual([401, true]);
    expect(await ask({ question: '' })).toEqual([422, true]);
    expect(await ask({})).toEqual([422, true]);
    expect(await ask({ question: 'orders', toolset: 'nothing' })).toEqual([422, true]);
  });
});
