import { afterAll, beforeAll, expect, test } from 'bun:test';
import { rpc } from '#test/mcp-host/support.ts';
import { type Stage, stage } from './candidate-support.ts';
import { until } from '#test/support/until.ts';
import { toBatch } from '#test/support/usage.ts';

let s: Stage;
beforeAll(async () => {
  s = await stage();
});
afterAll(() => s.close());

interface Call {
  readonly id: string;
  readonly snapshot_version: number | null;
  readonly canary: string | null;
  readonly rows: number;
}

const ledger = { id: 1, method: 'tools/call', params: { name: 'ledger', arguments: {} } };
/** Each session is a caller of its own. */
async function callAsSomebody(): Promise<void> {
  const url = s.hosts[0]?.mcp as URL;
  const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'x', version: '1' } };
  const { headers } = await rpc(url, { id: 1, method: 'initialize', params });
  await rpc(url, ledger, { 'mcp-session-id': headers.get('mcp-session-id') ?? '' });
}
async function logged(query = ''): Promise<{ items: Call[]; total: number }> {
  const { status, body } = await s.send('GET', `logs${query}`);
  expect(status).toBe(200);
  return body as { items: Call[]; total: number };
}
const stateOf = async ({ id }: Call) => (await s.send('GET', `logs/${id}`)).body['canary_state'];

test('the request log says which calls a canary answered, and what became of it', async () => {
  await callAsSomebody();
  await s.edit({ sql_query: 'select id, total from orders where id = 1' });
  const began = await s.send('POST', 'deploy', { canary: { percent: 50, minutes: 10 } });
  const { id, checksum } = began.body['canary'] as { id: string; checksum: string };
  for (let n = 0; n < 30; n++) await callAsSomebody();
  await until(async () => (await logged()).total === 31);
  const { items } = await logged();
  const [first] = items.slice(-1);
  expect(first).toMatchObject({ snapshot_version: 1, canary: null, rows: 2 });
  // The canary answers one order, the live version two.
  for (const call of items) {
    expect([call.snapshot_version, call.canary]).toEqual(call.rows === 1 ? [null, id] : [1, null]);
  }
  const its = await logged(`?canary=${id}`);
  expect(its.items).toEqual(items.filter(({ rows }) => rows === 1));
  expect(its.total).toBe(its.items.length);
  expect(its.total).toBeGreaterThan(0);
  expect((await logged(`?canary=${crypto.randomUUID()}`)).total).toBe(0);

  const [call] = its.items as [Call];
  expect(await stateOf(call)).toEqual({ status: 'running', version: null });
  expect(await stateOf(first as Call)).toBeNull();
  expect((await s.send('POST', 'deploy/promote', { canary: id })).body).toMatchObject({ snapshot_version: 2, checksum });
  expect(await stateOf(call)).toEqual({ status: 'promoted', version: 2 });
});

test('the time in the queue, which both sides share, is in no p95', async () => {
  await s.edit({ sql_query: 'select id, total from orders where id = 2' });
  const began = await s.send('POST', 'deploy', { canary: { percent: 50, minutes: 10 } });
  const { id } = began.body['canary'] as { id: string };
  const call = (side: 'live' | 'canary', ran_ms: number) => ({
    kind: 'tool' as const,
    name: 'ledger',
    entity_id: null,
    connection_id: null,
    snapshot_version: 1,
    client: '',
    token_prefix: null,
    canary: { id, side },
    timestamp: s.t.app.clock().toISOString(),
    duration_ms: 2_000,
    wait_ms: 2_000 - ran_ms,
    database_ms: ran_ms,
    rows: 1,
    bytes: 1,
  });
  const calls = Array.from({ length: 20 }, () => [call('live', 10), call('canary', 40)]).flat();
  const headers = { 'x-service-token': s.t.app.env.SVC_AGENT_SERVICE_TOKEN };
  const body = { boot_id: crypto.randomUUID(), seq: 1, ...toBatch(calls) };
  expect((await s.t.request('POST', '/api/internal/hosts/h9/usage', { body, headers })).status).toBe(204);
  type Side = { calls: number; p95_ms: number };
  const { live, canary } = (await s.send('GET', 'deploy/status')).body['canary'] as { live: Side; canary: Side };
  expect([live.calls, canary.calls]).toEqual([20, 20]);
  expect(Math.round(live.p95_ms)).toBe(10);
  expect(Math.abs(canary.p95_ms - 40)).toBeLessThan(1);
});
