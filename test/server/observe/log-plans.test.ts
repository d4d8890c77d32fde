import { expect, test } from 'bun:test';
import type { Input } from '#core/contract/index.ts';
import { run } from '#core/control-plane/run.ts';
import { testApp } from '#test/support/app.ts';
import { planOf, statementsOf } from '#test/support/statements.ts';

type Filter = Omit<Input<'logs.list'>, 'skip' | 'limit'>;

const FILTERS: readonly Filter[] = [
  { kind: 'tool' },
  { kind: 'resource' },
  { name: 'orders' },
  { connection_id: 'shop' },
  { canary: 'one' },
  { success: false },
  { outcome: 'tool_error' },
  { outcome: 'ok' },
  { since: '2026-01-01T00:00:00Z' },
  { until: '2026-01-02T00:00:00Z' },
];

/** The index that leaves the fewest calls to read. */
function indexFor({ kind, name, connection_id, canary, success, outcome }: Filter): string {
  const fails = success === false || outcome === 'tool_error';
  if (canary !== undefined) return 'request_logs_canary';
  if (kind === 'resource') return 'request_logs_kind';
  if (fails) return 'request_logs_failed';
  if (name !== undefined) return 'request_logs_name';
  return connection_id === undefined ? 'request_logs_time' : 'request_logs_connection';
}

test('with any two filters, the embedded database reads the request log by the best index', async () => {
  const t = await testApp({}, undefined, { metadata: 'sqlite' });
  const call = {
    actor: { type: 'admin', id: 'a', name: 'ada', role: 'owner', scopes: ['read'] },
    ip: null,
    user_agent: null,
    request_id: 'x',
  } as const;
  const wrong: string[] = [];
  for (const one of FILTERS) {
    for (const other of FILTERS) {
      const filter: Filter = { ...one, ...other };
      const input = { skip: 0, limit: 50, ...filter };
      const all = await statementsOf(t.app.store, () => run(t.app, 'logs.list', input, call));
      const sent = all.filter(({ text }) => text.includes('from "request_logs"'));
      // With a definition and a connection, a statement before counts both.
      const counts_both = sent.length === 3 && sent[0]?.text.includes(' as one') === true;
      expect(counts_both || sent.length === 2).toBe(true);
      const plans = await Promise.all(sent.slice(-2).map((statement) => planOf(t.app.store, statement)));
      const index = indexFor(filter);
      // Most calls match a filter without an index, so the count reaches its limit early.
      const ends_early = index === 'request_logs_time' ? /SCAN request_logs;/ : null;
      for (const plan of plans)
        if (!(new RegExp(`INDEX ${index}( |$|;)`).test(plan) || ends_early?.test(plan)) || plan.includes('TEMP B-TREE'))
          wrong.push(`${JSON.stringify(filter)} by ${index}: ${plan}`);
    }
  }
  expect(wrong).toEqual([]);
  await t.close();
});
