import type { ControlPlane } from '#core/control-plane/control-plane.ts';
import { Database } from 'bun:sqlite';
import { expect, test } from 'bun:test';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { createLintIndex, lintHandlers } from '#core/definitions/lint/lint-index.ts';
import { createWorkingCopyHolder } from '#core/versions/working-copy.ts';
import type { Context } from '#core/context/context.ts';
import { type TestApp, testApp } from '#test/support/app.ts';
import { fc, seed } from '#test/support/chance.ts';
import { reachable, testDatabase } from '#test/support/databases.ts';
import { connectHost } from '#test/support/host.ts';

const TEXTS = [
  '',
  'Short',
  'Orders of one customer, newest first, with totals in euros',
  'Customers of a region with their managers',
];
const ENDS = ['', '.', ' now', ' and many other things that make it a text of its own'];
const NAMES = ['find_order', 'orders_find', 'find_orders_copy', 'list_customers', 'list_customer', 'count'];
const description = fc.tuple(fc.constantFrom(...TEXTS), fc.constantFrom(...ENDS)).map((parts) => parts.join(''));
const statement = fc.constantFrom('select * from orders', 'select id from orders order by id', 'select id, total from orders');
const draft = fc.record({ name: fc.constantFrom(...NAMES), description, sql_query: statement });
const pick = fc.nat(1_000);
const step = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('create' as const), draft }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('update' as const), pick, patch: fc.record({ description }) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('switch' as const), pick, enabled: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('delete' as const), pick }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('rollback' as const), pick }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('import' as const), drafts: fc.array(draft, { maxLength: 6 }) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('prompt' as const), description }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('toolset' as const), tags: fc.boolean() }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('off' as const),
      off: fc.subarray(['select-star', 'description-similar', 'similar-names']),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('deploy' as const) }) },
);

type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;
type Items = readonly { readonly id: string; readonly name: string }[];
const list = async (t: TestApp, path: string) => (await t.request('GET', `/api/v1/${path}`)).body['items'] as Items;

/** Two servers of one database, or one without PostgreSQL. */
async function servers() {
  const variables = { SVC_JWT_SECRET: 'k'.repeat(16) + '0123456789abcdefg' };
  const database = reachable.postgres ? await testDatabase('postgresql') : null;
  const first = await testApp(variables, database?.url);
  const folder = join(first.directory, 'databases');
  mkdirSync(folder);
  new Database(join(folder, 'shop.sqlite')).run('create table orders (id integer primary key, total real)');
  await first.signIn();
  connectHost(first.app);
  const all = [first];
  if (database !== null) {
    const second = await testApp({ ...variables, SVC_SQLITE_DIR: folder }, database.url);
    await second.call('auth.login', { username: 'ada', password: 'correct horse' });
    connectHost(second.app);
    all.push(second);
  }
  const close = async () => {
    for (const server of all) await server.close();
    await database?.drop();
  };
  return { all, close };
}

test('after any changes, through any server, lint finds what a server finds that has just started', async () => {
  const { all, close } = await servers();
  const [first] = all as [TestApp];
  const body = { name: 'shop', db_type: 'sqlite', database: 'shop.sqlite' };
  const connection = await first.send('connections.create', body);
  const connection_id = connection.body.id;
  const large = (n: number) => `${n} `.repeat(2_400);
  const act = async (t: TestApp, one: Step): Promise<number> => {
    const send = async (method: string, path: string, sent?: unknown) =>
      (await t.request(method, `/api/v1/${path}`, sent === undefined ? {} : { body: sent })).status;
    if (one.do === 'create') return send('POST', 'tools', { connection_id, tags: ['some'], ...one.draft });
    if (one.do === 'prompt') return send('POST', 'prompts', { name: 'greet', template: 'Hello', description: one.description });
    if (one.do === 'off') return send('PATCH', 'server/config', { lint_off: one.off });
    if (one.do === 'deploy') return send('POST', 'deploy', {});
    if (one.do === 'toolset') {
      for (const n of [1, 2, 3, 4]) {
        const tool = { connection_id, name: `large_of_${n}`, description: large(n), tags: ['some'], sql_query: 'select 1 as n' };
        await send('POST', 'tools', tool);
      }
      const include = one.tags ? { tags: ['some'] } : { connection_ids: [connection_id] };
      return send('POST', 'toolsets', { name: one.tags ? 'tagged' : 'owned', include });
    }
    if (one.do === 'import') {
      const exported = await t.call('transfer.export', {});
      const tools = exported.tools as { name: string }[];
      const [sample] = tools;
      if (sample === undefined) return 0;
      const drafts = new Map(one.drafts.map((each) => [each.name, { ...sample, ...each }]));
      const merged = [...tools.filter(({ name }) => !drafts.has(name)), ...drafts.values()];
      return send('POST', 'export-import/import', { ...exported, tools: merged });
    }
    if (one.do === 'rollback') {
      const entries = await list(t, 'history?limit=50');
      const entry = entries[one.pick % Math.max(1, entries.length)];
      return entry === undefined ? 0 : send('POST', `history/${entry.id}/rollback`, {});
    }
    const tools = await list(t, 'tools?limit=100');
    const tool = tools[one.pick % Math.max(1, tools.length)];
    if (tool === undefined) return 0;
    if (one.do === 'delete') return send('DELETE', `tools/${tool.id}`);
    return send('PATCH', `tools/${tool.id}`, one.do === 'switch' ? { enabled: one.enabled } : one.patch);
  };

  const done = new Map<string, number>();
  const rules = new Set<string>();
  try {
    const toolsets = [true, false].map((tags) => ({ do: 'toolset' as const, tags }));
    for (const [n, one] of [...toolsets, ...fc.sample(fc.noBias(step), { numRuns: 60, seed })].entries()) {
      const status = await act(all[n % all.length]!, one);
      expect(status).not.toBe(500);
      if (status >= 200 && status < 300) done.set(one.do, (done.get(one.do) ?? 0) + 1);
      const app = { ...first.app, lint: createLintIndex(), working_copy: createWorkingCopyHolder() };
      const fresh = await lintHandlers['lint.list']({ app } as Context<ControlPlane>, { skip: 0, limit: 500 });
      for (const t of all) expect([one.do, await t.call('lint.list', { limit: 500 })]).toEqual([one.do, { ...fresh }]);
      for (const { rule } of fresh.items) rules.add(rule);
    }
  } finally {
    await close();
  }
  expect(done.size).toBeGreaterThan(5);
  expect([...rules]).toContain('toolset-tokens');
  expect(rules.size).toBeGreaterThan(3);
});
