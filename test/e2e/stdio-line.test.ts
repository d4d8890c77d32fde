import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { clientTexts } from '#core/client-texts.ts';
import type { Output } from '#core/contract/index.ts';
import { type Programs, removeFolder, startPrograms, until } from '#test/support/programs.ts';

const PROGRAM = join(import.meta.dir, '../../mcp-host/stdio.ts');
const DEMO = ['get_customer', 'list_orders', 'sales_by_category', 'search_products'];

let programs: Programs;
/** Somebody's project: its own settings of Bun and its own environment file are not ours. */
let elsewhere: string;
beforeAll(async () => {
  elsewhere = mkdtempSync(join(tmpdir(), 'elsewhere-'));
  writeFileSync(join(elsewhere, 'bunfig.toml'), 'preload = ["./not-ours.ts"]\n');
  writeFileSync(join(elsewhere, 'not-ours.ts'), 'process.exit(9);\n');
  writeFileSync(join(elsewhere, '.env'), 'SVC_DATA_DIR=/nowhere\nSVC_FASTMCP_PORT=nonsense\n');
  programs = await startPrograms();
  await until(
    () => programs.output().includes('curl'),
    20_000,
    () => programs.output(),
  );
  await programs.signIn();
}, 30_000);
afterAll(async () => {
  await programs.stop();
  removeFolder(programs);
  rmSync(elsewhere, { recursive: true });
});

interface Line {
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** Runs a line with nothing in the environment but what it says: not even a PATH. */
async function toolsOf({ command, args, env = {} }: Line, cwd: string): Promise<string[]> {
  const assigned = Object.entries(env).map(([name, value]) => `${name}=${value}`);
  const transport = new StdioClientTransport({
    command: '/usr/bin/env',
    args: ['-i', ...assigned, command, ...args],
    cwd,
    stderr: 'pipe',
  });
  let said = '';
  transport.stderr?.on('data', (chunk) => (said += String(chunk)));
  const client = new Client({ name: 'test', version: '1' });
  try {
    await client.connect(transport);
    const { tools } = await client.listTools();
    const called = await client.callTool({ name: 'get_customer', arguments: { email: 'ada@example.com' } });
    expect(called['structuredContent']).toMatchObject({ row: { name: 'Ada' } });
    return tools.map(({ name }) => name);
  } catch (error) {
    throw new Error(said, { cause: error });
  } finally {
    await client.close();
  }
}

describe('the stdio line', () => {
  test('as the UI prints it works from another folder, without an environment and without Bun on the PATH', async () => {
    const stdio = await programs.api<Output<'server.stdio'>>('GET', '/server/stdio');
    expect(stdio.secrets).toEqual([]);
    const { text = '' } =
      clientTexts({
        server_name: 'Demo',
        url: programs.mcp_url,
        token: undefined,
        auth_type: 'none',
        transport: 'http',
        stdio,
      }).find(({ id }) => id === 'stdio') ?? {};
    const { mcpServers } = JSON.parse(text) as { mcpServers: Record<string, Line> };
    expect(await toolsOf(mcpServers['demo'] as Line, elsewhere)).toEqual(DEMO);
  }, 30_000);

  test('typed by hand finds the installation of the current folder', async () => {
    const home = join(elsewhere, 'home');
    mkdirSync(home);
    symlinkSync(programs.directory, join(home, 'data'));
    const env = { SVC_ALLOW_PRIVATE_NETWORKS: 'true' };
    expect(await toolsOf({ command: process.execPath, args: [PROGRAM], env }, home)).toEqual(DEMO);
  }, 30_000);
});
