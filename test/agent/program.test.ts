import { afterEach, expect, test } from 'bun:test';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from '#test/support/free-port.ts';
import { type ListeningServer, listeningServer } from '#test/support/server.ts';
import { until } from '#test/support/until.ts';

const MAIN = fileURLToPath(new URL('../../agent/main.ts', import.meta.url));

const TOKEN = 'service-token-of-32-characters-or-more';
const directory = mkdtempSync(join(tmpdir(), 'sluice-agent-'));
const started: Bun.Subprocess[] = [];
let server: ListeningServer | null = null;
afterEach(async () => {
  for (const child of started.splice(0)) child.kill('SIGKILL');
  await server?.stop();
  server = null;
  rmSync(directory, { recursive: true, force: true });
});

function start(more: Record<string, string>) {
  const child = Bun.spawn([process.execPath, MAIN], {
    env: { PATH: process.env['PATH'], SVC_ENV: 'production', SVC_DATA_DIR: directory, SVC_BIND: '127.0.0.1', ...more },
    stdout: 'pipe',
    stderr: 'pipe',
    ipc: () => undefined,
  });
  started.push(child);
  return child;
}

test('runs alone, without a database or a key, and stops when it is told to', async () => {
  server = await listeningServer();
  const cookie = await server.signIn();
  const { token } = await server.call('agent_tokens.create', { name: 'Claude', duration_minutes: 15 });
  const port = freePort();
  const url = `http://127.0.0.1:${port}`;
  const child = start({
    SVC_AGENT_MCP_PORT: String(port),
    SVC_SERVER_URL: server.url,
    SVC_AGENT_SERVICE_TOKEN: server.service_token,
  });
  await until(async () => (await fetch(`${url}/agent-mcp/health`)).ok);
  const answer = await fetch(`${url}/agent-mcp/mcp`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'list_connections', arguments: {} } }),
  });
  expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining('"total":0')]);
  // What it logs stands in the live log of the server: that it listens, and, before it ends, that it stops.
  const live = await fetch(`${server.url}/api/v1/deploy/logs?source=agent`, { headers: { cookie } });
  let told = '';
  const reading = (async () => {
    for await (const part of live.body ?? []) told += Buffer.from(part).toString('utf8');
  })();
  await until(
    () => told.includes('"message":"agent listens"'),
    () => told,
  );
  child.kill('SIGTERM');
  expect(await child.exited).toBe(0);
  await until(
    () => told.includes('"message":"agent stops"'),
    () => told,
  );
  await server.stop();
  server = null;
  await reading.catch(() => undefined);
}, 60_000);

test('does not start without what it needs, and names all of it', async () => {
  const child = start({ SVC_AGENT_MCP_PORT: 'x', SVC_AGENT_MCP_URL: 'ftp://agent' });
  expect(await child.exited).toBe(1);
  const line = JSON.parse(await new Response(child.stderr).text()) as Record<string, unknown>;
  expect(line).toMatchObject({ level: 'ERROR', source: 'agent', message: 'The agent cannot start' });
  for (const name of ['SVC_AGENT_MCP_PORT', 'SVC_AGENT_MCP_URL', 'SVC_AGENT_SERVICE_TOKEN'])
    expect(line['errors']).toContainEqual(expect.stringContaining(name));
});

test('a request without a usable Host gets 400, a probe its answer, and nothing but log lines is printed', async () => {
  const port = freePort();
  const child = start({ SVC_AGENT_MCP_PORT: String(port), SVC_SERVER_URL: 'http://127.0.0.1:1', SVC_AGENT_SERVICE_TOKEN: TOKEN });
  await until(async () => (await fetch(`http://127.0.0.1:${port}/livez`)).ok);
  const probe = 'GET /livez HTTP/1.0\r\n';
  for (const [head, status] of [
    [probe, 200],
    [`${probe}Host: localhost:99999\r\n`, 400],
    [`${probe}Host: a b\r\n`, 400],
    ['GET /agent-mcp/mcp HTTP/1.0\r\n', 400],
    ['OPTIONS * HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n', 400],
  ] as const)
    expect([head, await statusOf(port, head)]).toEqual([head, status]);
  child.kill('SIGTERM');
  expect(await child.exited).toBe(0);
  const printed = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  const lines = printed.join('').split('\n').filter(Boolean);
  expect(lines.map((line) => (JSON.parse(line) as { message: string }).message)).toEqual(['agent listens', 'agent stops']);
}, 60_000);

/** The status that a request with this head gets. */
const statusOf = (port: number, head: string): Promise<number> =>
  new Promise((resolve, reject) => {
    let answer = '';
    const socket = connect(port, '127.0.0.1', () => socket.write(`${head}\r\n`));
    socket.on('data', (chunk) => (answer += String(chunk)));
    socket.on('close', () => resolve(Number(answer.split(' ')[1])));
    socket.on('error', reject);
  });
