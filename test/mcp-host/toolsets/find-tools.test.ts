import { beforeAll, expect, test } from 'bun:test';
import { Client as ModernClient, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { connectionOf, modern, parameterOf, snapshotOf, textOf, toolOf } from '#test/mcp-host/support.ts';
import { useHost } from '#test/mcp-host/use-host.ts';
import { until } from '#test/support/until.ts';
import { liveToken, tokenText, toolsetOf } from './toolsets-support.ts';

const { control, host, closing } = useHost('all');
const shop = connectionOf({});
const described = (name: string, description: string, tags: string[]) => {
  const parameters = [parameterOf('id', 'integer', { description: 'Number of the customer' })];
  const tool = toolOf(shop, name, 'select :id as id', { tags, parameters });
  return { ...tool, listing: { ...tool.listing, description } };
};
const tools = [
  described('find_orders', 'Orders of a customer, newest first', ['sales']),
  described('list_products', 'Products with their prices', ['sales', 'plain']),
  described('pay_salary', 'Pays the salary of an employee', ['people']),
  ...Array.from({ length: 12 }, (_, n) => described(`report_${n}`, 'A report of orders', ['sales'])),
];
const SALES = toolsetOf('sales', { tags: ['sales'] }, { find_tools: true });
const PLAIN = toolsetOf('plain', { tags: ['plain'] });
const PEOPLE = toolsetOf('people', { tags: ['people'] });

beforeAll(async () => {
  await control.deploy(
    snapshotOf(1, { connections: [shop], tools, toolsets: [SALES, PLAIN, PEOPLE], server: { auth_type: 'bearer' } }),
  );
  const before = (await host.health()).access_tokens.as_of;
  control.send('tokens', {
    tokens: [
      await liveToken(tokenText(1), ['sales', 'plain']),
      await liveToken(tokenText(2), ['plain']),
      await liveToken(tokenText(3), null),
    ],
  });
  await until(async () => (await host.health()).access_tokens.as_of !== before);
});

const bearer = (n: number) => ({ authorization: `Bearer ${tokenText(n)}` });
const at = (path = '') => new URL(`${host.mcp.href}${path}`);
const namesAt = async (n: number, path = ''): Promise<string[]> => {
  const { body } = await modern(at(path), 'tools/list', {}, bearer(n));
  return (body.result as { tools: { name: string }[] }).tools.map(({ name }) => name);
};
const find = (n: number, args: object, path = '') =>
  modern(at(path), 'tools/call', { name: 'find_tools', arguments: args }, { ...bearer(n), 'mcp-name': 'find_tools' });
interface Found {
  name: string;
  description: string;
  inputSchema: { properties: object };
  score: number;
}
const foundIn = ({ body }: Awaited<ReturnType<typeof find>>): Found[] =>
  (body.result as { structuredContent: { tools: Found[] } }).structuredContent.tools;

test('find_tools is listed where a toolset of the caller has it, and nowhere else', async () => {
  expect((await namesAt(1)).at(-1)).toBe('find_tools');
  expect((await namesAt(1, '/sales')).at(-1)).toBe('find_tools');
  for (const [n, path] of [
    [1, '/plain'],
    [2, ''],
    [3, ''],
    [3, '/people'],
  ] as const) {
    expect([n, path, await namesAt(n, path)]).not.toEqual([n, path, expect.arrayContaining(['find_tools'])]);
  }
  const refused = await find(2, { question: 'orders' });
  const unknown = await modern(at(), 'tools/call', { name: 'no_such', arguments: {} }, { ...bearer(2), 'mcp-name': 'no_such' });
  expect(refused.body.error).toEqual(unknown.body.error);
});

test('find_tools answers with the best tools of the view, their schemas and scores', async () => {
  const found = foundIn(await find(1, { question: 'Which orders did the customer place?', limit: 3 }));
  expect(found[0]).toMatchObject({ name: 'find_orders', description: 'Orders of a customer, newest first' });
  expect(Object.keys(found[0]?.inputSchema.properties ?? {})).toEqual(['id']);
  expect(found.map(({ score }) => score)).toEqual(found.map(({ score }) => score).toSorted((a, b) => b - a));
  expect(found).toHaveLength(3);
  expect(foundIn(await find(1, { question: 'orders' }))).toHaveLength(10);
  // Tools that the caller does not see are not found.
  expect(foundIn(await find(1, { question: 'pay the salary of an employee' })).map(({ name }) => name)).not.toContain(
    'pay_salary',
  );
  expect(foundIn(await find(1, { question: 'zebra' }))).toEqual([]);
});

test('find_tools says what is wrong with its arguments', async () => {
  for (const [args, sentence] of [
    [{}, 'question must be a sentence'],
    [{ question: ' ' }, 'question must be a sentence'],
    [{ question: 'orders', limit: 11 }, 'limit must be a whole number from 1 to 10.'],
    [{ question: 'orders', limit: '3' }, 'limit must be a whole number from 1 to 10.'],
  ] as const) {
    const answer = await find(1, args);
    expect([args, answer.body.result]).toMatchObject([args, { isError: true }]);
    expect(textOf(answer)).toContain(sentence);
  }
});

test('the official client validates the answer of find_tools against its schema', async () => {
  const client = new ModernClient({ name: 'test', version: '1' });
  closing.push(() => client.close());
  await client.connect(new StreamableHTTPClientTransport(at('/sales'), { requestInit: { headers: bearer(1) } }));
  expect((await client.listTools()).tools.map(({ name }) => name)).toContain('find_tools');
  const answer = await client.callTool({ name: 'find_tools', arguments: { question: 'prices of products' } });
  expect(answer.structuredContent).toMatchObject({ tools: [{ name: 'list_products' }] });
});

test('a deployed tool of the same name comes first', async () => {
  const named = toolOf(shop, 'find_tools', 'select 7 as seven', { tags: ['sales'] });
  await control.deploy(
    snapshotOf(2, { connections: [shop], tools: [named], toolsets: [SALES], server: { auth_type: 'bearer' } }),
  );
  expect(await namesAt(1)).toEqual(['find_tools']);
  expect((await find(1, {})).body.result).toMatchObject({ structuredContent: { rows: [{ seven: 7 }] } });
});
