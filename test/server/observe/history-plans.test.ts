import { expect, test } from 'bun:test';
import { run } from '#core/control-plane/run.ts';
import { testApp } from '#test/support/app.ts';
import { planOf, statementsOf } from '#test/support/statements.ts';

const FILTERS = {
  entity_type: { entity_type: 'tool' },
  entity_id: { entity_id: 'products' },
  action: { action: 'update' },
  actor: { actor: 'ada' },
  search: { search: 'prod' },
} as const;
const subsets = <T>(all: readonly T[]): T[][] =>
  all.reduce<T[][]>((found, one) => [...found, ...found.map((some) => [...some, one])], [[]]);

test('however the history is narrowed, the embedded database reads no row that is not shown', async () => {
  const t = await testApp({}, undefined, { metadata: 'sqlite' });
  const admin = { type: 'admin', id: 'a', name: 'ada', role: 'owner', scopes: ['read'] } as const;
  const editor = { ...admin, role: 'editor' } as const;
  const agent = { type: 'agent_token', id: 'x', name: 'robot', scopes: ['read'] } as const;
  const unread: string[] = [];
  for (const actor of [admin, editor, agent]) {
    for (const names of subsets(Object.keys(FILTERS) as (keyof typeof FILTERS)[])) {
      const input = Object.assign({ skip: 40, limit: 20 }, ...names.map((name) => FILTERS[name]));
      const call = { actor, ip: null, user_agent: null, request_id: 'x' };
      const all = await statementsOf(t.app.store, () => run(t.app, 'history.list', input, call));
      const sent = all.filter(({ text }) => /\bfrom "history"/.test(text));
      expect(sent).toHaveLength(2);
      for (const statement of sent) {
        const plan = await planOf(t.app.store, statement);
        // Reading a whole index that has all that is asked for is quick; one without means a look at every row.
        const reads_rows = plan.split('; ').some((step) => /^SCAN history(?! USING COVERING INDEX)/.test(step));
        const by_other = names.includes('entity_id') && !plan.includes('history_entity (entity_id=?)');
        // Of all that one of many people did, the entries of the others are not read either.
        const is_of_actor = names.includes('actor') && !names.includes('entity_id') && !names.includes('action');
        const by_all = is_of_actor && !plan.includes('history_actor (actor_name=?');
        if (reads_rows || by_other || by_all) unread.push(`${actor.type} ${names.join()}: ${plan}`);
      }
    }
  }
  expect(unread).toEqual([]);
  await t.close();
});
