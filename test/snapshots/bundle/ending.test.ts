import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import type { BundleTarget } from '#core/engines/shared/descriptor.ts';
import { connectionOf, modern, rpc, snapshotOf, toolOf } from '#test/mcp-host/support.ts';
import { reachable, testDatabase, type TestDatabase } from '#test/support/databases.ts';
import { bundleOf, startBundle } from '#test/support/edge.ts';
import { paced } from '#test/support/paced.ts';
import { until } from '#test/support/until.ts';

const RUNNING = "select 1 as one from pg_stat_activity where state = 'active' and query like 'select pg_sleep%'";

describe.skipIf(!reachable.postgres && process.env['CI'] !== 'true')('a bundle that is terminated', () => {
  let database: TestDatabase;
  const texts: Partial<Record<BundleTarget, string>> = {};
  const running = async () => (await database.run(RUNNING)).length;

  beforeAll(async () => {
    database = await testDatabase('postgresql');
    const connection = connectionOf({ name: 'db', db_type: 'postgresql', host: 'nowhere.invalid', database: 'none' });
    const sleeping = (name: string, seconds: number) =>
      toolOf(connection, name, `select pg_sleep(${seconds})::text as slept`, { timeout_ms: 60_000 });
    const tools = [toolOf(connection, 'quick', 'select 1 as one'), sleeping('slow', 1.5), sleeping('endless', 50)];
    const snapshot = snapshotOf(1, { connections: [connection], tools });
    for (const target of ['bun', 'deno'] as const) texts[target] = await bundleOf(snapshot, target);
  }, 60_000);
  afterAll(() => database.drop());

  const start = async (target: 'bun' | 'deno') => {
    const bundle = await startBundle(target, texts[target] ?? '', { bindings: { DB_URL: database.url } });
    const mcp = new URL('/mcp', bundle.url);
    return { bundle, mcp, call: (name: string) => modern(mcp, 'tools/call', { name }) };
  };

  test.each(['bun', 'deno'] as const)('lets calls that run finish, and takes no others (%s)', async (target) => {
    const { bundle, mcp, call } = await start(target);
    try {
      await call('quick');
      const events = { accept: 'application/json, text/event-stream' };
      const meta = { progressToken: 1 };
      const slow = call('slow');
      const told = fetch(mcp, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...events },
        body: JSON.stringify({ jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'slow', _meta: meta } }),
      }).then((response) => response.text());
      await until(async () => (await running()) === 2);
      const ended = bundle.terminate();
      await Bun.sleep(200);
      if (target === 'bun') {
        const refused = await call('quick');
        expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '5']);
        expect(refused.body.error?.message).toContain('shutting down');
      }
      expect((await slow).body.result).toMatchObject({ structuredContent: { row_count: 1 } });
      expect(await told).toContain('row_count');
      expect(await ended).toBe(0);
    } finally {
      await bundle.stop();
    }
  });

  test('on Bun, ends at once when nothing runs, also with a stream that is open', async () => {
    const { bundle, mcp, call } = await start('bun');
    try {
      await call('quick');
      const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'raw', version: '1' } };
      const { headers } = await rpc(mcp, { id: 1, method: 'initialize', params });
      const session = { 'mcp-session-id': headers.get('mcp-session-id') ?? '', accept: 'text/event-stream' };
      const stream = await fetch(mcp, { headers: session });
      expect(stream.status).toBe(200);
      const began = performance.now();
      expect(await bundle.terminate()).toBe(0);
      await stream.text().catch(() => '');
      expect(performance.now() - began).toBeLessThan(paced(2_000));
    } finally {
      await bundle.stop();
    }
  });

  test('on Bun, cancels in the database what does not finish in time', async () => {
    const { bundle, call } = await start('bun');
    try {
      const endless = call('endless');
      await until(async () => (await running()) === 1);
      expect(await bundle.terminate()).toBe(0);
      expect((await endless).body.result).toMatchObject({ isError: true });
      await until(async () => (await running()) === 0);
    } finally {
      await bundle.stop();
    }
  }, 60_000);
});
