import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { clientTexts } from '#core/client/client-texts.ts';
import type { Output } from '#core/contract/index.ts';
import type { Programs } from './programs.ts';

export interface Line {
  readonly command: string;
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** Runs a line with nothing in the environment but what it says: not even a PATH. */
export async function toolsOf({ command, args, env = {} }: Line, cwd: string): Promise<string[]> {
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
    if (!JSON.stringify(called['structuredContent']).includes('"Ada"')) throw new Error(JSON.stringify(called));
    return tools.map(({ name }) => name);
  } catch (error) {
    throw new Error(said, { cause: error });
  } finally {
    await client.close();
  }
}

/** Somebody's project, whose settings of Bun would end every program that reads them. */
export function foreignFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'elsewhere-'));
  writeFileSync(join(folder, 'bunfig.toml'), 'preload = ["./not-ours.ts"]\n');
  writeFileSync(join(folder, 'not-ours.ts'), 'process.exit(9);\n');
  return folder;
}

/** The line that the UI prints for the demo of these programs. */
export async function stdioLine(programs: Programs): Promise<{ line: Line; secrets: readonly string[] }> {
  const stdio = await programs.api<Output<'server.stdio'>>('GET', '/server/stdio');
  const endpoint = { server_name: 'Demo', url: programs.mcp_url, auth_type: 'none', transport: 'http', stdio } as const;
  const text = clientTexts(endpoint).find(({ id }) => id === 'stdio')?.text ?? '';
  const { mcpServers } = JSON.parse(text) as { mcpServers: { demo: Line } };
  return { line: mcpServers.demo, secrets: stdio.secrets };
}
