import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { BUNDLE_TARGETS } from '#core/engines/shared/descriptor.ts';
import { controlServer, type ControlServer, KEY, sqliteFolder, type TestHost, testHost } from '#test/mcp-host/support.ts';
import { reachable, testDatabase, type TestDatabase } from '#test/support/databases.ts';
import { bundleOf, type RunningBundle, startBundle } from '#test/support/edge.ts';
import { type SqldServer, startSqld } from '#test/support/sqld-server.ts';
import { toViewPage } from '#mcp-host/registry/view-page.ts';
import { viewHtml } from '#test/view/view-client.ts';
import { type EdgeCall, edgeCalls } from './calls.ts';
import { LIBSQL_SHOP, POSTGRES_SHOP, type Shop, shopOf } from './shop.ts';
import { until } from '#test/support/until.ts';

/** As a tool returns it in its column `call`, in text and in structure. */
const CALL_ID = /(?<=call\\?":\\?")[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;
const HOUR_MS = 3_600_000;

interface Answered {
  readonly status: number;
  readonly type: string | null;
  readonly challenge: string | null;
  readonly origin: string | null;
  readonly has_session: boolean;
  readonly body: string;
}

async function answerOf(url: string, { path, method, headers, body }: EdgeCall, caller: Readonly<Record<string, string>>) {
  const response = await fetch(`${url}${path}`, { method, headers: { ...headers, ...caller }, body });
  // Each call has an id of its own, by the platform's own means.
  const plain = (text: string | null) => text?.replaceAll(url, 'http://here').replaceAll(CALL_ID, 'id') ?? null;
  const answered: Answered = {
    status: response.status,
    // Without its parameters: platforms add a charset to some.
    type: response.headers.get('content-type')?.split(';')[0] ?? null,
    challenge: plain(response.headers.get('www-authenticate')),
    origin: response.headers.get('access-control-allow-origin'),
    has_session: response.headers.has('mcp-session-id'),
    body: plain(await response.text()) ?? '',
  };
  return answered;
}

describe.skipIf(!reachable.postgres)('a bundle and a host answer the same bytes', () => {
  let database: TestDatabase;
  let sqld: SqldServer;
  let shop: Shop;
  let control: ControlServer;
  let host: TestHost;
  const folder = sqliteFolder();
  const calls = edgeCalls();
  const bundles: Record<string, RunningBundle> = {};

  beforeAll(async () => {
    [database, sqld] = await Promise.all([testDatabase('postgresql'), startSqld()]);
    await database.run(POSTGRES_SHOP);
    for (const statement of LIBSQL_SHOP) await sqld.run(statement);
    const { host: address, port, username, database: name } = database.settings;
    shop = await shopOf(
      {
        postgres: { host: address, port, username, database: name },
        libsql: { host: '127.0.0.1', port: sqld.port, database: 'shop', ssl_mode: 'disable' },
        libsql_token: await sqld.token('rw'),
      },
      KEY,
    );
    control = controlServer();
    let behind_ms = HOUR_MS;
    // What a bundle lists never changes. A host's lists have stood for as long when it began to serve them an hour ago.
    host = await testHost(folder.directory, control.url, {
      now: () => Date.now() - behind_ms,
      view_page: toViewPage(viewHtml()),
    });
    await until(() => control.haves.length > 0);
    expect(await control.deploy(shop.snapshot)).toMatchObject({ error: null, version: 7 });
    control.send('tokens', { tokens: shop.tokens });
    behind_ms = 0;
    for (const target of BUNDLE_TARGETS) {
      bundles[target] = await startBundle(target, await bundleOf(shop.snapshot, target, shop.tokens), {
        bindings: shop.bindings,
      });
    }
    const answers = async () => (await answerOf(host.mcp.origin, calls[0]!, shop.callers['bob'] ?? {})).status === 200;
    await until(answers);
  }, 60_000);

  afterAll(async () => {
    await Promise.all(Object.values(bundles).map((bundle) => bundle.stop()));
    await host?.stop();
    await control?.stop();
    await sqld?.stop();
    await database?.drop();
    folder.remove();
  }, 60_000);

  test('the calls are enough, and different', () => {
    expect(calls.length).toBeGreaterThanOrEqual(200);
    expect(new Set(calls.map((call) => JSON.stringify(call))).size).toBeGreaterThanOrEqual(200);
  });

  test.each([...BUNDLE_TARGETS])(
    'on %s',
    async (target) => {
      const bundle = bundles[target]!;
      const statuses = new Map<number, number>();
      const faults = [];
      for (const call of calls) {
        const caller = shop.callers[call.caller] ?? {};
        const expected = await answerOf(host.mcp.origin, call, caller);
        const got = await answerOf(bundle.url, call, caller);
        statuses.set(expected.status, (statuses.get(expected.status) ?? 0) + 1);
        if (call.body?.includes('_write_unshown')) expect(JSON.stringify(got)).toContain('The change was made, but');
        if (!Bun.deepEquals(got, expected)) faults.push({ call: call.name, path: call.path, caller: call.caller, got, expected });
      }
      expect(faults).toEqual([]);
      // Most of them are answered.
      expect(statuses.get(200)).toBeGreaterThan(150);
      console.log(`${target}: first answer ${Math.round(bundle.started_ms)} ms after the start of the platform`);
    },
    120_000,
  );
});
