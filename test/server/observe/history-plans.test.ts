import { afterAll, beforeAll, expect, test } from 'bun:test';
import { run } from '#core/control-plane/run.ts';
import { type TestApp, testApp } from '#test/support/app.ts';
import { planOf, statementsOf } from '#test/support/statements.ts';

const FILTERS = {
  entity_type: { entity_type: 'tool' },
  entity_id: { entity_id: 'a' },
  action: { action: 'update' },
  actor: { actor: 'ada' },
  search: { search: 'prod' },
} as const;
type Name = keyof typeof FILTERS;

const NAMES = Object.keys(FILTERS) as Name[];
const subsets = <T>(all: readonly T[]): T[][] =>
  all.reduce<T[][]>((found, one) => [...found, ...found.map((some) => [...some, one])], [[]]);
const ADMIN = { type: 'admin', id: 'a', name: 'ada', role: 'owner', scopes: ['read'] } as const;
const EDITOR = { ...ADMIN, role: 'editor' } as const;
const AGENT = { type: 'agent_token', id: 'x', name: 'robot', scopes: ['read'] } as const;

/** The index that leaves the fewest entries; the order of the last three depends on the entries. */
const INDEXES: readonly (readonly [Name, string])[] = [
  ['entity_id', 'history_entity (entity_id=?'],
  ['search', 'history_name (entity_name=?'],
  ['action', 'history_action (action=?'],
  ['entity_type', 'history_type (entity_type=?'],
  ['actor', 'history_actor (actor_name=?'],
];

let t: TestApp;

beforeAll(async () => {
  t = await testApp({}, undefined, { metadata: 'sqlite' });
  const { history } = t.app.store.tables;
  const of = { entity_id: 'a', ip: null, before: null, after: null, version_before: null, version_after: null, batch_id: null };
  const entry = (id: string, entity_type: string, entity_name: string, action: string, actor_name: string) => {
    const actor = { type: 'admin', id: null, name: actor_name };
    return { ...of, id, entity_type, entity_name, action, actor, actor_name, created_at: '2026-03-01T12:00:00.000Z' };
  };
  await t.app.store.write((tx) =>
    tx
      .insert(history)
      .values([
        entry('1', 'tool', 'products', 'update', 'ada'),
        entry('2', 'tool', 'orders', 'create', 'ada'),
        entry('3', 'prompt', 'summary', 'create', 'ada'),
      ]),
  );
});
afterAll(() => t.close());

async function statementsFor(actor: typeof ADMIN | typeof EDITOR | typeof AGENT, names: readonly Name[]) {
  const input = Object.assign({ skip: 40, limit: 20 }, ...names.map((name) => FILTERS[name]));
  const call = { actor, ip: null, user_agent: null, request_id: 'x' };
  const sent = await statementsOf(t.app.store, () => run(t.app, 'history.list', input, call));
  return sent.filter(({ text }) => /\bfrom "history"/.test(text));
}

test('however the history is narrowed, the embedded database reads no row that is not shown', async () => {
  const unread: string[] = [];
  for (const actor of [ADMIN, EDITOR, AGENT]) {
    for (const names of subsets(NAMES)) {
      const sent = await statementsFor(actor, names);
      // Those that find the index to use come first.
      const [page, count] = sent.slice(-2);
      expect(sent.length).toBeLessThanOrEqual(4);
      const expected = INDEXES.find(([name]) => names.includes(name))?.[1] ?? 'COVERING INDEX';
      for (const statement of sent) {
        const plan = await planOf(t.app.store, statement);
        // Reading a whole index that has all that is asked for is quick; one without means a look at every row.
        const reads_rows = plan.split('; ').some((step) => /^SCAN history(?! USING COVERING INDEX)/.test(step));
        const by_other = (statement === page || statement === count) && !plan.includes(expected);
        if (reads_rows || by_other) unread.push(`${actor.type} ${names.join()}: ${plan}`);
      }
    }
  }
  expect(unread).toEqual([]);
});
