import { afterAll, beforeAll, expect, test } from 'bun:test';
import {
  Client as ModernClient,
  ClientCredentialsProvider as ModernProvider,
  StreamableHTTPClientTransport as ModernTransport,
} from '@modelcontextprotocol/client';
import { ClientCredentialsProvider as LegacyProvider } from '@modelcontextprotocol/sdk/client/auth-extensions.js';
import { Client as LegacyClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as LegacyTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { type ListeningAgent, listeningAgent } from '#test/support/agent.ts';
import { SPECIFIED_TOOLS } from '#test/support/agent-tools.ts';

let a: ListeningAgent;
let credentials: { clientId: string; clientSecret: string; expectedIssuer: string };
beforeAll(async () => {
  a = await listeningAgent();
  const body = await a.s.call('oauth_clients.create', { name: 'Bot', idle_timeout_minutes: 15 });
  credentials = {
    clientId: body.client_id,
    clientSecret: body.client_secret,
    expectedIssuer: `${a.s.url}/agent-mcp`,
  };
});
afterAll(() => a.stop());

const INFO = { name: 'test', version: '1.0.0' };

test.each(['/agent-mcp/mcp', '/agent-mcp/'])('official clients find their way from a 401 at %s to a token', async (path) => {
  const url = new URL(`${a.s.url}${path}`);
  const modern = new ModernClient(INFO);
  await modern.connect(new ModernTransport(url, { authProvider: new ModernProvider(credentials) }));
  expect((await modern.listTools()).tools).toHaveLength(SPECIFIED_TOOLS.length);
  await modern.close();
  const legacy = new LegacyClient(INFO);
  await legacy.connect(new LegacyTransport(url, { authProvider: new LegacyProvider(credentials) }));
  expect((await legacy.listTools()).tools).toHaveLength(SPECIFIED_TOOLS.length);
  await legacy.close();
});

test('nobody signs in interactively', async () => {
  const answer = await fetch(`${a.s.url}/agent-mcp/oauth/authorize?response_type=code`);
  expect([answer.status, ((await answer.json()) as { error: string }).error]).toEqual([400, 'unsupported_response_type']);
});
