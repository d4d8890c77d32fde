import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openSource } from '#core/engines/index.ts';
import {
  connectionOf,
  controlServer,
  type ControlServer,
  modern,
  promptOf,
  rpc,
  snapshotOf,
  sqliteFolder,
  TOKEN,
  type TestHost,
  testHost,
  toolOf,
} from '../support.ts';
import { until } from '#test/support/until.ts';

const METRICS_TOKEN = 'metrics-token-of-the-tests';
const SERVICE = { 'x-service-token': TOKEN };
const READER = { authorization: `Bearer ${METRICS_TOKEN}` };
const folder = sqliteFolder();
const narrow = connectionOf({ max_concurrency: 1, queue_limit: 1 });
const endless = 'with recursive c(n) as (select 1 union all select n + 1 from c) select count(*) as n from c';
const content = {
  connections: [narrow],
  tools: [
    toolOf(narrow, 'one', 'select 1 as one'),
    toolOf(narrow, 'broken', 'select * from nowhere'),
    toolOf(narrow, 'endless', endless, { timeout_ms: 60_000 }),
  ],
  prompts: [promptOf('greet', 'Hello')],
};
let control: ControlServer;
const ends: (() => unknown)[] = [];

beforeAll(() => {
  control = controlServer();
});
afterEach(async () => {
  for (const end of ends.splice(0).toReversed()) await end();
  control.greeting = null;
});
afterAll(async () => {
  await control.stop();
  folder.remove();
});

let folders = 0;
/** A host with a folder of its own. */
async function start(deploy = true, file?: string): Promise<TestHost> {
  const directory = join(folder.directory, `host-${folders++}`);
  mkdirSync(directory);
  if (file !== undefined) writeFileSync(join(directory, 'host.json'), file);
  const before = control.haves.length;
  const policy = { allow_private_networks: true, forbidden: [], sqlite_dir: folder.directory };
  const host = await testHost(directory, control.url, {
    metrics_token: METRICS_TOKEN,
    openSource: (settings) => openSource(settings, policy),
  });
  ends.push(() => host.stop());
  await until(() => control.haves.length > before);
  if (deploy) await control.deploy(snapshotOf(1, content));
  return host;
}
async function probe(host: TestHost, path: string, headers: Record<string, string> = {}, method = 'GET') {
  const response = await fetch(new URL(path, host.mcp), { headers, method });
  const text = await response.text();
  const json = response.headers.get('content-type')?.includes('json') === true && text !== '';
  return { status: response.status, headers: response.headers, text, body: json ? (JSON.parse(text) as object) : {} };
}
const queueOf = async (host: TestHost) => (await host.health()).connections[0]?.queue;

describe('/livez', () => {
  test('answers whoever asks, with nothing deployed, under any name', async () => {
    const host = await start(false);
    expect(await probe(host, '/livez', { host: 'somewhere.example' })).toMatchObject({ status: 200, body: { status: 'live' } });
    expect((await probe(host, '/livez', {}, 'POST')).status).toBe(405);
  });
});

describe('/readyz', () => {
  test('is 503 until a snapshot is served, and after a stop; why is told to who may know', async () => {
    const host = await start(false);
    const closed = await probe(host, '/readyz');
    expect(closed).toMatchObject({ status: 503, body: { status: 'not_ready' } });
    expect(closed.text).not.toContain('deployed');
    expect(closed.headers.get('retry-after')).toBe('5');
    for (const headers of [SERVICE, READER]) {
      const { body } = await probe(host, '/readyz', headers);
      expect(body).toEqual({ status: 'not_ready', reasons: [expect.stringContaining('Nothing is deployed here yet')] });
    }
    await control.deploy(snapshotOf(1, content));
    expect(await probe(host, '/readyz', READER)).toMatchObject({ status: 200, body: { status: 'ready', reasons: [] } });
    const stopped = control.nextAck();
    control.send('stop', {});
    await stopped;
    expect((await probe(host, '/readyz', READER)).body).toMatchObject({ reasons: [expect.stringContaining('stopped')] });
  });

  test('stays ready without the server, and says what waits for it', async () => {
    const host = await start();
    control.fail(503);
    ends.push(() => control.fail(null));
    await control.stop();
    control = controlServer();
    await until(async () => (await probe(host, '/readyz', READER)).text.includes('degraded'));
    expect(await probe(host, '/readyz', READER)).toMatchObject({
      status: 200,
      body: { status: 'degraded', reasons: [expect.stringContaining('Not connected to the server')] },
    });
    expect(await probe(host, '/readyz')).toMatchObject({ status: 200, body: { status: 'ready' } });
  });

  test('names a snapshot on disk that could not be read, until a new one is there', async () => {
    const host = await start(false, '{"version":1,');
    expect((await probe(host, '/readyz', READER)).text).toContain('The snapshot on disk could not be read');
    await control.deploy(snapshotOf(1, content));
    await until(async () => !(await probe(host, '/readyz', READER)).text.includes('on disk'));
  });

  test('is 503 before the host ends, while calls are still served', async () => {
    const host = await start();
    const announced = host.host.announceEnd(60_000);
    expect(await probe(host, '/readyz', READER)).toMatchObject({
      status: 503,
      body: { reasons: [expect.stringContaining('shutting down')] },
    });
    expect((await modern(host.mcp, 'tools/call', { name: 'one' })).body.result).not.toMatchObject({ isError: true });
    expect(await Promise.race([announced.then(() => 'over'), Bun.sleep(50)])).toBeUndefined();
  });

  test('is 503 while the host ends, and a call that runs is finished or cancelled', async () => {
    const host = await start();
    const running = modern(host.mcp, 'tools/call', { name: 'endless' });
    await until(async () => (await queueOf(host))?.active === 1);
    const ended = host.host.stop(3_000);
    expect(await probe(host, '/readyz', READER)).toMatchObject({
      status: 503,
      body: { reasons: [expect.stringContaining('shutting down')] },
    });
    const refused = await modern(host.mcp, 'tools/call', { name: 'one' });
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '5']);
    expect(JSON.stringify((await running).body)).toContain('The host is shutting down');
    await ended;
    expect(await fetch(new URL('/livez', host.mcp)).catch(() => null)).toBeNull();
  });
});

describe('/metrics', () => {
  test('is for who has its token or the service token', async () => {
    const host = await start();
    const strangers = [
      {},
      { authorization: 'Bearer wrong' },
      { authorization: `Bearer ${TOKEN}` },
      { 'x-service-token': METRICS_TOKEN },
    ];
    for (const headers of strangers) expect((await probe(host, '/metrics', headers)).status).toBe(401);
    expect((await probe(host, '/metrics', { 'x-service-token': 'é' })).status).toBe(401);
    for (const headers of [SERVICE, READER]) expect((await probe(host, '/metrics', headers)).status).toBe(200);
  });

  test('counts what clients did, in the names of OpenTelemetry', async () => {
    const host = await start();
    const opened = await rpc(host.mcp, { id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25' } });
    const session = { 'mcp-session-id': opened.headers.get('mcp-session-id') ?? '' };
    await rpc(host.mcp, { id: 2, method: 'tools/call', params: { name: 'one' } }, session);
    for (const name of ['one', 'one', 'broken', 'unknown']) await modern(host.mcp, 'tools/call', { name });
    await modern(host.mcp, 'tools/list');
    await modern(host.mcp, 'prompts/get', { name: 'greet' });
    const { text, headers } = await probe(host, '/metrics', READER);
    expect(headers.get('content-type')).toContain('text/plain; version=0.0.4');
    const count = (labels: string) =>
      new RegExp(`^mcp_server_operation_duration_seconds_count\\{${labels}\\} (\\d+)$`, 'm').exec(text)?.[1];
    const now = 'mcp_protocol_version="2026-07-28",network_transport="tcp"';
    expect(count(`mcp_method_name="tools/call",gen_ai_tool_name="one",${now}`)).toBe('2');
    expect(
      count(`mcp_method_name="tools/call",gen_ai_tool_name="one",mcp_protocol_version="2025-11-25",network_transport="tcp"`),
    ).toBe('1');
    expect(count(`mcp_method_name="tools/call",gen_ai_tool_name="broken",error_type="tool_error",${now}`)).toBe('1');
    expect(count(`mcp_method_name="tools/call",error_type="-32602",${now}`)).toBe('1');
    expect(count(`mcp_method_name="tools/list",${now}`)).toBe('1');
    expect(count(`mcp_method_name="prompts/get",gen_ai_prompt_name="greet",${now}`)).toBe('1');
    expect(text).toContain('db_client_operation_duration_seconds_count{db_system_name="sqlite",connection="shop"} 4\n');
    expect(text).toMatch(/^mcp_server_operation_duration_seconds_bucket\{.*le="0.02"\} \d+$/m);
    expect(text).toContain('sluice_call_faults_total{code="sql_error"} 1\n');
    expect(text).toMatch(/sluice_calls_total\{kind="tool",name="one",outcome="ok"\} [1-9]\d*\n/);
    expect(text).toContain('sluice_calls_total{kind="tool",name="broken",outcome="tool_error"} 1\n');
    // A series exists before its first failure.
    expect(text).toContain('sluice_call_faults_total{code="timeout"} 0\n');
    expect(text).toContain('sluice_confirmations_total{outcome="declined"} 0\n');
    expect(text).toContain('sluice_calls_total{kind="tool",name="one",outcome="tool_error"} 0\n');
    expect(text).toMatch(/^sluice_build_info\{program="host",version="[\d.]+"\} 1$/m);
    expect(text).toContain('sluice_queue_places{connection="shop"} 1\n');
    expect(text).toContain('sluice_queue_completed_total{connection="shop"} 4\n');
    expect(text).toContain('sluice_sessions 1\n');
    await fetch(host.mcp, { method: 'DELETE', headers: session });
    expect((await probe(host, '/metrics', READER)).text).toContain(
      'mcp_server_session_duration_seconds_count{mcp_protocol_version="2025-11-25"} 1\n',
    );
    expect(text).toMatch(/^sluice_active_snapshot_info\{version="1",checksum="sha256:[0-9a-f]{64}"\} 1$/m);
    expect(text).toContain('process_cpu_user_seconds_total');
    expect(text).toContain('nodejs_eventloop_lag');
  });

  test('is text that Prometheus can read: every line has its form, a bucket holds the smaller ones', async () => {
    const host = await start();
    for (let n = 0; n < 5; n++) await modern(host.mcp, 'tools/call', { name: 'one' });
    const { text } = await probe(host, '/metrics', READER);
    const form =
      /^(# (HELP|TYPE) \w+ .+|[a-zA-Z_:][\w:]*(\{[a-z_]+="[^"]*"(,[a-z_]+="[^"]*")*\})? -?[\d.e+-]+(Inf)?|[\w:]+(\{.*\})? (NaN|\+Inf))$/;
    expect(text.split('\n').filter((line) => line !== '' && !form.test(line))).toEqual([]);
    const buckets = [
      ...text.matchAll(/^mcp_server_operation_duration_seconds_bucket\{.*gen_ai_tool_name="one".*\} (\d+)$/gm),
    ].map(([, n]) => Number(n));
    expect(buckets).toEqual(buckets.toSorted((a, b) => a - b));
    expect(buckets.at(-1)).toBe(5);
  });

  test('keeps as many names as the snapshot has, however callers call and tools come and go', async () => {
    const host = await start();
    for (let n = 0; n < 50; n++) await modern(host.mcp, 'tools/call', { name: `made_up_${n}` });
    for (let version = 2; version < 8; version++) {
      await control.deploy(
        snapshotOf(version, { connections: [narrow], tools: [toolOf(narrow, `tool_${version}`, 'select 1 as one')] }),
      );
      await modern(host.mcp, 'tools/call', { name: `tool_${version}` });
    }
    const { text } = await probe(host, '/metrics', READER);
    const names = new Set([...text.matchAll(/gen_ai_tool_name="([^"]+)"/g)].map(([, name = '']) => name));
    expect(names).toEqual(new Set(['_removed', 'tool_7']));
    expect(text).toMatch(/_count\{mcp_method_name="tools\/call",gen_ai_tool_name="_removed",.*\} 5\n/);
  });

  test('keeps one name for methods that the protocol does not have', async () => {
    const host = await start();
    const opened = await rpc(host.mcp, { id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25' } });
    const session = { 'mcp-session-id': opened.headers.get('mcp-session-id') ?? '' };
    const made_up = [...Array.from({ length: 50 }, (_, n) => `made_up_${n}`), '__defineGetter__', 'constructor', 'toString'];
    for (const method of made_up) {
      const answer = await rpc(host.mcp, { id: 1, method, params: { name: 'one' } }, session);
      expect([answer.status, answer.body.error?.code]).toEqual([200, -32601]);
      expect((await modern(host.mcp, method, { name: 'one' })).status).toBe(404);
    }
    const { text } = await probe(host, '/metrics', READER);
    const methods = new Set([...text.matchAll(/mcp_method_name="([^"]+)"/g)].map(([, name = '']) => name));
    expect(methods).toEqual(new Set(['_other']));
    expect(text).toContain(
      `mcp_method_name="_other",error_type="-32601",mcp_protocol_version="2025-11-25",network_transport="tcp"} 53`,
    );
  });

  test('counts credentials that do not count', async () => {
    const host = await start(false);
    await control.deploy(snapshotOf(1, { ...content, server: { auth_type: 'bearer' } }));
    expect((await modern(host.mcp, 'tools/list')).status).toBe(401);
    expect((await probe(host, '/metrics', READER)).text).toContain('sluice_auth_failures_total 1\n');
  });
});

test('a call that failed is told with the time that it waited', async () => {
  const host = await start();
  const before = control.usage.length;
  const leave = new AbortController();
  const running = fetch(host.mcp, {
    method: 'POST',
    signal: leave.signal,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'endless' } }),
  }).catch(() => null);
  await until(async () => (await queueOf(host))?.active === 1);
  const waiting = modern(host.mcp, 'tools/call', { name: 'broken' });
  await until(async () => (await queueOf(host))?.waiting === 1);
  const full = await modern(host.mcp, 'tools/call', { name: 'one' });
  await Bun.sleep(150);
  leave.abort();
  await Promise.all([running, waiting]);
  const items = await until(() => {
    const all = control.usage.slice(before).flatMap(({ items }) => items);
    return all.length === 3 && all;
  });
  const of = (error: string) => items.find((item) => item['error'] === error);
  expect(of('sql_error')?.['wait_ms']).toBeGreaterThanOrEqual(140);
  expect(Number(of('sql_error')?.['duration_ms'])).toBeGreaterThanOrEqual(Number(of('sql_error')?.['wait_ms']));
  expect(of('queue_full')?.['wait_ms']).toBeLessThan(140);
  expect(of('cancelled')).toMatchObject({ name: 'endless', wait_ms: 0 });
  expect(JSON.stringify(full.body)).toContain('raise max_concurrency or queue_limit');
});
