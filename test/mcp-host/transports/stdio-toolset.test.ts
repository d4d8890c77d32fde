import { afterEach, beforeEach, expect, test } from 'bun:test';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { connection, type ControlServer, controlServer, snapshotOf, sqliteFolder, TOKEN, toolOf } from '../support.ts';
import { toolsetOf } from '../toolsets/toolsets-support.ts';
import { until } from '#test/support/until.ts';

const PROGRAM = join(import.meta.dir, '../../../mcp-host/stdio.ts');
const sales = toolsetOf('sales', { tags: ['sales'] });
const payroll = toolsetOf('payroll', { tags: ['pay'] }, { groups: ['hr'] });
let folder: ReturnType<typeof sqliteFolder>;
let control: ControlServer;
let client: Client | null = null;

beforeEach(() => {
  folder = sqliteFolder();
  control = controlServer();
});
afterEach(async () => {
  await client?.close();
  client = null;
  await control.stop();
  folder.remove();
});

const tagged = (name: string, tag: string) => ({ ...toolOf(connection, name, 'select 1 as one'), tags: [tag] });
const versioned = (version: number, sold: readonly string[], toolsets = [sales, payroll]) =>
  snapshotOf(version, {
    connections: [connection],
    tools: [...sold.map((name) => tagged(name, 'sales')), tagged('find_salary', 'pay')],
    toolsets,
    server: { transport: 'stdio' },
  });
const environment = (): Record<string, string> => ({
  PATH: process.env['PATH'] ?? '',
  SVC_ENV: 'production',
  SVC_ENCRYPTION_KEY: 'a-key-0123456789-0123456789-0123456789',
  SVC_AGENT_SERVICE_TOKEN: TOKEN,
  SVC_SERVER_URL: control.url,
  SVC_DATA_DIR: folder.directory,
  SVC_SQLITE_DIR: folder.directory,
});
const connect = async (...args: string[]): Promise<Client> => {
  client = new Client({ name: 'test', version: '1' });
  const command = { command: process.execPath, args: [PROGRAM, ...args], env: environment(), stderr: 'ignore' as const };
  await client.connect(new StdioClientTransport(command));
  return client;
};
const names = async (one: Client) => (await one.listTools()).tools.map(({ name }) => name);
/** @returns the exit code and what was said on standard error. */
const run = async (...args: string[]) => {
  const child = Bun.spawn([process.execPath, PROGRAM, ...args], { env: environment(), stdout: 'pipe', stderr: 'pipe' });
  const said = await new Response(child.stderr).text();
  return { code: await child.exited, said };
};

test('--toolset serves one toolset, hears of its changes, and hides everything else', async () => {
  control.greeting = { event: 'snapshot', data: versioned(1, ['find_order']) };
  const one = await connect('--toolset', 'sales');
  let heard = 0;
  one.setNotificationHandler(ToolListChangedNotificationSchema, () => void heard++);
  expect(await names(one)).toEqual(['find_order']);
  expect(await one.callTool({ name: 'find_order' })).toMatchObject({ structuredContent: { rows: [{ one: 1 }] } });
  const hidden = await one.callTool({ name: 'find_salary' }).catch(String);
  const unknown = await one.callTool({ name: 'find_nothing' }).catch(String);
  expect(JSON.stringify(hidden).replaceAll('find_salary', 'find_nothing')).toBe(JSON.stringify(unknown));
  await control.deploy(versioned(2, ['find_order', 'find_customer']));
  await until(() => heard > 0);
  expect((await names(one)).sort()).toEqual(['find_customer', 'find_order']);
  // A toolset that is deployed no more.
  await control.deploy(versioned(3, ['find_order'], [payroll]));
  await until(async () => JSON.stringify(await one.listTools().catch(String)).includes('has no toolset sales'));
});

test('--toolset=NAME serves a toolset of a group: who starts the program has its data anyway', async () => {
  control.greeting = { event: 'snapshot', data: versioned(1, ['find_order']) };
  expect(await names(await connect('--toolset=payroll'))).toEqual(['find_salary']);
});

test.each([
  [['--toolset', 'nothing'], 'Version 1 has no toolset nothing. Deploy it, or use one of these: payroll, sales.'],
  [['--toolset', 'Not A Name'], '--toolset must be the name of a toolset'],
  [['--toolset', 'readonly'], '--toolset must be the name of a toolset'],
  [['--toolset'], 'Usage: stdio [--toolset NAME]'],
  [['--tool', 'sales'], 'Usage: stdio [--toolset NAME]'],
  [['--toolset', 'sales', 'more'], 'Usage: stdio [--toolset NAME]'],
])('%j is refused with a sentence', async (args, sentence) => {
  control.greeting = { event: 'snapshot', data: versioned(1, ['find_order']) };
  const { code, said } = await run(...args);
  expect([code, said]).toEqual([64, expect.stringContaining(sentence)]);
});
