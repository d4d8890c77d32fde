import { afterAll, beforeAll, expect, test } from 'bun:test';
import { Database } from 'bun:sqlite';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { agentTools } from '#agent/tools/tools.ts';
import type { Scope } from '#core/contract/operation.ts';
import { type ListeningAgent, listeningAgent } from '#test/support/agent.ts';
import { SPECIFIED_TOOLS } from '#test/support/agent-tools.ts';
import { storedConfiguration } from '#test/support/configuration.ts';
import type { McpClient } from '#test/support/mcp-clients.ts';

let a: ListeningAgent;
let writer: McpClient;
let client: McpClient;
beforeAll(async () => {
  a = await listeningAgent({ SVC_AGENT_RATE_LIMIT: '100000' });
  const folder = join(a.s.server.app.env.SVC_DATA_DIR, 'databases');
  mkdirSync(folder, { recursive: true });
  const db = new Database(join(folder, 'shop.db'));
  db.run('create table orders (id integer primary key, customer text, total real)');
  db.run("insert into orders values (1, 'ada', 2.5), (2, 'bo', 9)");
  db.close();
  writer = await a.client('v2', await a.token());
  client = await a.client('v2', await a.token(['propose']));
  await writer.call('create_connection', { name: 'shop', db_type: 'sqlite', database: 'shop.db' });
});
afterAll(async () => {
  await writer?.close();
  await client?.close();
  await a?.stop();
});

const orders = (name: string, more: object = {}) => ({
  connection_id: 'shop',
  name,
  description: `What ${name} finds in the orders of the shop`,
  sql_query: 'select id, total from orders where customer = :customer order by id limit 10',
  parameters: [{ name: 'customer', type: 'string', description: 'Whose orders', examples: ['ada'] }],
  ...more,
});

/** Everything that the server works with, but for the proposals themselves and what notes who asked. */
async function everythingStored() {
  const { store } = a.s.server.app;
  const noted = /^(proposal|audit_|notice_events|agent_|request_logs|usage|host|leases|meta|sessions|test_results)/;
  const tables = Object.entries(store.tables).filter(([name]) => !noted.test(name));
  const rows = await Promise.all(tables.map(async ([name, table]) => [name, await store.db.select().from(table)] as const));
  return { configuration: await storedConfiguration(a.s.server.app), rows: Object.fromEntries(rows) };
}

test('a proposing agent builds a tool from the schema, tests it and says why; nothing of it is stored', async () => {
  const before = await everythingStored();
  expect((await client.call('list_tables', { connection_id: 'shop' })).structuredContent).toMatchObject({
    tables: [{ name: 'orders' }],
  });
  expect((await client.call('list_columns', { connection_id: 'shop', table: 'orders' })).structuredContent).toMatchObject({
    total: 3,
  });
  expect(
    (await client.call('preview_sql', { connection_id: 'shop', sql_query: 'select count(*) as n from orders' }))
      .structuredContent,
  ).toMatchObject({ rows: [{ n: 2 }] });
  const made = (await client.call('create_tool', orders('find_orders', { proposal_note: 'Support asks for this.\nDaily.' })))
    .structuredContent;
  const proposal_id = String(made?.['proposal_id']);
  expect(made).toMatchObject({ name: 'find_orders', version: 1, proposed: true, findings: [] });
  const tested = (
    await client.call('create_test', {
      owner: { kind: 'tool', id: 'find_orders' },
      name: 'ada bought once',
      arguments: { customer: 'ada' },
      expect: { rows: { min: 1, max: 1 } },
    })
  ).structuredContent;
  expect(tested).toMatchObject({ owner_name: 'find_orders', proposal_id });
  // A dry run sees what is proposed, and leaves it.
  expect((await client.call('delete_tool', { tool_id: 'find_orders', dry_run: true })).structuredContent).toMatchObject({
    deleted: false,
    cascaded: { tests: ['ada bought once'] },
    total: 2,
  });
  const repeated = await client.call('update_tool', { tool_id: 'find_orders', description: orders('find_orders').description });
  expect(repeated.structuredContent).toMatchObject({ version: 1, unchanged: true });
  expect(repeated.structuredContent?.['proposed']).toBeUndefined();
  expect((await client.call('run_tests', { ids: ['ada bought once'] })).structuredContent).toMatchObject({
    passed: 1,
    failed: 0,
  });
  expect((await client.call('get_tool', { tool_id: 'find_orders', proposal_id })).structuredContent).toMatchObject({
    id: made?.['id'],
  });
  expect((await client.call('get_tool', { tool_id: 'find_orders' })).isError).toBe(true);
  expect(await everythingStored()).toEqual(before);
  const proposal = await a.s.call('proposals.get', { id: proposal_id });
  expect(proposal).toMatchObject({
    title: 'Support asks for this.',
    note: 'Support asks for this.\nDaily.',
    tests: [{ name: 'ada bought once', status: 'passed' }],
  });
  expect((await a.s.send('proposals.approve', { id: proposal_id, version: proposal.version })).status).toBe(200);
  expect((await writer.call('get_tool', { tool_id: 'find_orders' })).structuredContent).toMatchObject({
    id: made?.['id'],
    version: 1,
  });
});

test('no tool lets it change anything, whatever it proposes', async () => {
  await writer.call('create_resource', orders('order', { uri_template: 'shop://orders/{customer}' }));
  await writer.call('create_prompt', { name: 'ask', description: 'Asks for orders', template: 'Which orders?' });
  await writer.call('create_toolset', { name: 'sales', enabled: false });
  await writer.call('create_tool', orders('spare'));
  const gone = (await writer.call('delete_tool', { tool_id: 'spare' })).structuredContent;
  const exported = (await writer.call('export_config', {})).structuredContent;
  const [prompt] = (exported?.['prompts'] ?? []) as object[];
  const args: Readonly<Record<string, object>> = {
    get_connection: { connection_id: 'shop' },
    create_connection: { name: 'second', db_type: 'sqlite', database: 'shop.db' },
    update_connection: { connection_id: 'shop', max_rows: 7 },
    test_connection: { connection_id: 'shop' },
    list_tables: { connection_id: 'shop' },
    list_columns: { connection_id: 'shop', table: 'orders' },
    get_tool: { tool_id: 'find_orders' },
    create_tool: orders('another'),
    create_tools_batch: { tools: [orders('third'), orders('fourth')] },
    update_tool: { tool_id: 'find_orders', title: 'Orders' },
    delete_connection: { connection_id: 'shop' },
    delete_tool: { tool_id: 'another' },
    duplicate_tool: { tool_id: 'find_orders' },
    preview_sql: { connection_id: 'shop', sql_query: 'select 1 as one' },
    explain_sql: { connection_id: 'shop', sql_query: 'select id from orders' },
    get_resource: { resource_id: 'order' },
    create_resource: orders('orders', { uri_template: 'shop://all/{customer}' }),
    update_resource: { resource_id: 'order', title: 'An order' },
    delete_resource: { resource_id: 'order' },
    get_prompt: { prompt_id: 'ask' },
    create_prompt: { name: 'tell', description: 'Tells about orders', template: 'Tell me.' },
    update_prompt: { prompt_id: 'ask', title: 'Ask' },
    delete_prompt: { prompt_id: 'ask' },
    create_toolset: { name: 'support', enabled: false },
    update_toolset: { toolset_id: 'sales', title: 'Sales' },
    delete_toolset: { toolset_id: 'sales' },
    create_test: { owner: { kind: 'tool', id: 'find_orders' }, name: 'more', arguments: { customer: 'bo' } },
    update_test: { test_id: 'ada bought once', enabled: false },
    delete_test: { test_id: 'ada bought once' },
    import_config: { data: { ...exported, prompts: [{ ...prompt, name: 'imported' }] } },
    list_toolset_members: { toolset_id: 'sales' },
    get_entity_history: { entity_type: 'tool', entity_id: 'find_orders' },
    rollback: { history_id: gone?.['history_id'] },
    get_metrics_timeseries: { period: '24h' },
    update_server_config: { server_name: 'Somebody else' },
    set_global_variables: { variables: { answer: 42 } },
    update_global_variables: { set: { answer: 43 } },
  };
  const { proposals, proposal_operations } = a.s.server.app.store.tables;
  const before = await everythingStored();
  const answers = new Map<string, string>();
  for (const name of [
    ...SPECIFIED_TOOLS.filter((tool) => !tool.startsWith('delete_')),
    ...SPECIFIED_TOOLS.filter((tool) => tool.startsWith('delete_')).toReversed(),
  ]) {
    const answer = await client.call(name, { ...args[name] });
    const said = answer.structuredContent;
    answers.set(name, answer.isError ? String(answer.content[0]?.text) : said?.['proposed'] === true ? 'proposed' : 'answered');
    expect([name, await everythingStored()]).toEqual([name, before]);
  }
  const writes = [...agentTools().values()].filter(({ access }) => access === 'write').map(({ listing }) => listing.name);
  const tries = ['test_connection', 'preview_sql', 'explain_sql', 'export_config', 'get_generated_code'];
  const own = ['rebase_proposal', 'comment_on_proposal'];
  const proposed = [...answers].flatMap(([name, said]) => (said === 'proposed' ? [name] : []));
  expect(proposed.toSorted()).toEqual(writes.filter((name) => ![...tries, ...own].includes(name)).toSorted());
  const refused = [...answers].filter(([, said]) => !['proposed', 'answered'].includes(said));
  // Nobody called anything yet.
  expect(refused.map(([name]) => name).toSorted()).toEqual(
    'abort_canary comment_on_proposal deploy_server get_call get_generated_code get_proposal get_session promote_canary rebase_proposal restore_version stop_server'.split(
      ' ',
    ),
  );
  expect(answers.get('deploy_server')).toBe(
    'This token lacks the scope deploy. It can propose changes, which a person approves and deploys.',
  );
  // All of it can be approved at once, and then it is as it was proposed.
  const [open, ...more] = (await a.s.server.app.store.db.select().from(proposals)).filter(({ status }) => status === 'open');
  expect([open?.version, more]).toEqual([proposed.length, []]);
  expect(await a.s.server.app.store.db.$count(proposal_operations)).toBe(proposed.length);
  const approved = await a.s.send('proposals.approve', { id: String(open?.id), version: open?.version });
  expect([approved.status, approved.body.detail]).toEqual([200, undefined]);
  expect((await writer.call('get_server_config', {})).structuredContent).toMatchObject({ server_name: 'Somebody else' });
});

/** Tools about proposals: it is the argument of their own. */
const OF_PROPOSALS = ['get_proposal', 'rebase_proposal', 'comment_on_proposal'];
/** They read what is stored, deployed or measured, or deploy. */
const BESIDE_PROPOSALS =
  'deploy_server stop_server get_deploy_status list_pending_changes promote_canary abort_canary list_versions restore_version export_config list_history get_entity_history list_proposals get_metrics_stats get_metrics_timeseries list_notices list_sessions get_session get_call get_insights get_queue_metrics get_server_health get_drift get_generated_code get_flow_layout'.split(
    ' ',
  );

test('its tools say where a proposal is named, and those of others do not', async () => {
  const names = async (scopes: readonly Scope[]) => {
    const official = new Client({ name: 'test', version: '1.0.0' });
    const headers = { authorization: `Bearer ${await a.token(scopes)}` };
    await official.connect(new StreamableHTTPClientTransport(new URL(`${a.s.url}/agent-mcp/mcp`), { requestInit: { headers } }));
    const { tools } = await official.listTools();
    const instructions = official.getInstructions() ?? '';
    await official.close();
    const named = tools.flatMap(({ name, inputSchema }) => ('proposal_id' in (inputSchema.properties ?? {}) ? [name] : []));
    const noted = tools.flatMap(({ name, inputSchema }) => ('proposal_note' in (inputSchema.properties ?? {}) ? [name] : []));
    return { named, noted, told: instructions.includes('proposal_note') };
  };
  expect(await names(['read', 'write', 'deploy'])).toEqual({ named: OF_PROPOSALS, noted: [], told: false });
  const { named, noted, told } = await names(['propose']);
  const without = SPECIFIED_TOOLS.filter((name) => !named.includes(name));
  expect([without.toSorted(), told]).toEqual([BESIDE_PROPOSALS.toSorted(), true]);
  const sees = ['run_tests', 'test_connection', 'preview_sql', 'explain_sql', ...OF_PROPOSALS];
  expect(named.filter((name) => !noted.includes(name) && !/^(list|get)_/.test(name)).toSorted()).toEqual(
    sees.filter((name) => !/^(list|get)_/.test(name)).toSorted(),
  );
  for (const name of BESIDE_PROPOSALS) {
    const answer = await client.call(name, { proposal_id: 'new' });
    expect([name, answer.isError, answer.content[0]?.text]).toEqual([
      name,
      true,
      `${name} does not take proposal_id: it neither sees nor changes what is proposed. Leave it out.`,
    ]);
  }
  const direct = await writer.call('delete_prompt', { prompt_id: 'ask', proposal_id: 'new' });
  expect([direct.isError, direct.content[0]?.text]).toEqual([
    true,
    'This token does not propose: its changes are stored at once. Leave out proposal_id and proposal_note.',
  ]);
  const refused = await client.call('create_prompt', { name: 'x', description: 'Says nothing', template: 'x', proposal_id: 7 });
  expect([refused.isError, refused.content[0]?.text]).toEqual([true, 'proposal_id must be a string.']);
});
