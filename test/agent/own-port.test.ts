import { afterAll, afterEach, beforeAll, describe, expect, spyOn, test } from 'bun:test';
import { Client as ModernClient, StreamableHTTPClientTransport as ModernTransport } from '@modelcontextprotocol/client';
import { Client as LegacyClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as LegacyTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { sendLines } from '#agent/lines.ts';
import { createServerLink } from '#agent/server-link.ts';
import { createLog } from '#core/process/log.ts';
import { type ListeningAgent, listeningAgent } from '#test/support/agent.ts';
import { isErrorBody } from '#test/support/app.ts';
import { SPECIFIED_TOOLS } from '#test/support/agent-tools.ts';
import { until } from '#test/support/until.ts';

let a: ListeningAgent;
let token: string;
beforeAll(async () => {
  a = await listeningAgent({ SVC_TRUSTED_PROXIES: '127.0.0.1', SVC_AGENT_RATE_LIMIT: '100000' });
  token = await a.token();
});
afterAll(() => a.stop());

const LIST = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
const callMessage = (name: string, args: object = {}) => ({
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name, arguments: args },
});

const send = (base: string, method: string, headers: Record<string, string>, body?: unknown) =>
  fetch(`${base}/agent-mcp/mcp`, {
    method,
    headers: { accept: 'application/json, text/event-stream', 'content-type': 'application/json', ...headers },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
const bearer = () => ({ authorization: `Bearer ${token}` });
const newest = async () => (await a.s.call('agent_activity.list', { limit: 1 })).items[0];

describe('the address of the client', () => {
  test('is what a trusted proxy says, on both ports, and the last address that is none of its own', async () => {
    for (const base of [a.s.url, a.url]) {
      for (const [forwarded, told] of [
        ['198.51.100.7', '198.51.100.7'],
        ['203.0.113.1, 198.51.100.8', '198.51.100.8'],
        ['198.51.100.9, 127.0.0.1', '198.51.100.9'],
        ['nonsense', '127.0.0.1'],
      ]) {
        const answer = await send(
          base,
          'POST',
          { ...bearer(), 'x-forwarded-for': forwarded ?? '' },
          callMessage('get_queue_metrics'),
        );
        expect(answer.status).toBe(200);
        expect(await newest()).toMatchObject({ client_ip: told, tool_name: 'get_queue_metrics' });
      }
    }
  });
});

describe('pages of cors_origins', () => {
  test('may use both ports, others neither, and a change counts within seconds', async () => {
    const origin = 'https://tools.example';
    for (const base of [a.s.url, a.url]) {
      expect((await send(base, 'OPTIONS', { origin })).status).toBe(403);
      expect((await send(base, 'POST', { ...bearer(), origin }, LIST)).status).toBe(403);
    }
    await a.s.call('config.update', { cors_origins: [origin] });
    for (const base of [a.s.url, a.url]) {
      await until(async () => (await send(base, 'OPTIONS', { origin })).status === 204);
      const asked = await send(base, 'OPTIONS', { origin, 'access-control-request-method': 'POST' });
      expect(asked.headers.get('access-control-allow-origin')).toBe(origin);
      expect(asked.headers.get('access-control-allow-headers')).toContain('Authorization');
      const answer = await send(base, 'POST', { ...bearer(), origin }, LIST);
      expect([answer.status, answer.headers.get('access-control-allow-origin')]).toEqual([200, origin]);
      // A page can read why it is refused.
      const nobody = await send(base, 'POST', { origin }, LIST);
      expect([nobody.status, nobody.headers.get('access-control-allow-origin')]).toEqual([401, origin]);
      for (const other of ['http://tools.example', 'https://tools.example.evil.example', 'https://tools.example:8443', 'null']) {
        const refused = await send(base, 'POST', { ...bearer(), origin: other }, LIST);
        expect([refused.status, refused.headers.get('access-control-allow-origin')]).toEqual([403, null]);
      }
    }
  }, 60_000);

  test('host names of the configuration are accepted on both ports', async () => {
    const host = 'sluice.example';
    for (const base of [a.s.url, a.url]) expect((await send(base, 'POST', { ...bearer(), host }, LIST)).status).toBe(403);
    await a.s.call('config.update', { ui_domain: host });
    for (const base of [a.s.url, a.url]) {
      await until(async () => (await send(base, 'POST', { ...bearer(), host }, LIST)).status === 200);
    }
  }, 60_000);
});

describe('official clients', () => {
  const complaints = spyOn(console, 'error');
  afterEach(() => complaints.mockClear());

  test('of before 2026 find no session, no stream and nothing to complain about', async () => {
    for (const base of [a.s.url, a.url]) {
      for (const method of ['GET', 'DELETE']) {
        const answer = await send(base, method, { ...bearer(), 'mcp-session-id': 'stray', 'mcp-protocol-version': '2025-11-25' });
        expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'POST']);
      }
      const errors: unknown[] = [];
      const client = new LegacyClient({ name: 'test', version: '1.0.0' });
      const transport = new LegacyTransport(new URL(`${base}/agent-mcp/mcp`), { requestInit: { headers: bearer() } });
      Object.assign(client, { onerror: (error: unknown) => errors.push(error) });
      await client.connect(transport);
      expect(transport.sessionId).toBeUndefined();
      await client.ping();
      expect((await client.listTools()).tools).toHaveLength(SPECIFIED_TOOLS.length);
      await client.callTool({ name: 'get_queue_metrics', arguments: {} });
      await transport.terminateSession();
      await client.close();
      expect([errors, complaints.mock.calls]).toEqual([[], []]);
    }
  });

  test('of 2026 neither', async () => {
    for (const base of [a.s.url, a.url]) {
      const errors: unknown[] = [];
      const client = new ModernClient({ name: 'test', version: '1.0.0' });
      Object.assign(client, { onerror: (error: unknown) => errors.push(error) });
      await client.connect(new ModernTransport(new URL(`${base}/agent-mcp/mcp`), { requestInit: { headers: bearer() } }));
      expect((await client.listTools()).tools).toHaveLength(SPECIFIED_TOOLS.length);
      await client.callTool({ name: 'get_queue_metrics', arguments: {} });
      await client.close();
      expect([errors, complaints.mock.calls]).toEqual([[], []]);
    }
  });
});

describe('errors', () => {
  test('before the protocol are a sentence, within it an error with the id of the message', async () => {
    for (const base of [a.s.url, a.url]) {
      const path = (at: string) => fetch(`${base}/agent-mcp/${at}`, { headers: bearer() });
      const missing = await path('elsewhere');
      expect([missing.status, isErrorBody(await missing.json())]).toEqual([404, true]);
      const unknown = await send(base, 'POST', bearer(), { jsonrpc: '2.0', id: 7, method: 'no/such' });
      expect(await unknown.text()).toContain('-32601');
      const cursor = await send(base, 'POST', bearer(), { ...LIST, params: { cursor: 'x' } });
      expect(await cursor.text()).toContain('-32602');
      const many = await send(
        base,
        'POST',
        bearer(),
        Array.from({ length: 51 }, () => LIST),
      );
      expect([many.status, isErrorBody(await many.json())]).toEqual([400, true]);
      for (const args of [null, 'text', 7, ['a']]) {
        const wrong = await send(base, 'POST', bearer(), {
          ...LIST,
          method: 'tools/call',
          params: { name: 'get_tool', arguments: args },
        });
        expect(wrong.status).toBeLessThan(500);
      }
    }
  });
});

interface Frame {
  readonly source?: string;
  readonly message?: string;
  readonly level?: string;
  readonly fields?: Record<string, unknown>;
}

test('lines of the program and every call stand in the live log under its name, without a token', async () => {
  const cookie = await a.s.signIn();
  const frames: Frame[] = [];
  const socket = new WebSocket(`${a.s.url.replace('http', 'ws')}/api/v1/deploy/logs?source=agent`, {
    headers: { cookie },
  } as unknown as string[]);
  socket.addEventListener('message', ({ data }) => void frames.push(JSON.parse(String(data)) as Frame));
  const log = createLog('INFO', () => undefined, 'agent');
  const link = createServerLink({ server_url: a.s.url, service_token: a.s.service_token });
  let away = true;
  const lines = sendLines(log, { lines: (sent) => (away ? Promise.reject(new Error('away')) : link.lines(sent)) }, 20);
  try {
    log.info('agent listens', { port: 8090, odd: { nested: true } });
    log.debug('too small');
    await Bun.sleep(100);
    away = false;
    log.error('request failed', { reason: `Bearer ${token}` });
    await until(() => frames.filter(({ message }) => message === 'request failed').length === 1);
    await send(a.s.url, 'POST', bearer(), callMessage('get_queue_metrics'));
    await send(a.s.url, 'POST', bearer(), callMessage('get_tool', { tool_id: 'none' }));
    await until(() => frames.some(({ message }) => message === 'agent call failed'));
    const told = frames.filter(({ fields }) => fields?.['port'] === 8090);
    expect(told).toMatchObject([{ source: 'agent', message: 'agent listens', level: 'INFO', fields: { port: 8090 } }]);
    expect(frames).toContainEqual(
      expect.objectContaining({
        level: 'INFO',
        message: 'agent call',
        fields: expect.objectContaining({ tool: 'get_queue_metrics' }),
      }),
    );
    expect(frames).toContainEqual(
      expect.objectContaining({ level: 'WARNING', fields: expect.objectContaining({ tool: 'get_tool', code: 'not_found' }) }),
    );
    expect(JSON.stringify(frames)).not.toContain(token);
    expect(JSON.stringify(frames)).not.toContain('too small');
  } finally {
    await lines.stop();
    socket.close();
  }
  const refused = await fetch(`${a.s.url}/api/internal/agent/lines`, {
    method: 'POST',
    headers: { cookie },
    body: '{"lines":[]}',
  });
  expect(refused.status).toBe(401);
}, 60_000);
