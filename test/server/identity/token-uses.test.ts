import { afterEach, beforeEach, expect, test } from 'bun:test';
import { pushTokenUses } from '#core/identity/mcp-tokens.ts';
import { type TestApp, testApp } from '#test/support/app.ts';
import { until } from '#test/support/until.ts';

let t: TestApp;
let stop: () => void;
beforeEach(async () => {
  t = await testApp();
  await t.signIn();
  stop = pushTokenUses(t.app, 10);
});
afterEach(async () => {
  stop();
  await t.close();
});

let seq = 0;
const report = (id: unknown, last_used_at: string) =>
  t.request('POST', '/api/internal/hosts/h1/usage', {
    body: { boot_id: 'b', seq: ++seq, token_uses: [{ id, last_used_at }] },
    headers: { 'x-service-token': t.app.env.SVC_AGENT_SERVICE_TOKEN },
  });

test('every host hears of the uses of a token that has an idle time, once for each change', async () => {
  t.advance(60_000);
  const create = async (body: object) => (await t.send('mcp_tokens.create', { all_toolsets: true, ...body })).body.id;
  const [idle, lasting] = [await create({ name: 'idle', idle_timeout_minutes: 1 }), await create({ name: 'lasting' })];
  const uses: (string | null)[][] = [];
  t.app.hosts.connect('h2', (event) => {
    if (event.event === 'tokens') uses.push(event.data.tokens.map(({ last_used_at }) => last_used_at));
  });
  await report(lasting, '2026-03-01T12:00:10.000Z');
  await Bun.sleep(100);
  expect(uses).toEqual([]);
  await report(idle, '2026-03-01T12:00:20.000Z');
  await until(() => uses.length > 0);
  await Bun.sleep(100);
  expect(uses).toEqual([['2026-03-01T12:00:20.000Z', '2026-03-01T12:00:10.000Z']]);
});

test('a use that a host’s clock puts into the future is one of now', async () => {
  const token = await t.call('mcp_tokens.create', { name: 'idle', idle_timeout_minutes: 1, all_toolsets: true });
  await report(token.id, '2027-03-01T12:00:00.000Z');
  const { items } = await t.call('mcp_tokens.list', {});
  expect(items[0]).toMatchObject({ last_used_at: t.app.clock().toISOString() });
});
