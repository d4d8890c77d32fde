import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { Database } from 'bun:sqlite';
import { mkdirSync } from 'node:fs';
import { type ListeningAgent, listeningAgent } from '#test/support/agent.ts';
import type { McpClient } from '#test/support/mcp-clients.ts';

let a: ListeningAgent;
let writer: McpClient;
let author: McpClient;
const said = async (client: McpClient, name: string, args: object): Promise<Record<string, unknown>> => {
  const answer = await client.call(name, { ...args });
  return { ...answer.structuredContent, refused: answer.isError === true ? answer.content[0]?.text : undefined };
};
const write = (name: string, args: object) => said(writer, name, args);
const propose = (name: string, args: object) => said(author, name, args);
/** Writes to a proposal of its own. */
const begin = (name: string, args: object) => propose(name, { ...args, proposal_id: 'new' });

beforeAll(async () => {
  a = await listeningAgent({ SVC_AGENT_RATE_LIMIT: '100000' });
  const folder = a.s.server.app.env.SVC_SQLITE_DIR;
  mkdirSync(folder, { recursive: true });
  const db = new Database(`${folder}/shop.db`);
  db.run('create table orders (id integer primary key, customer text, total real)');
  db.close();
  writer = await a.client('v2', await a.token());
  author = await a.client('v2', await a.token(['propose']));
  await write('create_connection', { name: 'shop', db_type: 'sqlite', database: 'shop.db' });
});
afterAll(async () => {
  await writer?.close();
  await author?.close();
  await a?.stop();
});

const draft = (name: string) => ({
  connection_id: 'shop',
  name,
  description: `What ${name} finds in the orders`,
  sql_query: 'select id, total from orders limit 10',
});
const definitions: readonly (readonly [kind: string, draft: (name: string) => object])[] = [
  ['tool', draft],
  ['resource', (name) => ({ ...draft(name), uri_template: `shop://${name}` })],
  ['prompt', (name) => ({ name, description: `Asks ${name}`, template: 'Which orders?' })],
];

async function tested(kind: string, name: string, made: object): Promise<void> {
  expect(await write(`create_${kind}`, made)).toMatchObject({ name, refused: undefined });
  for (const n of [1, 2]) {
    const one = { owner: { kind, id: name }, name: `${name} answers ${n}`, arguments: {} };
    expect((await write('create_test', one))['refused']).toBeUndefined();
  }
}
async function approve(proposal_id: unknown): Promise<void> {
  const proposal = await a.s.call('proposals.get', { id: String(proposal_id) });
  const approved = await a.s.send('proposals.approve', { id: String(proposal_id), version: proposal.version });
  expect([approved.status, approved.body.detail]).toEqual([200, undefined]);
}

for (const [kind, make] of definitions) {
  test(`batch_id of the deletion of a tested ${kind} brings back it and its tests`, async () => {
    const name = `batch_${kind}`;
    await tested(kind, name, make(name));
    const gone = await write(`delete_${kind}`, { [`${kind}_id`]: name });
    expect([gone['refused'], typeof gone['batch_id']]).toEqual([undefined, 'string']);
    expect(await write('rollback', { history_id: gone['batch_id'] })).toMatchObject({ refused: undefined, entity: { name } });
    expect(await write('list_tests', { search: `${name} answers` })).toMatchObject({ total: 2 });
  });
}

describe('a proposed rollback', () => {
  test('by batch_id or by name is approved', async () => {
    for (const by of ['batch_id', 'history_id', 'name'] as const) {
      const name = `proposed_by_${by}`;
      if (by === 'name') {
        expect(await write('create_tool', draft(name))).toMatchObject({ name });
      } else await tested('tool', name, draft(name));
      const gone = by === 'name' ? { name } : await write('delete_tool', { tool_id: name });
      const proposed = await begin('rollback', { history_id: gone[by] });
      expect([by, proposed['refused'], proposed['proposed']]).toEqual([by, undefined, true]);
      await approve(proposed['proposal_id']);
      const { total } = await write('list_tools', { search: name });
      expect([by, total]).toEqual([by, by === 'name' ? 0 : 1]);
    }
  });

  test('of what is only proposed is refused, and its proposal stays good', async () => {
    await write('create_tool', draft('kept'));
    const gone = await begin('delete_tool', { tool_id: 'kept' });
    expect(gone).toMatchObject({ deleted: true, history_id: null, batch_id: null });
    const { proposal_id } = gone;
    const set = await propose('set_global_variables', { variables: { vat: 1 }, proposal_id });
    expect(set).toMatchObject({ total: 1, history_id: null, refused: undefined });
    const back = await propose('create_tool', { ...draft('fresh'), proposal_id });
    const { app } = a.s.server;
    const inside = app.overlays.open.get(String(proposal_id))?.overlay.app.store;
    const entries = inside === undefined ? [] : await inside.db.select().from(inside.tables.history);
    const proposed = entries.find(({ entity_id }) => entity_id === back['id']);
    for (const dry_run of [true, false]) {
      expect((await propose('rollback', { history_id: proposed?.id, proposal_id, dry_run }))['refused']).toBe(
        'This change is only proposed, so it has no history entry. Propose the opposite change, or begin again with proposal_id new.',
      );
    }
    await approve(proposal_id);
    expect(await write('get_tool', { tool_id: 'fresh' })).toMatchObject({ name: 'fresh' });
  });
});

test('an atomic batch that failed is no part of a proposal', async () => {
  await write('create_tool', draft('twice_taken'));
  const tools = [draft('first_of_two'), draft('twice_taken')];
  const begun = await begin('create_prompt', { name: 'beside', description: 'Asks beside', template: 'Beside?' });
  const { proposal_id } = begun;
  const failed = await propose('create_tools_batch', { tools, atomic: true, proposal_id });
  expect(failed).toMatchObject({ total_created: 0, total_errors: 1 });
  expect(failed['proposed']).toBeUndefined();
  const proposal = await a.s.call('proposals.get', { id: String(proposal_id) });
  expect((proposal.operations as unknown[]).length).toBe(1);
  await approve(proposal_id);
});

test('a write to a proposal that no longer applies says how to begin another', async () => {
  await write('create_tool', draft('moves_on'));
  const { proposal_id } = await begin('update_tool', { tool_id: 'moves_on', title: 'Moves' });
  await write('delete_tool', { tool_id: 'moves_on' });
  const refused = String((await propose('create_tool', { ...draft('later'), proposal_id }))['refused']);
  expect(refused).toStartWith('Operation 1 of the proposal cannot be applied any more: ');
  expect(refused).toEndWith(' Begin another proposal with proposal_id new.');
  expect(await begin('create_tool', draft('later'))).toMatchObject({ name: 'later', proposed: true });
});

test('batch_id of an import undoes it; nothing stored has none', async () => {
  const prompt = { name: 'imported', description: 'Asks imported', template: 'Imported?' };
  const data = { format: 'sluice/1', prompts: [prompt, { ...prompt, name: 'imported_too' }] };
  expect(await write('import_config', { data, dry_run: true })).toMatchObject({ batch_id: null, created: { prompts: 2 } });
  expect(await begin('import_config', { data })).toMatchObject({ batch_id: null, created: { prompts: 2 }, proposed: true });
  const { batch_id } = await write('import_config', { data });
  expect(await write('import_config', { data })).toMatchObject({ batch_id: null, skipped: { prompts: 2 } });
  expect((await write('rollback', { history_id: batch_id }))['refused']).toBeUndefined();
  expect(await write('list_prompts', { search: 'imported' })).toMatchObject({ total: 0 });
});

test('what names and explains a proposal is checked, in every script', async () => {
  const note = '订单'.repeat(1_000);
  const { proposal_id } = await begin('create_prompt', {
    name: 'noted',
    description: 'Asks noted',
    template: 'x',
    proposal_note: note,
  });
  expect((await a.s.send('proposals.get', { id: String(proposal_id) })).body).toMatchObject({ note });
  const refused = async (more: object) => (await propose('create_tool', { ...draft('never'), ...more }))['refused'];
  expect(await refused({ proposal_note: `${note}x` })).toBe('proposal_note must have at most 2000 characters.');
  expect(await refused({ proposal_note: '\ud800' })).toBe('proposal_note contains a NUL character or half a character.');
  for (const wrong of ['новый', 'a\nb', 'x'.repeat(65)]) {
    expect(await refused({ proposal_id: wrong })).toBe('proposal_id must be new or the id of a proposal.');
  }
});
