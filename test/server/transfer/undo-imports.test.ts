import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { Database } from 'bun:sqlite';
import { mkdirSync } from 'node:fs';
import { type ListeningAgent, listeningAgent } from '#test/support/agent.ts';
import type { McpClient } from '#test/support/mcp-clients.ts';

let a: ListeningAgent;
let client: McpClient;

type Body = Record<string, unknown>;
type Named = { id: string; name: string };
const NOUNS = ['tests', 'toolsets', 'prompts', 'resources', 'tools', 'connections'] as const;

beforeAll(async () => {
  a = await listeningAgent({ SVC_AGENT_RATE_LIMIT: '100000' });
  const folder = a.s.server.app.env.SVC_SQLITE_DIR;
  mkdirSync(folder, { recursive: true });
  const db = new Database(`${folder}/shop.db`);
  db.run('create table orders (id integer primary key, customer text, total real)');
  db.close();
  client = await a.client('v2', await a.token());
});
afterAll(async () => {
  await client?.close();
  await a?.stop();
});
beforeEach(async () => {
  for (const noun of NOUNS) {
    for (const { id } of await list(noun)) expect((await a.s.api('DELETE', `/${noun}/${id}`)).status).toBeLessThan(300);
  }
});

const list = async (noun: string): Promise<Named[]> => (await a.s.api('GET', `/${noun}?limit=200`)).body['items'] as Named[];
const names = async (noun: string) => (await list(noun)).map(({ name }) => name);
const everyName = async () =>
  Object.fromEntries(await Promise.all(NOUNS.map(async (noun) => [noun, await names(noun)] as const)));
async function createRecord(noun: string, body: object): Promise<string> {
  const answer = await a.s.api('POST', `/${noun}`, body);
  expect([answer.status, answer.body.detail]).toEqual([201, undefined]);
  return String(answer.body['id']);
}
/** @returns the batch of the import. */
async function load(file: object, query = ''): Promise<string> {
  const { status, body } = await a.s.api('POST', `/export-import/import?${query}`, { format: 'sluice/1', ...file });
  expect([status, body.detail, body.errors]).toEqual([200, undefined, []]);
  return String(body['batch_id']);
}
const newest = async (query = '') => {
  const { body } = await a.s.api('GET', `/history?limit=1&${query}`);
  return (body['items'] as (Body & { id: string })[])[0]!;
};

interface Answer {
  readonly refused: string | undefined;
  readonly body: Body;
}
/** The two ways to undo the newest change of a kind that the history lists. */
const WAYS: readonly (readonly [string, (input: object, query?: string) => Promise<Answer>])[] = [
  [
    'REST',
    async (input, query) => {
      const { status, body } = await a.s.send('history.rollback', { history_id: (await newest(query)).id, ...input });
      return { refused: status === 200 ? undefined : `${status} ${String(body.detail)}`, body };
    },
  ],
  [
    'the agent',
    async (input, query) => {
      const answer = await client.call('rollback', { history_id: (await newest(query)).id, ...input });
      const body = answer.structuredContent ?? {};
      return { refused: answer.isError === true ? answer.content[0]?.text : undefined, body };
    },
  ],
];

const shop = { name: 'shop', db_type: 'sqlite', database: 'shop.db' };
const sql_query = 'select id, total from orders limit 10';
const tool = (name: string, more: object = {}) => ({ name, description: `Orders of ${name}`, sql_query, ...more });
const resource = (name: string) => ({ ...tool(name), uri_template: `shop://${name}` });
const prompt = (name: string) => ({ name, description: `Asks ${name}`, template: 'Which orders?' });
const DRAFTS = { tool, resource, prompt };
const testOf = (kind: string, name: string, of: string) => ({ name, owner: { kind, name: of }, arguments: {} });

describe.each([...WAYS])('undone through %s', (_, undo) => {
  test.each(['tool', 'resource', 'prompt'] as const)(
    'an import of a %s and its tests goes as a whole, and comes back',
    async (kind) => {
      const draft = DRAFTS[kind]('mine');
      await load({
        connections: [shop],
        [`${kind}s`]: [kind === 'prompt' ? draft : { ...draft, connection: 'shop' }],
        toolsets: [{ name: 'desk', enabled: false, include: { [`${kind}s`]: ['mine'] } }],
        tests: [testOf(kind, 'first', 'mine'), testOf(kind, 'second', 'mine')],
      });
      const before = await everyName();
      for (const dry_run of [true, false]) expect((await undo({ dry_run })).refused).toBeUndefined();
      expect(Object.values(await everyName()).flat()).toEqual([]);
      expect((await undo({})).refused).toBeUndefined();
      expect(await everyName()).toEqual(before);
      expect((await undo({})).refused).toBeUndefined();
      expect(Object.values(await everyName()).flat()).toEqual([]);
    },
  );

  test('an import that gave a test to a new definition gives it back', async () => {
    const connection_id = await createRecord('connections', shop);
    const owner = await createRecord('tools', tool('kept', { connection_id }));
    const moved = await createRecord('tests', { owner: { kind: 'tool', id: owner }, name: 'moved', arguments: {} });
    await load({ tools: [tool('added', { connection: 'shop' })], tests: [testOf('tool', 'moved', 'added')] }, 'mode=overwrite');
    expect(await a.s.call('tests.get', { id: moved })).toMatchObject({ owner_name: 'added' });
    expect((await undo({})).refused).toBeUndefined();
    expect(await a.s.call('tests.get', { id: moved })).toMatchObject({ owner_name: 'kept' });
    expect(await names('tools')).toEqual(['kept']);
    expect((await undo({})).refused).toBeUndefined();
    expect(await a.s.call('tests.get', { id: moved })).toMatchObject({ owner_name: 'added' });
  });

  test('an import leaves the connection to which another person added a tool, and says so', async () => {
    await load({ connections: [shop, { ...shop, name: 'depot' }], tools: [tool('mine', { connection: 'shop' })] });
    const connection_id = (await list('connections')).find(({ name }) => name === 'shop')?.id;
    const handmade = await createRecord('tools', tool('handmade', { connection_id }));
    for (const dry_run of [true, false]) {
      const { refused } = await undo({ dry_run }, 'action=import');
      expect(refused?.replace(/^409 /, '')).toBe(
        'The connection shop cannot be deleted: the tool handmade still uses it. Delete that too, or give it another connection.',
      );
    }
    expect([await names('connections'), await names('tools')]).toEqual([
      ['depot', 'shop'],
      ['handmade', 'mine'],
    ]);
    await a.s.call('tools.delete', { id: handmade });
    expect((await undo({}, 'action=import')).refused).toBeUndefined();
    expect(Object.values(await everyName()).flat()).toEqual([]);
  });

  test('an answer lists what goes with the records, on a dry run too', async () => {
    const none = { tools: [], resources: [], prompts: [], tests: [] };
    const connection_id = await createRecord('connections', shop);
    const made = await newest('entity_type=connection');
    const id = await createRecord('tools', tool('handmade', { connection_id }));
    await createRecord('prompts', { ...prompt('asks'), connection_id });
    await createRecord('tests', { owner: { kind: 'tool', id }, name: 'finds', arguments: {} });
    for (const dry_run of [true, false]) {
      const { body, refused } = await undo({ dry_run }, `history_id=${made.id}`);
      expect(refused).toBeUndefined();
      expect(body).toMatchObject({
        entity: null,
        cascaded: { ...none, tools: ['handmade'], prompts: ['asks'], tests: ['finds'] },
        total: 4,
      });
    }
    const back = await undo({});
    expect(back.body).toMatchObject({ cascaded: none, total: 4 });
    expect(await names('tests')).toEqual(['finds']);

    await load({ tools: [tool('imported', { connection: 'shop' })], tests: [testOf('tool', 'its own', 'imported')] });
    const owner = (await list('tools')).find(({ name }) => name === 'imported')?.id;
    await createRecord('tests', { owner: { kind: 'tool', id: owner }, name: 'of another person', arguments: {} });
    const undone = await undo({}, 'action=import');
    expect(undone.body).toMatchObject({ cascaded: { ...none, tests: ['of another person'] }, total: 3 });
    await undo({});
    expect(await names('tests')).toEqual(['finds', 'its own', 'of another person']);

    await a.s.call('tools.update', { id, title: 'Hand made' });
    expect((await undo({})).body).toMatchObject({ cascaded: none, total: 1 });
  });

  test('a name or URI that another record has by now is refused with the record that had it', async () => {
    const file = { tools: [tool('one'), tool('two')], resources: [resource('page')] };
    const connected = Object.entries(file).map(([noun, items]) => [noun, items.map((item) => ({ ...item, connection: 'shop' }))]);
    const connection_id = await createRecord('connections', shop);
    await load(Object.fromEntries(connected));
    expect((await undo({})).refused).toBeUndefined();
    const newer = await createRecord('tools', tool('two', { connection_id }));
    for (const dry_run of [true, false]) {
      expect((await undo({ dry_run }, 'action=rollback')).refused?.replace(/^409 /, '')).toBe(
        'The tool two cannot be restored: another tool now has its earlier name. Change or delete that one first.',
      );
    }
    await a.s.call('tools.delete', { id: newer });
    const other = await createRecord('resources', { ...resource('page'), name: 'other', connection_id });
    expect((await undo({}, 'action=rollback')).refused).toContain(
      'The resource page cannot be restored: another resource now has its earlier uri_template. Change or delete that one first.',
    );
    expect(await names('tools')).toEqual([]);
    await a.s.call('resources.update', { id: other, name: 'renamed' });
    const renamed = await newest();
    await createRecord('resources', { ...resource('another'), name: 'other', connection_id });
    expect((await undo({}, `history_id=${renamed.id}`)).refused).toContain(
      'The resource renamed cannot be restored: another resource now has its earlier name. Change or delete that one first.',
    );
  });

  test('addresses that an import exchanged are exchanged back', async () => {
    const addresses = async () =>
      Object.fromEntries((await list('resources')).map((row) => [row.name, (row as Body)['uri_template']]));
    const at = (name: string, uri_template: string) => ({ ...resource(name), uri_template, connection: 'shop' });
    const before = { r1: 'shop://a', r2: 'shop://b', r3: 'shop://c' };
    await load({ connections: [shop], resources: Object.entries(before).map(([name, uri]) => at(name, uri)) });
    const file = { resources: [at('r1', 'shop://b'), at('r2', 'shop://c'), at('r3', 'shop://a')] };
    await load(file, 'mode=overwrite');
    const after = await addresses();
    for (const dry_run of [true, false]) expect((await undo({ dry_run }, 'action=import')).refused).toBeUndefined();
    expect(await addresses()).toEqual(before);
    expect((await undo({}, 'action=rollback')).refused).toBeUndefined();
    expect(await addresses()).toEqual(after);
    // The history knows what each had before, and nothing in between.
    expect(JSON.stringify(await a.s.call('history.list', { limit: 50 }))).not.toContain('parked');
  });

  test('names that were exchanged since an import are exchanged back', async () => {
    const file = { connections: [shop], tools: [tool('one', { connection: 'shop' }), tool('two', { connection: 'shop' })] };
    await load(file);
    const [one, two] = (await list('tools')).map(({ id }) => id);
    await load({ tools: file.tools.map((draft) => ({ ...draft, description: 'Changed' })) }, 'mode=overwrite');
    for (const [id, name] of [
      [one, 'spare'],
      [two, 'one'],
      [one, 'two'],
    ] as const) {
      expect((await a.s.send('tools.update', { id, name })).status).toBe(200);
    }
    expect((await undo({}, 'action=import')).refused).toBeUndefined();
    expect(await list('tools')).toMatchObject([
      { id: one, name: 'one', description: 'Orders of one' },
      { id: two, name: 'two', description: 'Orders of two' },
    ]);
  });
});
