import { expect, test } from 'bun:test';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { ProtocolVersion } from '#core/contract/settings/setting-values.ts';
import { connection, modern, rpc, snapshotOf, toolOf } from '../support.ts';
import { useHost } from '../use-host.ts';

const { control, host } = useHost('all');
let version = 0;
const deployLeast = (min_protocol_version: ProtocolVersion) =>
  control.deploy(
    snapshotOf((version += 1), {
      connections: [connection],
      tools: [toolOf(connection, 'one', 'select 1 as one')],
      server: { min_protocol_version },
    }),
  );
const initialize = (protocolVersion: string) =>
  rpc(host.mcp, {
    id: 1,
    method: 'initialize',
    params: { protocolVersion, capabilities: {}, clientInfo: { name: 't', version: '1' } },
  });
const refusal = (least: string, requested: string, supported: readonly string[]) => ({
  status: 400,
  body: {
    error: { code: -32_022, message: `This server requires MCP version ${least} or newer.`, data: { supported, requested } },
  },
});

test('a client of an older version is refused with the versions that are supported, a newer one is served', async () => {
  await deployLeast('2025-06-18');
  const supported = ['2026-07-28', '2025-11-25', '2025-06-18'];
  expect(await initialize('2025-03-26')).toMatchObject(refusal('2025-06-18', '2025-03-26', supported));
  expect(await initialize('2024-11-05')).toMatchObject(refusal('2025-06-18', '2024-11-05', supported));
  expect((await initialize('2025-06-18')).body.result).toMatchObject({ protocolVersion: '2025-06-18' });
  expect((await modern(host.mcp, 'tools/list')).status).toBe(200);
});

test('requests without a session count as the version that they name, and without a name as 2025-03-26', async () => {
  await deployLeast('2025-06-18');
  const list = { id: 2, method: 'tools/list', params: {} };
  expect((await rpc(host.mcp, list)).status).toBe(400);
  expect((await rpc(host.mcp, list, { 'mcp-protocol-version': '2025-03-26' })).status).toBe(400);
  expect((await rpc(host.mcp, list, { 'mcp-protocol-version': '2025-11-25' })).status).toBe(200);
  const batch = await fetch(host.mcp, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json' },
    body: JSON.stringify([{ jsonrpc: '2.0', ...list }]),
  });
  expect(batch.status).toBe(400);
});

test('a session of an older version ends with the deploy that raises the least one', async () => {
  await deployLeast('2024-11-05');
  const opened = await initialize('2025-03-26');
  const session = { 'mcp-session-id': opened.headers.get('mcp-session-id') ?? '' };
  const list = () => rpc(host.mcp, { id: 3, method: 'tools/list', params: {} }, session);
  expect((await list()).status).toBe(200);
  await deployLeast('2025-11-25');
  expect(await list()).toMatchObject({ status: 400, body: { error: { code: -32_022 } } });
});

test('with the stateless revision as the least one, the official client of older ones cannot connect', async () => {
  await deployLeast('2026-07-28');
  const client = new Client({ name: 'old', version: '1' });
  const refused = client.connect(new StreamableHTTPClientTransport(host.mcp));
  expect(await refused.catch(String)).toContain('This server requires MCP version 2026-07-28 or newer.');
  expect((await modern(host.mcp, 'tools/list')).status).toBe(200);
});
