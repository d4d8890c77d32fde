import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, expect, test } from 'bun:test';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type ListeningAgent, listeningAgent } from '#test/support/agent.ts';
import type { McpClient } from '#test/support/mcp-clients.ts';

interface Finding {
  readonly rule: string;
  readonly fix?: { readonly changes: Record<string, unknown> };
}

let a: ListeningAgent;
let client: McpClient;
beforeAll(async () => {
  a = await listeningAgent();
  const directory = a.s.server.app.env.SVC_SQLITE_DIR;
  mkdirSync(directory, { recursive: true });
  const db = new Database(join(directory, 'shop.db'), { create: true });
  db.run('create table orders (id integer primary key, total real)');
  db.close();
  client = await a.client('v1', await a.token());
  // Every answer is checked against its output schema from here on.
  await client.tools();
  await client.call('create_connection', { name: 'shop', db_type: 'sqlite', database: 'shop.db' });
});
afterAll(async () => {
  await client.close();
  await a.stop();
});

async function findings(name: string, args: Record<string, unknown>): Promise<Finding[]> {
  const { isError, structuredContent, content } = await client.call(name, args);
  if (isError === true) throw new Error(content[0]?.text);
  return structuredContent?.['findings'] as Finding[];
}
const rules = (found: readonly Finding[]) => found.map(({ rule }) => rule);

test('an agent hears at once what lint finds in what it writes, and applies the fix', async () => {
  const description = 'Orders with their totals in euros, in the order of their numbers.';
  const draft = { connection_id: 'shop', name: 'list_orders', description, sql_query: 'select * from orders order by id' };
  const found = await findings('create_tool', draft);
  expect(rules(found)).toEqual(['select-star']);
  expect(await findings('update_tool', { tool_id: 'list_orders', ...found[0]?.fix?.changes })).toEqual([]);
  expect(rules(await findings('update_tool', { tool_id: 'list_orders', description: 'Orders' }))).toEqual(['description-short']);
  await findings('update_tool', { tool_id: 'list_orders', description });
  const copy = { connection_id: 'shop', name: 'find_totals', description, sql_query: 'select total from orders order by id' };
  expect(rules(await findings('create_tool', copy))).toEqual(['description-similar']);
  expect(rules(await findings('create_prompt', { name: 'hello', description: 'Hello', template: 'Hi' }))).toEqual([
    'description-missing',
  ]);
  expect(await findings('create_toolset', { name: 'sales', enabled: false })).toEqual([]);
});

test('a batch of tools and a trial import say what lint finds in each', async () => {
  const description = 'Numbers of all orders that were ever made, in the order of their numbers.';
  const draft = (name: string, sql_query: string) => ({
    connection_id: 'shop',
    name,
    description: `${name}: ${description}`,
    sql_query,
  });
  const tools = [
    draft('wide_orders', 'select * from orders order by id'),
    draft('count_all', 'select count(*) as n from orders'),
  ];
  const { structuredContent } = await client.call('create_tools_batch', { tools });
  const created = structuredContent?.['created'] as { name: string; findings: Finding[] }[];
  expect(created.map(({ name, findings: found }) => [name, rules(found).includes('select-star')])).toEqual([
    ['wide_orders', true],
    ['count_all', false],
  ]);
  const { connection_id: connection, ...record } = draft('wider_orders', 'select * from orders limit 5');
  const trial = await client.call('import_config', {
    dry_run: true,
    data: { format: 'sluice/1', tools: [{ ...record, connection }] },
  });
  const checks: unknown = trial.structuredContent?.['checks'];
  const { findings: found } = checks as { findings: (Finding & { entity: { name: string } })[] };
  expect(rules(found.filter(({ entity }) => entity.name === 'wider_orders'))).toContain('select-star');
});
