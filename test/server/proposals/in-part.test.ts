import { afterAll, beforeAll, expect, test } from 'bun:test';
import { peopleOf } from '#test/support/people.ts';
import { ordersTool, type ProposingShop, proposingShop, within } from './shop.ts';

let shop: ProposingShop;
let agent: string;
beforeAll(async () => {
  shop = await proposingShop();
  agent = await shop.token();
});
afterAll(() => shop.t.close());

const names = async () => (await shop.t.call('tools.list', {})).items.map(({ name }) => name).toSorted();

/** Creates a tool, a test of it, and another tool. */
async function proposed(first: string, second: string) {
  const note = { 'x-proposal-id': 'new' };
  const created = await shop.as(agent).send('tools.create', ordersTool(shop.connection_id, { name: first }), { headers: note });
  const id = String(created.body.proposal_id);
  const owner = { kind: 'tool' as const, id: created.body.id };
  await shop.as(agent).send('tests.create', { owner, name: `${first} has rows`, expect: { rows: { min: 0 } } }, within(id));
  const other = ordersTool(shop.connection_id, { name: second, description: 'Adds up the orders of one customer, in euros.' });
  const added = await shop.as(agent).send('tools.create', other, within(id));
  return { id, tool_id: owner.id, other_id: added.body.id };
}

test('an operation cannot be taken without one that it needs, and the refusal names both', async () => {
  const { id } = await proposed('find_first', 'sum_first');
  const { version, operations } = await shop.t.call('proposals.get', { id });
  expect(operations.map(({ position, needs }) => [position, needs])).toEqual([
    [1, []],
    [2, [1]],
    [3, []],
  ]);
  const before = await names();
  const { status, body } = await shop.t.send('proposals.approve', { id, version, positions: [2, 3] });
  expect([status, body.detail]).toEqual([
    422,
    'Operation 2 (Create test find_first has rows) needs operation 1 (Create tool find_first). Take both or neither.',
  ]);
  expect((await shop.t.send('proposals.approve', { id, version, positions: [9] })).body.detail).toBe(
    'The proposal has no operation 9.',
  );
  expect((await shop.t.send('proposals.approve', { id, version, positions: [] })).status).toBe(422);
  expect(await names()).toEqual(before);
  expect((await shop.t.call('proposals.get', { id })).status).toBe('open');
});

test('approval of some operations applies these alone, and the agent and the history say which', async () => {
  const { id, other_id } = await proposed('find_second', 'sum_second');
  const { version } = await shop.t.call('proposals.get', { id });
  const item = await shop.t.call('proposals.approve', { id, version, positions: [3] });
  expect(item).toMatchObject({ status: 'approved', operation_count: 3, taken_count: 1 });
  expect(await names()).toContain('sum_second');
  expect(await names()).not.toContain('find_second');
  expect((await shop.t.call('tests.list', {})).total).toBe(0);
  const read = await shop.as(agent).call('proposals.get', { id });
  expect(read.operations.map(({ position, taken }) => [position, taken])).toEqual([
    [1, false],
    [2, false],
    [3, true],
  ]);
  expect(read.diff.filter(({ entity_type }) => entity_type === 'tool').map(({ name }) => name)).toEqual(['sum_second']);
  expect(read.test_changes).toEqual([]);
  const { items } = await shop.t.call('history.list', { entity_type: 'tool', entity_id: other_id });
  expect(items).toMatchObject([{ entity_name: 'sum_second', actor: { name: 'ada', proposal: { id, author: 'Claude' } } }]);
  expect((await shop.t.send('proposals.approve', { id, version, positions: [1] })).status).toBe(409);
});

test('a record that an operation left out would have changed may have changed since', async () => {
  const { body: tool } = await shop.t.send('tools.create', ordersTool(shop.connection_id, { name: 'find_third' }));
  const tool_id = tool.id;
  const first = await shop
    .as(agent)
    .send('tools.update', { id: tool_id, title: 'Third' }, { headers: { 'x-proposal-id': 'new' } });
  const id = String(first.body.proposal_id);
  await shop.as(agent).send('tools.create', ordersTool(shop.connection_id, { name: 'find_fourth' }), within(id));
  await shop.t.call('tools.update', { id: tool_id, version: 1, description: 'Changed in the meantime by a person.' });
  const { version, stale } = await shop.t.call('proposals.get', { id });
  expect(stale).toHaveLength(1);
  expect((await shop.t.send('proposals.approve', { id, version })).status).toBe(409);
  expect(await shop.t.call('proposals.approve', { id, version, positions: [2] })).toMatchObject({ taken_count: 1 });
  expect((await shop.t.call('tools.get', { id: tool_id })).title).toBeNull();
  expect(await names()).toContain('find_fourth');
});

test('a proposed tool can be tried with its rows before it is approved, and nothing is stored', async () => {
  const { id, tool_id } = await proposed('find_fifth', 'sum_fifth');
  const before = await names();
  const about = await shop.t.call('proposals.try', { id, tool_id });
  expect(about).toMatchObject({ name: 'find_fifth', read_only: true, parameters: [{ name: 'customer' }], preview: null });
  const { preview } = await shop.t.call('proposals.try', { id, tool_id, arguments: { customer: 'ada' } });
  expect(preview).toMatchObject({ columns: ['id', 'total'], rows: [{ id: 3 }, { id: 1 }], row_count: 2 });
  const wrong = await shop.t.send('proposals.try', { id, tool_id, arguments: {} });
  expect([wrong.status, wrong.body.code]).toEqual([422, 'invalid']);
  expect(await names()).toEqual(before);

  expect((await shop.t.send('proposals.try', { id, tool_id }, { anonymous: true })).status).toBe(401);
  const viewer = await peopleOf(shop.t).join(shop.t, { username: 'vera', role: 'viewer' });
  expect((await viewer.send('proposals.try', { id, tool_id })).status).toBe(403);
  expect((await shop.as(agent).send('proposals.try', { id, tool_id })).status).toBe(403);
  expect((await shop.t.send('proposals.try', { id, tool_id: 'other' })).status).toBe(404);
  const { version } = await shop.t.call('proposals.get', { id });
  expect((await shop.t.send('proposals.try', { id, tool_id, version: version + 1 })).status).toBe(409);
  await shop.t.call('proposals.reject', { id });
  expect((await shop.t.send('proposals.try', { id, tool_id })).status).toBe(409);
});

test('a proposed tool that writes is not tried', async () => {
  const writing = ordersTool(shop.connection_id, {
    name: 'pay_order',
    sql_query: 'update orders set total = 0 where id = :id',
    parameters: [{ name: 'id', type: 'integer', description: 'Number of the order', examples: [1] }],
    read_only: false,
  });
  const { body } = await shop.as(agent).send('tools.create', writing, { headers: { 'x-proposal-id': 'new' } });
  const refused = await shop.t.send('proposals.try', {
    id: String(body.proposal_id),
    tool_id: body.id,
    arguments: { id: 1 },
  });
  expect([refused.status, refused.body.detail]).toEqual([
    422,
    'pay_order changes data, so it cannot be tried before it is approved.',
  ]);
});
