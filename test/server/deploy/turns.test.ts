import { expect, test } from 'bun:test';
import { testApp } from '#test/support/app.ts';
import { sqliteConnection } from '#test/support/sqlite-connection.ts';

/** How often something else had its turn while the work went on; an embedded database answers at once. */
async function turnsDuring(work: () => Promise<unknown>): Promise<number> {
  const state = { turns: 0, ended: false };
  const next = (): void => {
    state.turns++;
    if (!state.ended) setImmediate(next);
  };
  setImmediate(next);
  await work();
  state.ended = true;
  return state.turns;
}

test('others have their turn while much that was written is frozen and compared', async () => {
  const t = await testApp({}, undefined, { metadata: 'sqlite' });
  await t.signIn();
  const id = await sqliteConnection(t, 'create table orders (id integer, name text)');
  const connection = (await t.call('connections.get', { id })).name;
  const tool = { description: 'All orders', sql_query: 'select id, name from orders', connection };
  const tools = Array.from({ length: 1_500 }, (_, n) => ({ ...tool, name: `tool_${n}` }));
  await t.call('transfer.import', { format: 'sluice/1', tools });
  // Without slices it is none.
  expect(await turnsDuring(() => t.send('deploy.status'))).toBeGreaterThan(1);
  await t.close();
});
