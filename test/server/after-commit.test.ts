import { afterAll, beforeAll, expect, test } from 'bun:test';
import type { ControlPlane } from '#core/control-plane/control-plane.ts';
import type { OperationName, RawInput } from '#core/contract/index.ts';
import { run } from '#core/control-plane/run.ts';
import { systemRequest } from '#core/context/context.ts';
import { type TestApp, testApp } from '#test/support/app.ts';
import { sqliteConnection } from '#test/support/sqlite-connection.ts';

let t: TestApp;
let connection_id: string;
beforeAll(async () => {
  t = await testApp();
  await t.signIn();
  connection_id = await sqliteConnection(t, 'create table products (id integer, price real)');
});
afterAll(() => t.close());

const CALL = systemRequest('after-commit');
const tool = (name: string) => ({ connection_id, name, description: 'Lists all products', sql_query: 'select id from products' });

/** The app as it is when its metadata database goes away right after a commit. */
function lostAfter(app: ControlPlane, commits = 1): ControlPlane {
  const { store } = app;
  let left = commits;
  const refuse = (): void => {
    if (left <= 0) throw new Error('the metadata database is away');
  };
  const db = new Proxy(store.db, {
    get(target, name) {
      refuse();
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  return {
    ...app,
    store: {
      ...store,
      db,
      read: async (work) => {
        refuse();
        return store.read(work);
      },
      write: async (work) => {
        refuse();
        const value = await store.write(work);
        left -= 1;
        return value;
      },
    },
  };
}

interface Case<N extends OperationName = OperationName> {
  readonly name: N;
  readonly input: () => Promise<RawInput<N>> | RawInput<N>;
  /** Commits of the operation; of its last one it answers. */
  readonly commits?: number;
  readonly by_name?: boolean;
}
const of = <N extends OperationName>(name: N, input: Case<N>['input'], more: Omit<Case, 'name' | 'input'> = {}): Case => ({
  name,
  input,
  ...more,
});

const made = async <N extends OperationName>(name: N, input: RawInput<N>): Promise<{ id: string }> =>
  (await run(t.app, name, input, CALL)) as unknown as { id: string };
const webhook = (name: string) => ({ name, url: 'https://hooks.example.com/a', events: ['deploy' as const] });
const provider = (name: string) => ({ name, issuer: `https://${name}.example.com`, client_id: 'sluice', client_secret: 's' });

const CASES: readonly Case[] = [
  of('tools.create', () => tool('made')),
  of('tools.create', () => tool('made_by_agent'), { by_name: true }),
  of('tools.update', async () => ({ id: (await made('tools.create', tool('edited'))).id, description: 'Other' })),
  of('tools.duplicate', async () => ({ id: (await made('tools.create', tool('copied'))).id })),
  of('tools.delete', async () => ({ id: (await made('tools.create', tool('removed'))).id })),
  of('agent.create_tools_batch', () => ({ tools: [tool('first_of_two'), tool('second_of_two')], atomic: true }), {
    by_name: true,
  }),
  of('agent.create_tools_batch', () => ({ tools: [tool('by_itself')], atomic: false }), { by_name: true }),
  of('toolsets.create', () => ({ name: 'some', description: 'Some tools' })),
  of('connections.create', () => ({ name: 'other', db_type: 'sqlite', database: 'shop.sqlite' })),
  of('config.update', () => ({ server_name: 'other' })),
  of('notices.create', () => webhook('made')),
  of('notices.update', async () => ({ id: (await made('notices.create', webhook('edited'))).id, name: 'renamed' })),
  of('notices.rotate_secret', async () => ({ id: (await made('notices.create', webhook('rotated'))).id })),
  of('identity_providers.create', () => provider('made')),
  of('identity_providers.update', async () => ({
    id: (await made('identity_providers.create', provider('edited'))).id,
    name: 'new',
  })),
  of('mcp_tokens.create', () => ({ name: 'made', all_toolsets: true })),
  of('mcp_tokens.update', async () => ({
    id: (await made('mcp_tokens.create', { name: 'edited', all_toolsets: true })).id,
    name: 'renamed',
  })),
  of('mcp_tokens.rotate', async () => ({ id: (await made('mcp_tokens.create', { name: 'rotated', all_toolsets: true })).id })),
  of('mcp_tokens.delete', async () => ({ id: (await made('mcp_tokens.create', { name: 'revoked', all_toolsets: true })).id })),
  of('agent_tokens.create', () => ({ name: 'made', scopes: ['read'], duration_minutes: 15 })),
  of('oauth_apps.delete', async () => ({
    id: (await made('oauth_apps.create', { name: 'gone', redirect_uris: ['https://a.example.com/cb'] })).id,
  })),
  of('people.create', () => ({ username: 'bob', role: 'viewer' })),
  of('people.update', async () => ({
    id: (await made('people.create', { username: 'eve', role: 'viewer' })).id,
    role: 'editor',
  })),
  of('people.delete', async () => ({ id: (await made('people.create', { username: 'mal', role: 'viewer' })).id })),
  of('deploy.run', () => ({ note: 'first' })),
  of('candidates.create', () => ({ hours: 1 })),
  of('candidates.delete', async () => {
    const { candidate } = await run(t.app, 'candidates.create', { hours: 1 }, CALL);
    return { id: candidate };
  }),
  of('history.rollback', async () => {
    const { id } = await made('tools.create', tool('undone'));
    const { items } = await run(t.app, 'history.list', { entity_type: 'tool' }, CALL);
    return { history_id: items.find(({ entity_id }) => entity_id === id)?.id ?? '' };
  }),
  of(
    'deploy.run',
    async () => {
      await made('tools.create', tool('tried'));
      return { canary: { percent: 10, minutes: 10 } };
    },
    { commits: 2 },
  ),
  of('deploy.abort', () => ({})),
  of('snapshots.activate', async () => {
    await made('tools.create', tool('second_version'));
    await run(t.app, 'deploy.run', {}, CALL);
    return { version: 1 };
  }),
  of('deploy.stop', () => ({})),
];

for (const [n, { name, input, commits, by_name }] of CASES.entries()) {
  test(`${name} answers what it stored, although the metadata database is away from then on (${n})`, async () => {
    const sent = await input();
    const answered = await run(lostAfter(t.app, commits), name, sent as never, { ...CALL, ...(by_name && { by_name }) });
    expect(answered).toBeObject();
  });
}

test('what follows a change and fails is logged', () => {
  const followed = t.log.filter(({ message }) => message.endsWith('failed after a change was stored'));
  expect(followed.map(({ level }) => level)).toContain('WARNING');
});
