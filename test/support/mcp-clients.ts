import { Client as ModernClient, StreamableHTTPClientTransport as ModernTransport } from '@modelcontextprotocol/client';
import { Client as LegacyClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as LegacyTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';

/** What both official clients answer, as far as tests look. */
export interface ToolResult {
  readonly isError?: boolean;
  readonly structuredContent?: Record<string, unknown>;
  readonly content: readonly { readonly type: string; readonly text?: string }[];
}

export interface McpClient {
  tools(): Promise<string[]>;
  call(name: string, args: Record<string, unknown>): Promise<ToolResult>;
  close(): Promise<void>;
}

export type ClientKind = 'v1' | 'v2';

/** An official client of either generation, connected. */
export async function connectClient(kind: ClientKind, url: string, headers: Record<string, string> = {}): Promise<McpClient> {
  const info = { name: 'test', version: '1.0.0' };
  if (kind === 'v1') {
    const client = new LegacyClient(info);
    await client.connect(new LegacyTransport(new URL(url), { requestInit: { headers } }));
    return {
      tools: async () => (await client.listTools()).tools.map(({ name }) => name),
      call: async (name, args) => (await client.callTool({ name, arguments: args })) as unknown as ToolResult,
      close: () => client.close(),
    };
  }
  const client = new ModernClient(info);
  await client.connect(new ModernTransport(new URL(url), { requestInit: { headers } }));
  return {
    tools: async () => (await client.listTools()).tools.map(({ name }) => name),
    call: async (name, args) => (await client.callTool({ name, arguments: args })) as unknown as ToolResult,
    close: () => client.close(),
  };
}
