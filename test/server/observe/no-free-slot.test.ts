import { afterEach, beforeEach, expect, test } from 'bun:test';
import { type TestApp, testApp } from '#test/support/app.ts';
import { type Call, toBatch } from '#test/support/usage.ts';

let t: TestApp;
beforeEach(async () => {
  t = await testApp();
  await t.signIn();
});
afterEach(() => t.close());

const callRecord = (over: Partial<Call>): Partial<Call> => ({
  timestamp: t.app.clock().toISOString(),
  kind: 'tool',
  name: 'list_orders',
  entity_id: null,
  connection_id: null,
  duration_ms: 10,
  wait_ms: 0,
  rows: 1,
  bytes: 1,
  error: null,
  ...over,
});

test('calls that never got a slot are errors, and their wait is not a duration', async () => {
  const waited = { duration_ms: 5_000, wait_ms: 5_000 };
  const items = [
    callRecord({}),
    callRecord({}),
    callRecord({ ...waited, error: 'no_free_slot' }),
    callRecord({ ...waited, error: 'queue_full' }),
  ];
  const sent = await t.request('POST', '/api/internal/hosts/h1/usage', {
    body: { boot_id: 'boot-1', seq: 1, ...toBatch(items) },
    headers: { 'x-service-token': t.app.env.SVC_AGENT_SERVICE_TOKEN },
  });
  expect(sent.status).toBeLessThan(300);
  const answer = await t.call('metrics.stats', {});
  const { list_orders } = answer.tools as Record<string, { avg_ms: number; p95_ms: number }>;
  expect(list_orders).toMatchObject({ calls: 4, errors: 2, avg_ms: 10 });
  expect(list_orders?.p95_ms).toBeWithin(9, 11);
});
