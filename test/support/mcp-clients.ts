import { Client as ModernClient, StreamableHTTPClientTransport as ModernTransport } from '@modelcontextprotocol/client';
import { Client as LegacyClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport, type StdioServerParameters } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport as LegacyTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

/** What both official clients answer, as far as tests look. */
export interface ToolResult {
  readonly isError?: boolean;
  readonly _meta?: unknown;
  readonly structuredContent?: Record<string, unknown>;
  readonly content: readonly { readonly type: string; readonly text?: string }[];
}

export interface McpClient {
  tools(): Promise<string[]>;
  call(name: string, args: Record<string, unknown>): Promise<ToolResult>;
  close(): Promise<void>;
}

/** A program that answers nothing has failed sooner than the client's own minute. */
const PROGRAM_CALL_MS = 15_000;
const INFO = { name: 'test', version: '1.0.0' };
export type ClientKind = 'v1' | 'v2';

/** An official client of either generation, connected. */
export async function connectClient(kind: ClientKind, url: string, headers: Record<string, string> = {}): Promise<McpClient> {
  if (kind === 'v1') return connectLegacy(new LegacyTransport(new URL(url), { requestInit: { headers } }));
  const client = new ModernClient(INFO);
  await client.connect(new ModernTransport(new URL(url), { requestInit: { headers } }));
  return {
    tools: async () => (await client.listTools()).tools.map(({ name }) => name),
    call: async (name, args) => (await client.callTool({ name, arguments: args })) as unknown as ToolResult,
    close: () => client.close(),
  };
}

/**
 * The older official client, connected to a program on its standard streams.
 * @param hear gets what the program prints beside its answers, if `stderr` is `pipe`.
 */
export function connectProgram(parameters: StdioServerParameters, hear?: (chunk: Uint8Array) => void): Promise<McpClient> {
  const transport = new StdioClientTransport(parameters);
  if (hear !== undefined) transport.stderr?.on('data', hear);
  return connectLegacy(transport, { timeout: PROGRAM_CALL_MS });
}

async function connectLegacy(
  transport: Parameters<LegacyClient['connect']>[0],
  options: { readonly timeout?: number } = {},
): Promise<McpClient> {
  const client = new LegacyClient(INFO);
  await client.connect(transport);
  return {
    tools: async () => (await client.listTools()).tools.map(({ name }) => name),
    call: async (name, args) => (await client.callTool({ name, arguments: args }, undefined, options)) as unknown as ToolResult,
    close: () => client.close(),
  };
}
