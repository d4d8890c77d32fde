import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { Client as ModernClient } from '@modelcontextprotocol/client';
import { StdioClientTransport as ModernTransport } from '@modelcontextprotocol/client/stdio';
import { Client as LegacyClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as LegacyTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { isNetworkHost } from '#core/contract/deploy/deploy.ts';
import type { FrozenServer } from '#snapshots/format/format.ts';
import { snapshotFile } from '#mcp-host/control/snapshot-file.ts';
import {
  connection,
  type ControlServer,
  controlServer,
  ENVELOPE,
  modern,
  snapshotOf,
  sqliteFolder,
  testHost,
  TOKEN,
  toolOf,
} from '../support.ts';
import { hostCommand } from '#test/support/deno.ts';
import { keepOnDisk } from '#test/mcp-host/snapshot-forms.ts';
import { until } from '#test/support/until.ts';

const PROGRAM = join(import.meta.dir, '../../../mcp-host/stdio.ts');
const ENDLESS = 'with recursive c(n) as (select 1 union all select n + 1 from c) select count(*) as n from c';
let folder: ReturnType<typeof sqliteFolder>;
let control: ControlServer;
const closing: (() => unknown)[] = [];

const versioned = (version: number, server: Partial<FrozenServer> = {}) =>
  snapshotOf(version, {
    connections: [connection],
    tools: [toolOf(connection, `tool_${version}`, 'select 1 as one'), toolOf(connection, 'endless', ENDLESS)],
    server,
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
const command = () => {
  const [command = '', ...args] = hostCommand(PROGRAM);
  return { command, args, env: environment(), stderr: 'ignore' as const };
};

beforeEach(() => {
  folder = sqliteFolder();
  control = controlServer();
});
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
  await control.stop();
  folder.remove();
});

interface AnyClient {
  listTools(): Promise<{ tools: { name: string }[] }>;
  callTool(params: { name: string }): Promise<Record<string, unknown>>;
}
const ERAS: [string, (heard: () => void) => Promise<AnyClient>][] = [
  [
    'the v1 client',
    async (heard) => {
      const client = new LegacyClient({ name: 'v1', version: '1' });
      client.setNotificationHandler(ToolListChangedNotificationSchema, heard);
      await client.connect(new LegacyTransport(command()));
      closing.push(() => client.close());
      return client;
    },
  ],
  [
    'the v2 client in the stateless revision',
    async (heard) => {
      const client = new ModernClient({ name: 'v2', version: '1' }, { versionNegotiation: { mode: { pin: '2026-07-28' } } });
      client.setNotificationHandler('notifications/tools/list_changed', heard);
      await client.connect(new ModernTransport(command()));
      closing.push(() => client.close());
      await client.listen({ toolsListChanged: true });
      return client;
    },
  ],
];

describe.each(ERAS)('%s', (_, connect) => {
  test('lists and calls what the server deployed, and hears of the next deploy', async () => {
    control.greeting = { event: 'snapshot', data: versioned(1, { transport: 'stdio', auth_type: 'bearer' }) };
    let heard = 0;
    const client = await connect(() => void heard++);
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['endless', 'tool_1']);
    expect(await client.callTool({ name: 'tool_1' })).toMatchObject({ structuredContent: { rows: [{ one: 1 }] } });
    await control.deploy(versioned(2, { transport: 'stdio' }));
    await until(() => heard > 0);
    expect((await client.listTools()).tools.map(({ name }) => name)).toContain('tool_2');
    control.send('stop', {});
    await until(async () => JSON.stringify(await client.callTool({ name: 'tool_2' }).catch(String)).includes('stopped'));
    control.send('snapshot', versioned(3, { transport: 'stdio' }));
    expect(await until(() => client.callTool({ name: 'tool_3' }).catch(() => null))).toMatchObject({
      structuredContent: { rows: [{ one: 1 }] },
    });
  });

  test('serves the snapshot on disk without a server', async () => {
    mkdirSync(join(folder.directory, 'host'));
    await keepOnDisk(snapshotFile(join(folder.directory, 'host/snapshot.json')), versioned(7));
    await control.stop();
    const client = await connect(() => undefined);
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['endless', 'tool_7']);
  });
});

/** The program with raw lines. */
function start() {
  const child = Bun.spawn(hostCommand(PROGRAM), { env: environment(), stdin: 'pipe', stdout: 'pipe', stderr: 'pipe' });
  closing.push(async () => {
    child.kill('SIGKILL');
    await child.exited;
  });
  return child;
}

test('what was asked before the end of the input is answered, one line each, and the program ends', async () => {
  control.greeting = { event: 'snapshot', data: versioned(1) };
  const child = start();
  const lines = [
    'not json',
    '{"jsonrpc":"2.0","id":1}',
    JSON.stringify({ jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'tool_1', _meta: ENVELOPE } }),
    JSON.stringify({ jsonrpc: '2.0', id: 'drei', method: 'prompts/get', params: { name: 'ü', _meta: ENVELOPE } }),
    JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' }),
  ];
  void child.stdin.write(lines.join('\n'));
  await child.stdin.end();
  const answers = (await new Response(child.stdout).text())
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { id: unknown; error?: { code: number }; result?: object });
  const byId = (id: unknown) => answers.find((answer) => answer.id === id);
  expect(answers.length).toBe(4);
  expect([byId(null)?.error?.code, byId(1)?.error?.code, byId('drei')?.error?.code]).toEqual([-32_700, -32_600, -32_602]);
  expect(byId(2)?.result).toMatchObject({ structuredContent: { rows: [{ one: 1 }] } });
  expect(await child.exited).toBe(0);
  // The server knows it from a host that listens.
  expect(control.ids.map(isNetworkHost)).toEqual([false]);
});

test('a message whose method is no text is refused, and the program goes on', async () => {
  control.greeting = { event: 'snapshot', data: versioned(1) };
  const child = start();
  const methods: unknown[] = [{ toString: 1 }, null, 7, ['tools/list'], undefined];
  const lines = methods.map((method, id) => JSON.stringify({ jsonrpc: '2.0', id, method, params: { _meta: ENVELOPE } }));
  const list = JSON.stringify({ jsonrpc: '2.0', id: 'list', method: 'tools/list', params: { _meta: ENVELOPE } });
  void child.stdin.write([...lines, list].join('\n'));
  await child.stdin.end();
  const answers = (await new Response(child.stdout).text())
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as { id: unknown; error?: { code: number }; result?: object });
  const codes = methods.map((_, at) => answers.find(({ id }) => id === at)?.error?.code);
  expect(codes).toEqual(methods.map(() => -32_600));
  expect(answers.find(({ id }) => id === 'list')?.result).toBeDefined();
  expect(await child.exited).toBe(0);
});

test('a cancelled call is cancelled in the database and has no answer', async () => {
  control.greeting = { event: 'snapshot', data: versioned(1) };
  const child = start();
  const say = (message: object) => void child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  say({ id: 1, method: 'tools/call', params: { name: 'endless', _meta: ENVELOPE } });
  await Bun.sleep(800);
  say({ method: 'notifications/cancelled', params: { requestId: 1 } });
  say({ id: 2, method: 'tools/list', params: { _meta: ENVELOPE } });
  await child.stdin.end();
  const text = await new Response(child.stdout).text();
  expect(text).toContain('"id":2');
  expect(text).not.toContain('"id":1,');
  const items = control.usage.flatMap((batch) => batch.items);
  expect(items).toContainEqual(expect.objectContaining({ name: 'endless', error: 'cancelled' }));
});

test('over the network a server of this transport answers with the command, and tells its health', async () => {
  const host = await testHost(folder.directory, control.url);
  closing.push(() => host.stop());
  await until(async () => (await host.health()).control.connected);
  await control.deploy(versioned(1, { transport: 'stdio' }));
  const answer = await modern(host.mcp, 'tools/list');
  expect(answer.status).toBe(404);
  expect(answer.body.error?.message).toContain('bun mcp-host/stdio.ts');
  expect(((await (await fetch(new URL('/health', host.mcp))).json()) as { transport: string }).transport).toBe('stdio');
  await control.deploy(versioned(2));
  expect((await modern(host.mcp, 'tools/list')).status).toBe(200);
});
