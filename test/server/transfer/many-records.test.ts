import { expect, test } from 'bun:test';
import { testApp, type TestApp } from '#test/support/app.ts';
import { sqliteConnection } from '#test/support/sqlite-connection.ts';
import { statementsOf } from '#test/support/statements.ts';

/** Statements that each change sends to the embedded database when it is about so many tools. */
async function countStatements(tools: number): Promise<Record<string, number>> {
  const t = await testApp({}, undefined, { metadata: 'sqlite' });
  await t.signIn();
  const connection_id = await sqliteConnection(t, 'create table orders (id integer, name text)');
  const send = async (method: string, path: string, body?: object) => {
    const answer = await t.request(method, `/api/v1${path}`, body === undefined ? {} : { body });
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${JSON.stringify(answer.body)}`);
    return answer.body;
  };
  const connection = (await send('GET', `/connections/${connection_id}`))['name'];
  const fileOf = (description: string) => ({
    format: 'sluice/1',
    tools: Array.from({ length: tools }, (_, n) => ({
      name: `tool_${n}`,
      description,
      sql_query: 'select id, name from orders',
      connection,
    })),
  });
  const newest = async () => {
    const { items } = (await send('GET', '/history?entity_type=tool&limit=1')) as { items: { id: string }[] };
    return items[0]?.id ?? '';
  };
  const counts: Record<string, number> = {};
  const counted = async (what: string, work: () => Promise<unknown>) => {
    counts[what] = (await statementsOf(t.app.store, work)).length;
  };
  const undo = async (what: string) => {
    const id = await newest();
    await counted(what, () => send('POST', `/history/${id}/rollback`, {}));
  };
  const imports = '/export-import/import';
  await counted('import', () => send('POST', imports, fileOf('All orders')));
  await undo('undo of an import');
  expect(await totalOf(t)).toBe(0);
  await undo('undo of that undo');
  expect(await totalOf(t)).toBe(tools);
  await counted('import that overwrites', () => send('POST', `${imports}?mode=overwrite`, fileOf('Every order')));
  await undo('undo of an import that overwrote');
  const deletes = { tools: fileOf('').tools.map(({ name }) => name) };
  await counted('import that deletes', () => send('POST', imports, { format: 'sluice/1', deletes }));
  expect(await totalOf(t)).toBe(0);
  await undo('undo of an import that deleted');
  await counted('deletion of the connection', () => send('DELETE', `/connections/${connection_id}`));
  expect(await totalOf(t)).toBe(0);
  const { items } = (await send('GET', '/history?entity_type=connection&limit=1')) as { items: { id: string }[] };
  await counted('undo of that deletion', () => send('POST', `/history/${items[0]?.id}/rollback`, {}));
  expect(await totalOf(t)).toBe(tools);
  await t.close();
  return counts;
}

const totalOf = async (t: TestApp): Promise<number> => (await t.call('tools.list', { limit: 1 })).total;

test('records are written and deleted many at a time: a statement costs more than a row', async () => {
  const [few, many] = [await countStatements(64), await countStatements(192)];
  const each = Object.entries(many).map(([what, count]) => [what, (count - (few[what] ?? 0)) / 128] as const);
  const update_each = ['import that overwrites', 'undo of an import that overwrote'];
  const wasteful = each.filter(([what, statements]) => statements > (update_each.includes(what) ? 1.25 : 0.25));
  expect(wasteful).toEqual([]);
});
