import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test';
import { createHttp } from '#server/http/http.ts';
import { createMemoryKv } from '#core/cluster/memory.ts';
import { createRedisKv } from '#core/cluster/redis.ts';
import { connectHost } from '#test/support/host.ts';
import { reachable } from '#test/support/databases.ts';
import { type TestApp, testApp } from '#test/support/app.ts';
import { describeOnce, testOnce } from '#test/support/metadata.ts';
import { listeningServer } from '#test/support/server.ts';
import { openTcpProxy } from '#test/support/tcp-proxy.ts';
import { startPrograms, removeFolder } from '#test/support/programs.ts';
import { until } from '#test/support/until.ts';

const METRICS_TOKEN = 'metrics-token-of-the-tests';
const READER = { authorization: `Bearer ${METRICS_TOKEN}` };
let t: TestApp;
const ends: (() => unknown)[] = [];

beforeAll(async () => {
  t = await testApp({ SVC_METRICS_TOKEN: METRICS_TOKEN });
  await t.signIn();
});
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end();
});
afterAll(() => t.close());

const service = () => ({ 'x-service-token': t.app.env.SVC_AGENT_SERVICE_TOKEN });
const get = (path: string, headers: Record<string, string> = {}, anonymous = true) =>
  t.request('GET', path, { headers, anonymous });

describe('/livez and /readyz of the server', () => {
  test('answer whoever asks, under any name, and tell nothing more', async () => {
    for (const host of ['localhost', 'pod-7.example', '10.1.2.3:3000']) {
      expect(await get('/livez', { host })).toMatchObject({ status: 200, body: { status: 'live' } });
      expect((await get('/readyz', { host })).body).toEqual({ status: 'ready' });
    }
  });

  test('tell the reasons to an administrator, to our programs and to who reads figures', async () => {
    const reasons = ['No MCP host is connected.'];
    for (const headers of [service(), READER])
      expect((await get('/readyz', headers)).body).toEqual({ status: 'degraded', reasons });
    expect((await get('/readyz', {}, false)).body).toEqual({ status: 'degraded', reasons });
    for (const headers of [{ authorization: 'Bearer wrong' }, { 'x-service-token': 'wrong' }, { cookie: 'svc_session=x' }]) {
      expect((await get('/readyz', headers)).body).toEqual({ status: 'ready' });
    }
  });

  test('are 503 and 200 while the server ends', async () => {
    const other = await testApp();
    ends.push(() => other.close());
    other.app.life.ending = true;
    const headers = { 'x-service-token': other.app.env.SVC_AGENT_SERVICE_TOKEN };
    const ready = await other.request('GET', '/readyz', { headers });
    expect(ready).toMatchObject({ status: 503, body: { status: 'not_ready', reasons: ['The server is shutting down.'] } });
    expect((await other.request('GET', '/readyz')).body).toEqual({ status: 'not_ready' });
    expect((await other.request('GET', '/livez')).status).toBe(200);
  });

  test('say that the metadata database is away', async () => {
    const other = await testApp();
    const headers = { 'x-service-token': other.app.env.SVC_AGENT_SERVICE_TOKEN };
    await other.app.store.close();
    ends.push(() => other.close().catch(() => undefined));
    const ready = await other.request('GET', '/readyz', { headers });
    expect(ready.status).toBe(503);
    expect(ready.body['reasons']).toContain('The metadata database does not answer.');
    expect((await other.request('GET', '/livez')).status).toBe(200);
    const metrics = await other.request('GET', '/metrics', { headers });
    expect([metrics.status, String(metrics.body['text'])]).toEqual([200, expect.stringContaining('sluice_database_up 0\n')]);
  });
});

describeOnce(reachable.redis)('Redis', () => {
  test('that is lost degrades the server and does not stop it; back, it heals', async () => {
    let broken = false;
    const proxy = await openTcpProxy({ host: '127.0.0.1', port: 6379 }, { toServer: (bytes) => (broken ? null : bytes) });
    const kv = createRedisKv({
      url: `redis://127.0.0.1:${proxy.port}`,
      space: crypto.randomUUID(),
      fallback: createMemoryKv(),
      onChange: () => undefined,
    });
    const other = await testApp();
    const http = createHttp({ ...other.app, kv });
    ends.push(
      () => other.close(),
      () => proxy.close(),
      () => kv.close(),
    );
    const headers = { ...service(), host: 'localhost' };
    const ready = async () => {
      const answer = await http.fetch(new Request('http://localhost/readyz', { headers }), { address: '192.0.2.1' });
      return { status: answer.status, text: await answer.text() };
    };
    await until(async () => !(await ready()).text.includes('Redis'));
    broken = true;
    proxy.cut();
    await until(async () => (await ready()).text.includes('Redis does not answer'));
    expect((await ready()).status).toBe(200);
    broken = false;
    await until(async () => !(await ready()).text.includes('Redis'));
  });
});

describe('/metrics of the server', () => {
  test('is for an administrator, our programs and who has its token', async () => {
    for (const headers of [service(), READER]) expect((await get('/metrics', headers)).status).toBe(200);
    expect((await get('/metrics', {}, false)).status).toBe(200);
    const refused = await get('/metrics');
    expect(refused.status).toBe(401);
    expect(refused.body.detail).toContain('SVC_METRICS_TOKEN');
    for (const headers of [
      { authorization: 'Bearer wrong' },
      { 'x-service-token': METRICS_TOKEN },
      { cookie: 'svc_session=x' },
    ]) {
      expect((await get('/metrics', headers)).status).toBe(401);
    }
    expect((await t.request('POST', '/metrics', { headers: service() })).status).toBe(404);
    // A browser that opens the address wants the page of the interface.
    expect((await get('/metrics', { ...service(), accept: 'text/html,*/*' })).headers.get('content-type')).toContain('text/html');
  });

  test('tells deploys, the snapshot, hosts, sessions, refused sign-ins and requests', async () => {
    const other = await testApp();
    ends.push(() => other.close());
    await other.signIn();
    ends.push(connectHost(other.app));
    await other.call('deploy.run', {});
    await other.send('deploy.run', { nothing: 1 });
    await other.call('deploy.stop', {});
    await other.call('snapshots.activate', { version: 1 });
    await other.send('tools.list', {}, { anonymous: true });
    await other.request('QUERY', '/api/v1/tools');
    const { body, headers } = await other.request('GET', '/metrics', { headers: {} });
    const text = String(body['text']);
    expect(headers.get('content-type')).toContain('text/plain; version=0.0.4');
    expect(headers.get('cache-control')).toBe('no-store');
    expect(text).toContain('sluice_deploys_total{kind="deploy",outcome="succeeded"} 1\n');
    expect(text).toContain('sluice_deploys_total{kind="deploy",outcome="refused"} 1\n');
    expect(text).toContain('sluice_deploys_total{kind="stop",outcome="succeeded"} 1\n');
    expect(text).toContain('sluice_deploys_total{kind="activate",outcome="succeeded"} 1\n');
    expect(text).toContain('sluice_active_snapshot_info{version="1"} 1\n');
    expect(text).toContain('sluice_deployment_status{status="running"} 1\n');
    expect(text).toContain('sluice_deploys_total{kind="activate",outcome="failed"} 0\n');
    expect(text).toMatch(/^sluice_sign_ins_total\{outcome="refused"\} 0$/m);
    expect(text).toMatch(/^sluice_database_size_bytes [1-9]\d+$/m);
    expect(text).toContain('sluice_database_up 1\n');
    expect(text).toContain('sluice_hosts_behind 0\n');
    expect(text).toContain('sluice_notices_open{event="host_gone"} 0\n');
    expect(text).toMatch(/^sluice_disk_free_bytes [1-9]\d+$/m);
    expect(text).toMatch(/^sluice_build_info\{program="server",version="[\d.]+"\} 1$/m);
    expect(text).toContain('sluice_hosts_connected 1\n');
    expect(text).toContain('sluice_admin_sessions 1\n');
    expect(text).toContain('sluice_auth_failures_total 1\n');
    expect(text).toContain('sluice_rate_limited_total 0\n');
    expect(text).toMatch(
      /^http_server_request_duration_seconds_count\{http_request_method="GET",http_response_status_code="401"\} 1$/m,
    );
    expect(text).toContain('http_request_method="_other"');
    expect(text).toContain('process_cpu_user_seconds_total');
  });
});

test('a server that ends finishes what it answers before it closes', async () => {
  const s = await listeningServer();
  await s.signIn();
  let answered = 0;
  const requests = Array.from({ length: 20 }, () => s.send('tools.list').then(() => answered++));
  await until(() => s.server.app.life.answering > 0 || answered > 0);
  await s.stop();
  await Promise.allSettled(requests);
  expect(s.server.app.life).toEqual({ ending: true, answering: 0 });
  expect(answered).toBeGreaterThan(0);
});

testOnce()('the programs answer their probes', async () => {
  const programs = await startPrograms({ env: { SVC_METRICS_TOKEN: METRICS_TOKEN, SVC_DEMO: 'true' } });
  ends.push(
    () => removeFolder(programs),
    () => programs.stop('SIGKILL'),
  );
  const origins = [programs.url, new URL(programs.mcp_url).origin, `http://127.0.0.1:${programs.agent_port}`];
  for (const origin of origins) {
    await until(async () => (await fetch(`${origin}/livez`)).ok);
    await until(async () => (await fetch(`${origin}/readyz`)).ok);
    expect((await fetch(`${origin}/metrics`)).status).toBe(401);
    const figures = await fetch(`${origin}/metrics`, { headers: READER });
    expect([figures.status, (await figures.text()).includes('process_cpu_user_seconds_total')]).toEqual([200, true]);
  }
  await programs.stop();
  expect(programs.process.exitCode).toBe(0);
});
