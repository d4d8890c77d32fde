import { afterAll, beforeAll, expect, test } from 'bun:test';
import { Database } from 'bun:sqlite';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { estimateTokens } from '#core/lib/tokens.ts';
import { type ListeningAgent, listeningAgent } from '#test/support/agent.ts';
import type { McpClient } from '#test/support/mcp-clients.ts';

let a: ListeningAgent;
let client: McpClient;
async function ok<T = Record<string, unknown>>(name: string, args: Record<string, unknown> = {}): Promise<T> {
  const answer = await client.call(name, args);
  if (answer.isError) throw new Error(`${name}: ${answer.content[0]?.text}`);
  return answer.structuredContent as T;
}
const tokensOf = (answer: unknown): number => estimateTokens(JSON.stringify(answer));

const columns = Array.from({ length: 150 }, (_, n) => `id + ${n} as column_${n}`).join(', ');
const statement = (last: string) => `select ${columns}, ${last} as last from orders`;
const TOOLS = 120;

beforeAll(async () => {
  a = await listeningAgent({ SVC_AGENT_RATE_LIMIT: '100000' });
  const directory = a.s.server.app.env.SVC_SQLITE_DIR;
  mkdirSync(directory, { recursive: true });
  const db = new Database(join(directory, 'shop.db'), { create: true });
  db.run('create table orders (id integer primary key)');
  db.close();
  client = await a.client('v1', await a.token());
  await client.tools();
  await ok('create_connection', { name: 'shop', db_type: 'sqlite', database: 'shop.db' });
  const draft = (n: number) => ({
    connection_id: 'shop',
    name: `t_${String(n).padStart(3, '0')}`,
    description: 'What it is for',
    sql_query: statement('id'),
  });
  for (let n = 0; n < TOOLS; n += 40) {
    await ok('create_tools_batch', { atomic: true, tools: Array.from({ length: 40 }, (_, i) => draft(n + i)) });
  }
  await ok('update_tool', { tool_id: 't_000', sql_query: statement('id * 2') });
});
afterAll(async () => {
  await client.close();
  await a.stop();
});

interface Entry {
  readonly action: string;
  readonly changes: Readonly<Record<string, { readonly old: unknown; readonly new: unknown }>>;
  readonly snapshot?: object | null;
}

test('a page of the history fits a model, and details have the whole of it', async () => {
  for (const [name, about] of [
    ['list_history', {}],
    ['get_entity_history', { entity_type: 'tool', entity_id: 't_000' }],
  ] as const) {
    const short = await ok<{ items: Entry[]; total: number }>(name, about);
    expect([name, tokensOf(short) < 4_000]).toEqual([name, true]);
    const [update, create] = short.items;
    expect([update?.snapshot, create]).toMatchObject([undefined, { action: 'create', changes: {} }]);
    const { old, new: now } = update?.changes['sql_query'] ?? {};
    expect([String(old).startsWith('…'), String(old).length < 250]).toEqual([true, true]);
    expect([String(old), String(now)]).toEqual([
      expect.stringContaining(', id as last from orders'),
      expect.stringContaining(', id * 2 as last from orders'),
    ]);
    const whole = await ok<{ items: Entry[]; total: number }>(name, { ...about, details: true, limit: 1 });
    expect(whole.items[0]).toMatchObject({
      changes: { sql_query: { old: statement('id'), new: statement('id * 2') } },
      snapshot: { sql_query: statement('id * 2') },
    });
    expect(whole.total).toBe(short.total);
  }
});

test('a rollback answers with the record once', async () => {
  const { items } = await ok<{ items: { id: string }[] }>('list_history', { entity_type: 'tool', action: 'update' });
  const undone = await ok<{ entry: Entry; entity: object }>('rollback', { history_id: items[0]?.id, dry_run: true });
  expect(undone).toMatchObject({ entry: { snapshot: null }, entity: { sql_query: statement('id') } });
  expect(String(undone.entry.changes['sql_query']?.old).length).toBeLessThan(250);
});

test('the overview comes in pages, with the edges of what it lists', async () => {
  interface Layout {
    readonly tools: { readonly id: string; readonly name: string }[];
    readonly edges: { readonly from: string; readonly to: string; readonly kind: string }[];
    readonly totals: object;
  }
  const names: string[] = [];
  for (let skip = 0; skip < TOOLS + 50; skip += 50) {
    const layout = await ok<Layout>('get_flow_layout', { skip });
    expect(tokensOf(layout)).toBeLessThan(12_000);
    expect(layout.totals).toMatchObject({ tools: TOOLS, connections: 1 });
    const ids = layout.tools.map(({ id }) => id);
    expect(layout.edges.filter(({ kind }) => kind === 'owns').map(({ to }) => to)).toEqual(ids);
    expect(layout.edges.filter(({ kind }) => kind === 'serves').map(({ from }) => from)).toEqual(ids);
    names.push(...layout.tools.map(({ name }) => name));
  }
  expect([names.length, new Set(names).size]).toEqual([TOOLS, TOOLS]);
});

test('undeployed changes come in pages, with values only where they are asked for', async () => {
  const short = await ok<{ items: { values?: object }[]; total: number }>('list_pending_changes');
  expect([short.items.length, short.total, tokensOf(short) < 6_000]).toEqual([50, TOOLS + 1, true]);
  expect(short.items.every(({ values }) => values === undefined)).toBe(true);
  const [one] = (await ok<{ items: { values?: object }[] }>('list_pending_changes', { values: true, skip: 1, limit: 1 })).items;
  expect(one?.values).toMatchObject({ sql_query: { new: statement('id * 2') } });
});
