import { afterAll, beforeAll, expect, test } from 'bun:test';
import { reachable, type TestDatabase, testDatabase } from '#test/support/databases.ts';
import { type ClientKind, connectClient, type McpClient } from '#test/support/mcp-clients.ts';
import { programBelow, type Programs, removeFolder, startPrograms } from '#test/support/programs.ts';
import { until, untilWithin } from '#test/support/until.ts';
import { SPECIFIED_TOOLS } from '#test/support/agent-tools.ts';

let programs: Programs;
let database: TestDatabase;
beforeAll(async () => {
  if (!reachable.postgres) return;
  database = await testDatabase('postgresql');
  await database.run(`
    create table orders (id int primary key, customer text not null, total numeric(10, 2) not null);
    insert into orders values (1, 'ada', 10.50), (2, 'bob', 20), (3, 'ada', 30)`);
  programs = await startPrograms({ env: { SVC_DEMO: 'false' } });
  await programs.signIn();
  await until(
    async () => (await fetch(`${programs.url}/agent-mcp/health`)).ok,
    () => programs.output(),
  );
}, 60_000);
afterAll(async () => {
  if (!reachable.postgres) return;
  await programs.stop();
  removeFolder(programs);
  await database.drop();
});

/** An agent with a fresh credential of one of the two kinds, and nothing but the MCP endpoint. */
async function connectAgent(kind: ClientKind): Promise<McpClient> {
  const { url } = programs;
  if (kind === 'v2') {
    const { token } = await programs.api('POST', '/agent-tokens', { name: 'Walker', duration_minutes: 15 });
    return connectClient(kind, `${url}/agent-mcp/mcp`, { authorization: `Bearer ${String(token)}` });
  }
  const client = await programs.api('POST', '/oauth-clients', { name: 'Walker', idle_timeout_minutes: 15 });
  const form = new URLSearchParams({
    grant_type: 'client_credentials',
    client_id: String(client['client_id']),
    client_secret: String(client['client_secret']),
  });
  const answer = await fetch(`${url}/agent-mcp/oauth/token`, { method: 'POST', body: form });
  const { access_token } = (await answer.json()) as { access_token: string };
  return connectClient(kind, `${url}/agent-mcp/`, { authorization: `Bearer ${access_token}` });
}

test.skipIf(!reachable.postgres).each(['v2', 'v1'] as const)(
  'an official %s client connects a database, serves it, watches it and undoes a change over MCP alone',
  async (kind) => {
    const agent = await connectAgent(kind);
    const shop = `shop_${kind}`;
    const named = (name: string) => `${name}_${kind}`;
    const ok = async <T = Record<string, unknown>>(name: string, args: Record<string, unknown> = {}): Promise<T> => {
      const answer = await agent.call(name, args);
      if (answer.isError) throw new Error(`${name}: ${answer.content[0]?.text} ${programs.output().slice(-3000)}`);
      expect(JSON.parse(answer.content[0]?.text ?? '')).toEqual(answer.structuredContent);
      return answer.structuredContent as T;
    };
    expect(await agent.tools()).toHaveLength(SPECIFIED_TOOLS.length);

    const { host, port, username, database: name } = database.settings;
    await ok('create_connection', { name: shop, db_type: 'postgresql', host, port, database: name, username });
    expect(await ok('test_connection', { connection_id: shop })).toMatchObject({ success: true });
    const { tables } = await ok<{ tables: { name: string }[] }>('list_tables', { connection_id: shop });
    expect(tables.map((table) => table.name)).toEqual(['orders']);
    const { columns } = await ok<{ columns: { name: string }[] }>('list_columns', { connection_id: shop, table: 'orders' });
    expect(columns.map((column) => column.name)).toEqual(['id', 'customer', 'total']);

    const sql_query = 'select id, total from orders where customer = :customer order by id';
    const shown = await ok('preview_sql', {
      connection_id: shop,
      sql_query,
      parameters: { customer: 'ada' },
      transform_template: '{{ rows | length }} orders',
    });
    expect(shown).toMatchObject({ row_count: 2, transformed_result: '2 orders', columns: ['id', 'total'] });
    const refused = await agent.call('preview_sql', { connection_id: shop, sql_query: 'delete from orders' });
    expect(refused.isError).toBe(true);

    const batch = await ok('create_tools_batch', {
      atomic: true,
      tools: [
        {
          connection_id: shop,
          name: named('orders_of'),
          description: 'Orders of one customer',
          sql_query,
          parameters: [{ name: 'customer', type: 'string' }],
        },
        {
          connection_id: shop,
          name: named('count_orders'),
          description: 'How many orders there are',
          sql_query: 'select count(*)::int as orders from orders',
          return_type: 'value',
        },
      ],
    });
    expect(batch).toMatchObject({ total_created: 2, total_errors: 0 });
    await ok('create_resource', {
      connection_id: shop,
      name: named('order'),
      description: 'One order',
      uri_template: `${kind}://orders/{id}`,
      sql_query: 'select * from orders where id = :id',
      parameters: [{ name: 'id', type: 'integer' }],
    });
    await ok('create_prompt', {
      name: named('report'),
      description: 'Sums up the orders of a customer',
      template: 'Sum up the orders of {{ customer }}.',
      arguments: [{ name: 'customer' }],
    });

    expect(await ok('deploy_server', { dry_run: true })).toMatchObject({ changed: true });
    const receipt = await ok<{ hosts: { acked_ms: number | null }[] }>('deploy_server', { note: 'Walkthrough' });
    expect(receipt.hosts[0]?.acked_ms).toBeNumber();
    const health = await ok<{ mcp_url: string; connections: { name: string; healthy: boolean }[] }>('get_server_health');
    expect(health.connections).toContainEqual(expect.objectContaining({ name: shop, healthy: true }));

    const user = await connectClient(kind, programs.mcp_url);
    expect(await user.tools()).toEqual(expect.arrayContaining([named('orders_of'), named('count_orders')]));
    const orders = await user.call(named('orders_of'), { customer: 'ada' });
    expect(orders.structuredContent).toMatchObject({ row_count: 2, rows: [{ id: 1, total: '10.50' }, { id: 3 }] });

    let stats: { tools: Record<string, { calls: number }> } = { tools: {} };
    await untilWithin(60_000, async () => {
      stats = await ok('get_metrics_stats', { period: '1h' });
      return stats.tools[named('orders_of')] !== undefined;
    });
    expect(stats.tools[named('orders_of')]).toMatchObject({ calls: 1, errors: 0 });
    expect(await ok('get_metrics_timeseries', { period: '1h', tool: named('orders_of') })).toMatchObject({
      interval_seconds: 60,
    });
    expect(Object.values((await ok<{ connections: object }>('get_queue_metrics')).connections)).toContainEqual(
      expect.objectContaining({ name: shop, rejected: 0 }),
    );

    const gone = await ok('delete_tool', { tool_id: named('orders_of') });
    await ok('deploy_server', {});
    expect(await user.tools()).not.toContain(named('orders_of'));
    await ok('rollback', { history_id: gone['history_id'] });
    await ok('deploy_server', {});
    expect(await user.tools()).toContain(named('orders_of'));
    await user.close();

    const data = await ok<{ tools: { name: string }[] }>('export_config');
    expect(data.tools.map((tool) => tool.name)).toContain(named('orders_of'));
    expect(await ok('import_config', { data, dry_run: true })).toMatchObject({ errors: [] });
    const flow = await ok<{ totals: { tools: number }; pending_changes: number }>('get_flow_layout');
    expect(flow.totals.tools).toBeGreaterThanOrEqual(2);
    expect(flow.pending_changes).toBe(0);
    await agent.close();

    const actor = kind === 'v1' ? 'oauth_client' : 'agent_token';
    const entries = await programs.api<{ items: { actor: object }[] }>('GET', '/history?entity_type=tool&limit=1');
    expect(entries.items[0]?.actor).toMatchObject({ type: actor, name: 'Walker' });
    const activity = await programs.api<{ items: object[]; total: number }>('GET', '/agent-activity?tool_name=rollback&limit=1');
    expect(activity.items[0]).toMatchObject({ token_name: 'Walker', success: true, client_ip: '127.0.0.1' });
  },
  60_000,
);

test.skipIf(!reachable.postgres)(
  'a killed agent endpoint is back, and its activity survives a restart of everything',
  async () => {
    process.kill(programBelow(programs.process.pid, 'run-server.ts') ?? 0, 'SIGKILL');
    const answers = async () => (await fetch(`${programs.url}/agent-mcp/health`)).ok;
    await until(async () => !(await answers())).catch(() => undefined);
    await until(answers, () => programs.output());
    const before = await programs.api('GET', '/agent-activity');
    await programs.stop();
    programs = await startPrograms({ again: programs, env: { SVC_DEMO: 'false' } });
    await programs.signIn();
    expect(await programs.api('GET', '/agent-activity')).toEqual(before);
  },
  60_000,
);
