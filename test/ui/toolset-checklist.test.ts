import { expect, test } from 'bun:test';
import { including } from '#ui/src/features/builder/definitions/bulk.ts';
import { pickedOf, withPicked } from '#ui/src/pages/toolsets/picks.ts';
import { definitionsOf } from '#ui/src/pages/toolsets/use-selectable.ts';

const RULE = { tags: ['sales'], connection_ids: ['c1'], tool_ids: ['t1', 'deleted'], resource_ids: ['r1'], prompt_ids: [] };
const owned = { enabled: true, tags: [] };
const ALL = definitionsOf({
  connections: [
    { id: 'c1', name: 'shop', enabled: true, db_type: 'postgresql' },
    { id: 'c2', name: 'crm', enabled: true, db_type: 'mysql' },
  ],
  tools: [
    { ...owned, id: 't1', name: 'orders', connection_id: 'c1', read_only: true },
    { ...owned, id: 't2', name: 'people', connection_id: 'c2', read_only: true },
  ],
  resources: [{ ...owned, id: 'r1', name: 'order', connection_id: 'c1', uri_template: 'shop://{id}' }],
  prompts: [{ ...owned, id: 'p1', name: 'greet', connection_id: null }],
  toolsets: [],
  edges: [],
  server: { server_name: 'Shop', status: 'running', snapshot_version: 1, transport: 'http', auth_type: 'none' },
  totals: { connections: 2, tools: 2, resources: 1, prompts: 1, toolsets: 0 },
  pending_changes: 0,
});

test('the definitions of a toolset are listed by database, and the rest of its rule stays as it is', () => {
  expect(ALL.map(({ name, connection_name }) => `${connection_name}/${name}`)).toEqual([
    '/greet',
    'crm/people',
    'shop/orders',
    'shop/order',
  ]);
  expect([...pickedOf(RULE, ALL)].toSorted()).toEqual(['r1', 't1']);
  expect(withPicked(RULE, ALL, new Set(['t1', 't2', 'p1']))).toEqual({
    tags: ['sales'],
    connection_ids: ['c1'],
    tool_ids: ['t2', 't1'],
    resource_ids: [],
    prompt_ids: ['p1'],
  });
});

test('two hundred selected tools are added to a toolset by one change, each once', () => {
  const ids = Array.from({ length: 200 }, (_, n) => `t${n}`);
  const include = including({ include: RULE }, 'tools', ids);
  expect(include).toMatchObject({ tags: ['sales'], connection_ids: ['c1'], resource_ids: ['r1'] });
  expect(include.tool_ids).toHaveLength(201);
  expect(including({ include: RULE }, 'prompts', ['p1']).prompt_ids).toEqual(['p1']);
});
