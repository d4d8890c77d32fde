import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { Database } from 'bun:sqlite';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import * as v from 'valibot';
import { agentTools } from '#agent/tools/tools.ts';
import { UsageBatch } from '#core/contract/observe/usage-batch.ts';
import { storeUsage } from '#core/observe/usage.ts';
import { operations } from '#core/contract/index.ts';
import type { Operation } from '#core/contract/operation.ts';
import { type ListeningAgent, listeningAgent } from '#test/support/agent.ts';
import { toBatch } from '#test/support/usage.ts';
import type { McpClient, ToolResult } from '#test/support/mcp-clients.ts';

type Args = Record<string, unknown>;
interface Case {
  /** Arguments that are right, and what the answer holds then. */
  readonly ok: readonly [Args | (() => Args | Promise<Args>), object];
  /** Arguments that are not, and what is said about them. */
  /** Null: it takes no argument that could be wrong. */
  readonly refused: readonly [Args, string] | null;
}

const tool = (name: string, more: Args = {}): Args => ({
  connection_id: 'shop',
  name,
  description: `What ${name} is for`,
  sql_query: 'select id from orders where id = :id',
  parameters: [{ name: 'id', type: 'integer' }],
  ...more,
});
const none = 'There is no';
const UNTOLD = 'The database reported an error. Only signed-in people can read its message.';
/** What an answer gave that a later call needs. */
const kept: Args = {};

let a: ListeningAgent;
let client: McpClient;
let reader: McpClient;

/** Changes the working copy and serves it to some callers. */
async function startCanary(title: string): Promise<Args> {
  await client.call('update_tool', { tool_id: 'one', title });
  expect((await client.call('deploy_server', { canary: { percent: 10 } })).isError).toBeUndefined();
  return {};
}

/** A proposal of another agent. */
async function propose(): Promise<Args> {
  const other = await a.client('v2', await a.token(['propose']));
  const draft = { name: 'wish', description: 'What somebody wishes for', template: 'Wish.' };
  kept['proposal_id'] = (await other.call('create_prompt', draft)).structuredContent?.['proposal_id'];
  await other.close();
  return { state: 'open' };
}

/** In the order in which they are called: each finds what those before it made. */
const CASES: Readonly<Record<string, Case>> = {
  create_connection: {
    ok: [
      { name: 'shop', db_type: 'sqlite', database: 'shop.db' },
      { name: 'shop', version: 1 },
    ],
    refused: [{ name: 'shop', db_type: 'sqlite', database: 'shop.db' }, 'already has this name'],
  },
  list_connections: { ok: [{ search: 'sho' }, { total: 1, items: [{ name: 'shop' }] }], refused: [{ limit: 501 }, 'limit'] },
  get_connection: {
    ok: [{ connection_id: 'shop' }, { name: 'shop', password_set: false }],
    refused: [{ connection_id: 'no' }, none],
  },
  update_connection: {
    ok: [
      { connection_id: 'shop', version: 1, max_rows: 50 },
      { max_rows: 50, version: 2 },
    ],
    refused: [{ connection_id: 'shop', version: 1, max_rows: 60 }, 'version'],
  },
  test_connection: { ok: [{ connection_id: 'shop' }, { success: true }], refused: [{ connection_id: 'no' }, none] },
  list_tables: {
    ok: [{ connection_id: 'shop' }, { tables: [{ name: 'orders' }], total: 1 }],
    refused: [{ connection_id: 'no' }, none],
  },
  list_columns: {
    ok: [
      { connection_id: 'shop', table: 'orders' },
      { columns: [{ name: 'id' }, { name: 'total' }], total: 2 },
    ],
    refused: [{ connection_id: 'shop' }, 'table is required'],
  },
  preview_sql: {
    ok: [
      { connection_id: 'shop', sql_query: 'select id from orders', transform_template: '{{ rows | length }}' },
      { row_count: 2, columns: ['id'], transformed_result: 2 },
    ],
    refused: [{ connection_id: 'shop', sql_query: 'delete from orders' }, 'read'],
  },
  explain_sql: {
    ok: [
      { connection_id: 'shop', sql_query: 'select id from orders where total > 5' },
      { steps: [{ depth: 0, operation: 'SCAN', table: 'orders', scan: 'full' }], highlights: [{ severity: 'warning' }] },
    ],
    refused: [{ connection_id: 'shop', sql_query: 'delete from orders' }, 'read'],
  },
  create_tool: {
    ok: [tool('one'), { name: 'one', version: 1, read_only: true }],
    refused: [tool('two', { sql_query: 'selec' }), 'syntax error'],
  },
  create_tools_batch: {
    ok: [{ tools: [tool('two'), tool('one')] }, { total_created: 1, total_errors: 1, errors: [{ index: 1, name: 'one' }] }],
    refused: [{ tools: [] }, 'tools'],
  },
  list_tools: {
    ok: [{ compact: true }, { total: 2, items: [{ name: 'one' }, { name: 'two' }] }],
    refused: [{ fields: ['x'] }, 'fields'],
  },
  get_tool: { ok: [{ tool_id: 'one' }, { name: 'one', connection_name: 'shop' }], refused: [{ tool_id: 'no' }, none] },
  update_tool: {
    ok: [
      { tool_id: 'one', version: 1, title: 'One' },
      { title: 'One', version: 2 },
    ],
    refused: [{ tool_id: 'one', name: 'two' }, 'already has this name'],
  },
  duplicate_tool: { ok: [{ tool_id: 'one' }, { name: 'one_copy', version: 1 }], refused: [{ tool_id: 'no' }, none] },
  delete_tool: {
    ok: [{ tool_id: 'one_copy' }, { deleted: true, name: 'one_copy', total: 1, batch_id: expect.any(String) }],
    refused: [{ tool_id: 'one_copy' }, none],
  },
  create_resource: {
    ok: [tool('order', { uri_template: 'shop://orders/{id}' }), { name: 'order', version: 1 }],
    refused: [tool('other', { uri_template: 'no scheme' }), 'uri_template'],
  },
  list_resources: { ok: [{ connection_id: 'shop' }, { total: 1 }], refused: [{ skip: -1 }, 'skip'] },
  get_resource: {
    ok: [{ resource_id: 'order' }, { uri_template: 'shop://orders/{id}' }],
    refused: [{ resource_id: 'no' }, none],
  },
  update_resource: {
    ok: [
      { resource_id: 'order', mime_type: 'text/csv' },
      { mime_type: 'text/csv', version: 2 },
    ],
    refused: [{ resource_id: 'order', version: 1, mime_type: 'text/csv' }, 'version'],
  },
  delete_resource: {
    ok: [{ resource_id: 'order' }, { deleted: true, name: 'order' }],
    refused: [{ resource_id: 'order' }, none],
  },
  create_prompt: {
    ok: [
      { name: 'ask', description: 'Asks', template: 'Hello {{ who }}', arguments: [{ name: 'who' }] },
      { name: 'ask', version: 1 },
    ],
    refused: [{ name: 'bad', description: 'Bad', template: '{% if %}' }, 'template'],
  },
  list_prompts: { ok: [{ search: 'ask' }, { total: 1 }], refused: [{ enabled: 'maybe' }, 'enabled'] },
  get_prompt: { ok: [{ prompt_id: 'ask' }, { template: 'Hello {{ who }}' }], refused: [{ prompt_id: 'no' }, none] },
  update_prompt: {
    ok: [
      { prompt_id: 'ask', title: 'Ask' },
      { title: 'Ask', version: 2 },
    ],
    refused: [{ prompt_id: 'ask', name: '1' }, 'name'],
  },
  delete_prompt: { ok: [{ prompt_id: 'ask' }, { deleted: true, name: 'ask' }], refused: [{ prompt_id: 'ask' }, none] },
  create_toolset: {
    ok: [
      { name: 'desk', include: { tags: ['desk'], tool_ids: [] }, enabled: false },
      { name: 'desk', version: 1, enabled: false },
    ],
    refused: [{ name: 'open', include: { tags: ['desk'] } }, 'enabled'],
  },
  list_toolsets: { ok: [{ search: 'desk' }, { total: 1 }], refused: [{ enabled: 'maybe' }, 'enabled'] },
  list_toolset_members: {
    ok: [
      { toolset_id: 'desk', limit: 1 },
      { members: [], total: 0, tokens: 0 },
    ],
    refused: [{ toolset_id: 'no' }, none],
  },
  update_toolset: {
    ok: [
      // A name in the place of an id.
      { toolset_id: 'desk', read_only: true, include: { connection_ids: ['shop'] } },
      { read_only: true, version: 2, include: { connection_ids: [expect.stringMatching(/^[0-9a-f-]{36}$/)] } },
    ],
    refused: [{ toolset_id: 'desk', include: { tool_ids: ['no'] } }, 'include.tool_ids.0'],
  },
  delete_toolset: { ok: [{ toolset_id: 'desk' }, { deleted: true, name: 'desk' }], refused: [{ toolset_id: 'desk' }, none] },
  list_tests: { ok: [{}, { total: 0 }], refused: [{ enabled: 'maybe' }, 'enabled'] },
  create_test: {
    ok: [
      { owner: { kind: 'tool', id: 'one' }, name: 'finds one', arguments: { id: 1 }, expect: { rows: { min: 1 } } },
      { name: 'finds one', version: 1 },
    ],
    refused: [{ owner: { kind: 'tool', id: 'no' }, name: 'lost' }, 'owner.id'],
  },
  update_test: {
    ok: [
      { test_id: 'finds one', enabled: false },
      { enabled: false, version: 2 },
    ],
    refused: [{ test_id: 'finds one', caller: { sub: 'somebody' } }, 'caller'],
  },
  run_tests: { ok: [{ ids: ['finds one'] }, { passed: 1, failed: 0 }], refused: [{ ids: ['no'] }, 'ids.0'] },
  delete_test: { ok: [{ test_id: 'finds one' }, { deleted: true }], refused: [{ test_id: 'finds one' }, none] },
  get_global_variables: { ok: [{}, { variables: {}, total: 0 }], refused: null },
  set_global_variables: {
    ok: [{ variables: { currency: 'EUR' } }, { total: 1, removed: [], history_id: expect.any(String) }],
    refused: [{ variables: Object.fromEntries(Array.from({ length: 101 }, (_, n) => [`v${n}`, n])) }, '100'],
  },
  update_global_variables: {
    ok: [
      { set: { vat: 0.19 }, delete: ['currency'] },
      { total: 1, removed: ['currency'] },
    ],
    refused: [{ delete: ['currency'] }, 'There is no global variable currency'],
  },
  get_server_config: { ok: [{}, { server_name: 'Sluice', auth_type: 'none' }], refused: null },
  update_server_config: {
    ok: [{ server_name: 'Shop' }, { server_name: 'Shop' }],
    refused: [{ agent_enabled: false }, 'administrator'],
  },
  list_pending_changes: {
    ok: [
      { limit: 1 },
      { from_version: null, total: expect.any(Number), items: [{ entity_type: 'connection', name: 'shop', change: 'added' }] },
    ],
    refused: [{ limit: 501 }, 'limit'],
  },
  deploy_server: { ok: [{ note: 'First' }, { snapshot_version: 1, changed: true }], refused: [{ dry_run: 'yes' }, 'dry_run'] },
  get_deploy_status: { ok: [{}, { snapshot_version: 1, pending_changes: 0 }], refused: null },
  get_server_health: { ok: [{}, { server_name: 'Shop', snapshot_version: 1 }], refused: null },
  get_drift: { ok: [{}, { total: 0 }], refused: null },
  get_generated_code: {
    ok: [{ snapshot: 1 }, { snapshot_version: 1, language: 'typescript' }],
    refused: [{ snapshot: 99 }, 'no snapshot'],
  },
  abort_canary: {
    ok: [() => startCanary('First'), { status: 'aborted', reason: 'Aborted by Claude.' }],
    refused: [{}, 'No canary is running'],
  },
  promote_canary: {
    ok: [() => startCanary('Second'), { snapshot_version: 2, changed: true }],
    refused: [{}, 'No canary is running'],
  },
  list_versions: {
    ok: [{ limit: 1 }, { total: 2, items: [{ version: 2, active: true }] }],
    refused: [{ limit: 101 }, 'limit'],
  },
  restore_version: {
    ok: [{ version: 1 }, { snapshot_version: 1, changed: true }],
    refused: [{ version: 99 }, 'no snapshot'],
  },
  list_proposals: {
    ok: [propose, { total: 1, open: 1, items: [{ title: 'Create prompt wish' }] }],
    refused: [{ state: 'lost' }, 'state'],
  },
  get_proposal: {
    ok: [
      () => ({ proposal_id: kept['proposal_id'] }),
      { operations: [{ operation: 'prompts.create' }], diff: [{ name: 'wish' }], stale: [], problem: null },
    ],
    refused: [{ proposal_id: 'no' }, 'There is no proposal with this id.'],
  },
  rebase_proposal: {
    ok: [() => ({ proposal_id: kept['proposal_id'] }), { version: 2, status: 'open' }],
    refused: [{ proposal_id: 'no' }, none],
  },
  comment_on_proposal: {
    ok: [() => ({ proposal_id: kept['proposal_id'], text: 'Is this still wanted?' }), { author: { name: 'Claude' } }],
    refused: [{ proposal_id: 'no', text: 'Hello?' }, none],
  },
  stop_server: { ok: [{}, { status: 'stopped' }], refused: null },
  list_notices: {
    ok: [{ event: 'deploy' }, { total: 2, unread: 0, items: [{ event: 'deploy', about: '2' }, { about: '1' }] }],
    refused: [{ event: 'lunch' }, 'event'],
  },
  get_metrics_stats: {
    ok: [
      { period: '1h', by: 'client', compare: true },
      { tools: {}, callers: [{ calls: 1 }] },
    ],
    refused: [{ period: '1y' }, 'period'],
  },
  get_metrics_timeseries: {
    ok: [
      { period: '1h', client: 'none' },
      { period: '1h', deploys: [{ version: 1 }, { version: 2 }, { version: 1, restored: true }] },
    ],
    refused: [{ period: '2h' }, 'period'],
  },
  list_sessions: {
    ok: [{ tool: 'one', failed: true }, { items: [{ last_error: { call_id: '1', error_message: UNTOLD } }] }],
    refused: [{ limit: 101 }, 'limit'],
  },
  get_session: {
    ok: [
      async () => {
        const { structuredContent } = await client.call('list_sessions', { tool: 'one' });
        const [session] = (structuredContent?.['items'] ?? []) as { id: string }[];
        return { session_id: session?.id };
      },
      { calls: 1, events: [{ call_id: '1', name: 'one' }] },
    ],
    refused: [{ session_id: 'no' }, none],
  },
  get_call: {
    ok: [{ call_id: '1' }, { name: 'one', error_message: UNTOLD, outcome: 'tool_error' }],
    refused: [{ call_id: '2' }, none],
  },
  get_insights: { ok: [{ period: '24h' }, { total: 0, period: '24h' }], refused: [{ period: '1y' }, 'period'] },
  get_queue_metrics: { ok: [{}, { connections: {} }], refused: null },
  get_flow_layout: { ok: [{}, { totals: { connections: 1, tools: 2, resources: 0, prompts: 0 } }], refused: null },
  export_config: { ok: [{}, { format: 'sluice/1', tools: [{ name: 'one' }, { name: 'two' }] }], refused: null },
  import_config: {
    ok: [
      { data: { format: 'sluice/1', prompts: [{ name: 'new', description: 'New', template: 'x' }] } },
      { created: { prompts: 1 } },
    ],
    refused: [{ data: { format: 'other' } }, 'format'],
  },
  delete_connection: {
    ok: [{ connection_id: 'shop' }, { deleted: true, total: 3, cascaded: { tools: ['one', 'two'], resources: [], prompts: [] } }],
    refused: [{ connection_id: 'shop' }, none],
  },
  list_history: {
    ok: [
      { entity_type: 'connection', action: 'delete' },
      { total: 1, items: [{ entity_name: 'shop', actor: { name: 'Claude' } }] },
    ],
    refused: [{ limit: 101 }, 'limit'],
  },
  get_entity_history: {
    ok: [{ entity_type: 'server_config', entity_id: 'server_config' }, { items: [{ entity_type: 'server_config' }, {}, {}] }],
    refused: [{ entity_type: 'tool', entity_id: 'no' }, none],
  },
  rollback: {
    ok: [() => ({ history_id: kept['delete_connection'] }), { entity: { name: 'shop' }, entry: { action: 'rollback' } }],
    refused: [{ history_id: 'no' }, none],
  },
};

const tools = agentTools();

test('every tool has a call that succeeds and one that is refused', () => {
  expect(Object.keys(CASES).toSorted()).toEqual([...tools.keys()].toSorted());
});

beforeAll(async () => {
  a = await listeningAgent({ SVC_AGENT_RATE_LIMIT: '100000' });
  const directory = a.s.server.app.env.SVC_SQLITE_DIR;
  mkdirSync(directory, { recursive: true });
  const db = new Database(join(directory, 'shop.db'), { create: true });
  db.run('create table orders (id integer primary key, total real)');
  db.run('insert into orders values (1, 10.5), (2, 20)');
  db.close();
  const failed = { timestamp: new Date().toISOString(), kind: 'tool', name: 'one', error: 'sql_error' } as const;
  const call = { ...failed, duration_ms: 2, wait_ms: 0, rows: 0, bytes: 0, error_message: 'no such column: channel' };
  const batch = v.parse(UsageBatch, { boot_id: 'boot', seq: 1, ...toBatch([call]) });
  await storeUsage(a.s.server.app, 'host', batch);
  client = await a.client('v1', await a.token());
  reader = await a.client('v2', await a.token(['read']));
  // Every answer is checked against its output schema from here on.
  await client.tools();
  await reader.tools();
});
afterAll(async () => {
  await client.close();
  await reader.close();
  await a.stop();
});

const textOf = ({ content }: ToolResult): string => content[0]?.text ?? '';

describe.each(Object.entries(CASES))('%s', (name, { ok, refused }) => {
  test('succeeds, and refuses with a sentence', async () => {
    const [given, expected] = ok;
    const answer = await client.call(name, typeof given === 'function' ? await given() : given);
    expect([name, answer.isError, answer.isError === true ? textOf(answer) : '']).toEqual([name, undefined, '']);
    expect(answer.structuredContent).toMatchObject(expected);
    kept[name] = answer.structuredContent?.['batch_id'];
    if (refused === null) return;
    const [wrong, words] = refused;
    const refusal = await client.call(name, wrong);
    expect([name, refusal.isError, textOf(refusal)]).toEqual([name, true, expect.stringContaining(words)]);
    expect(textOf(refusal)).toMatch(/\.$/m);
    expect(textOf(refusal)).not.toContain('undefined');
  }, 60_000);

  test('needs its scope and no other', async () => {
    const definition = operations[tools.get(name)?.operation ?? 'health.get'] as Operation;
    const answer = await reader.call(name, refused?.[0] ?? {});
    const lacks = textOf(answer).startsWith('This token lacks the scope');
    const is_refused = refused !== null || definition.access !== 'read';
    expect([name, answer.isError, lacks]).toEqual([name, is_refused || undefined, definition.access !== 'read']);
  });
});
