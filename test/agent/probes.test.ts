import { afterEach, expect, test } from 'bun:test';
import { createAgentProbes } from '#agent/probes.ts';
import { type ListeningServer, listeningServer } from '#test/support/server.ts';
import { until } from '#test/support/until.ts';

const TOKEN = 'service-token-of-the-tests';
let server: ListeningServer | null = null;
afterEach(async () => {
  await server?.stop();
  server = null;
});

const request = (path: string, headers: Record<string, string> = {}) => new Request(`http://agent.example${path}`, { headers });
const READER = { authorization: 'Bearer figures' };

test('the agent endpoint lives without the server, and is ready with it alone', async () => {
  server = await listeningServer();
  let ending = false;
  const probes = createAgentProbes({
    server_url: server.url,
    service_token: TOKEN,
    metrics_token: 'figures',
    tally: { undeclared: 3 },
    ending: () => ending,
  });
  const ask = async (path: string, headers = {}) => {
    const answer = await probes.answer(request(path, headers));
    return { status: answer?.status, body: await answer?.json() };
  };
  expect(await ask('/livez')).toEqual({ status: 200, body: { status: 'live' } });
  expect(await ask('/readyz')).toEqual({ status: 200, body: { status: 'ready' } });
  await server.stop();
  server = null;
  await until(async () => (await ask('/readyz')).status === 503);
  expect((await ask('/readyz')).body).toEqual({ status: 'not_ready' });
  const reasons = ['The server does not answer at SVC_SERVER_URL.'];
  for (const headers of [READER, { 'x-service-token': TOKEN }]) {
    expect((await ask('/readyz', headers)).body).toEqual({ status: 'not_ready', reasons });
  }
  expect((await ask('/livez')).status).toBe(200);
  ending = true;
  expect((await ask('/readyz', READER)).body).toMatchObject({ reasons: ['The agent endpoint is shutting down.'] });
});

test('its figures are for who has a token for them; other paths are not its own', async () => {
  const probes = createAgentProbes({
    server_url: 'http://127.0.0.1:1',
    service_token: TOKEN,
    metrics_token: null,
    tally: { undeclared: 3 },
    ending: () => false,
  });
  probes.add('POST', 200, 12);
  probes.add('BREW', 405, 1);
  for (const headers of [{}, READER, { authorization: 'Bearer ' }, { authorization: `Bearer ${TOKEN}` }]) {
    expect((await probes.answer(request('/metrics', headers)))?.status).toBe(401);
  }
  const text = await (await probes.answer(request('/metrics', { 'x-service-token': TOKEN })))?.text();
  expect(text).toContain(
    'http_server_request_duration_seconds_count{http_request_method="POST",http_response_status_code="200"} 1\n',
  );
  expect(text).toContain('http_request_method="_other"');
  expect(text).toContain('sluice_undeclared_arguments_total 3\n');
  expect(probes.answer(request('/agent-mcp/mcp'))).toBeNull();
  expect((await probes.answer(new Request('http://agent.example/livez', { method: 'POST' })))?.status).toBe(405);
});
