import { Database } from 'bun:sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { eq } from 'drizzle-orm';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { holds, type Role, ROLES } from '#core/contract/roles.ts';
import { operations } from '#core/contract/index.ts';
import { leastRole, type Operation } from '#core/contract/operation.ts';
import { fullPath } from '#core/contract/paths.ts';
import { authenticate, isSessionLive } from '#core/identity/sessions.ts';
import { authorise } from '#core/context/authorise.ts';
import { SYSTEM } from '#core/context/context.ts';
import { isErrorBody, type TestApp, testApp } from '#test/support/app.ts';

const all = Object.entries(operations) as [string, Operation][];
const UNKNOWN = '0190b0c0-0000-7000-8000-000000000000';
const url = (path: string) =>
  fullPath(path).replaceAll(/\{(\w+)\}/g, (_, name) => (/version|from|to/.test(name) ? '999' : UNKNOWN));

let t: TestApp;
let cookie = '';
beforeAll(async () => {
  t = await testApp();
  const made = await t.send('auth.setup', { username: 'ada', password: 'correct horse' });
  cookie = made.headers.get('set-cookie')?.split(';')[0] ?? '';
});
afterAll(() => t.close());

const become = (role: Role) => {
  const { people } = t.app.store.tables;
  return t.app.store.write((tx) => tx.update(people).set({ role }).where(eq(people.username, 'ada')));
};
/** As ada, whatever an earlier answer did to the cookie. */
const api = (method: string, path: string, body?: unknown) =>
  t.request(method, path, {
    anonymous: true,
    headers: { cookie, accept: 'application/problem+json' },
    ...(body === undefined ? {} : { body }),
  });

/** What is open to more people than its access alone says: whoever adds to this list has thought about it. */
const LESS = {
  'definitions.update': 'editor',
  'auth.me': 'caller',
  'auth.prove': 'caller',
  'auth.update_me': 'caller',
  'auth.sessions': 'caller',
  'auth.revoke_session': 'caller',
  'auth.identities': 'caller',
  'auth.unlink_identity': 'caller',
  'home.get': 'caller',
  'home.administrators': 'caller',
  'grants.list': 'caller',
  'grants.delete': 'caller',
  'two_factor.status': 'caller',
  'two_factor.setup': 'caller',
  'two_factor.verify_setup': 'caller',
  'two_factor.disable': 'caller',
  'two_factor.regenerate_recovery': 'caller',
  'confirmations.approve': 'caller',
  'confirmations.decline': 'caller',
  'confirmations.get': 'caller',
  'connections.test': 'viewer',
  'logs.failures': 'viewer',
  'logs.list': 'viewer',
  'notices.read': 'viewer',
  'preview.trial': 'editor',
  'proposals.approve': 'editor',
  'proposals.reject': 'editor',
  'proposals.test': 'editor',
  'proposals.try': 'editor',
  'preview.tool': 'editor',
  'preview.resource': 'editor',
  'preview.prompt': 'editor',
  'server.stdio': 'viewer',
  'guard.rules': 'viewer',
  'guard.test': 'editor',
  'guard.scan': 'editor',
} as const;

test('an operation is open to no lesser role than its access says, but for those that are listed', () => {
  const of_access = { public: null, session: 'admin', read: 'viewer', write: 'editor', deploy: 'editor' } as const;
  const less = all.flatMap(([name, definition]) => {
    const [least, usual] = [leastRole(definition), of_access[definition.access]];
    return least !== null && usual !== null && !holds(least, usual) ? [[name, least]] : [];
  });
  expect(Object.fromEntries(less)).toEqual(LESS);
});

describe.each(ROLES)('a person with the role %s', (role) => {
  beforeAll(() => become(role));

  test('reaches every operation of the role over REST, and no other', async () => {
    for (const [name, definition] of all) {
      const least = leastRole(definition);
      if (least === null || name.startsWith('deploy.') || name === 'auth.revoke_session') continue;
      const with_body = (definition.method === 'POST' || definition.method === 'PATCH') && definition.file !== true;
      // A field that nothing has: who may call it gets 422, and nothing happens.
      const path = with_body ? url(definition.path) : `${url(definition.path)}?nothing_has_this=1`;
      const { status, body } = await api(definition.method, path, with_body ? { nothing_has_this: 1 } : undefined);
      const open = holds(role, least);
      expect([name, status, body.code]).toEqual([name, open ? 422 : 403, open ? 'invalid' : 'role_required']);
    }
  });

  test('is told which role it takes', async () => {
    if (role === 'owner' || role === 'admin') return;
    const answer = await t.request('POST', '/api/v1/mcp-tokens', { anonymous: true, headers: { cookie }, body: { name: 'x' } });
    expect([answer.status, isErrorBody(answer.body)]).toEqual([403, true]);
    expect(answer.body.detail).toContain('requires the role Admin');
    expect((await t.app.store.db.select().from(t.app.store.tables.mcp_tokens)).length).toBe(0);
  });

  test('meets the same rule at the playground and the live log', async () => {
    const message = { jsonrpc: '2.0', id: 1, method: 'ping' };
    const played = await api('POST', '/api/v1/playground/mcp', message);
    // No host is connected here: who may use it is told so.
    expect(played.status).toBe(holds(role, 'viewer') ? 503 : 403);
    const logs = await api('GET', '/api/v1/deploy/logs?level=NONSENSE');
    expect(logs.status).toBe(holds(role, 'admin') ? 422 : 403);
  });
});

test('the one door keeps the rule for every operation, whichever way a call comes', () => {
  const bearer = { type: 'agent_token', id: 'a', name: 'a', scopes: ['read', 'write', 'deploy'] } as const;
  const codeOf = (definition: Operation, actor: Parameters<typeof authorise>[1]) => {
    try {
      authorise(definition, actor);
      return null;
    } catch (error) {
      return (error as { code?: string }).code ?? 'unknown';
    }
  };
  for (const [name, definition] of all) {
    const least = leastRole(definition);
    for (const role of ROLES) {
      const expected = least === null || holds(role, least) ? null : 'role_required';
      expect([name, role, codeOf(definition, { ...bearer, type: 'admin', role })]).toEqual([name, role, expected]);
      // A person who came through the agent endpoint meets both rules.
      const through_agent = least === null ? null : definition.access === 'session' ? 'admin_only' : expected;
      expect([name, role, codeOf(definition, { ...bearer, role })]).toEqual([name, role, through_agent]);
    }
    // A session without a role may do the least; credentials that administrators make have scopes alone.
    expect(codeOf(definition, { ...bearer, type: 'admin' })).toBe(
      least === null || holds('caller', least) ? null : 'role_required',
    );
    expect(codeOf(definition, bearer)).toBe(definition.access === 'session' ? 'admin_only' : null);
    for (const scope of ['read', 'write', 'deploy'] as const) {
      const allowed = definition.access === 'public' || definition.access === scope;
      const expected = definition.access === 'session' ? 'admin_only' : allowed ? null : 'insufficient_scope';
      expect([name, scope, codeOf(definition, { ...bearer, scopes: [scope] })]).toEqual([name, scope, expected]);
    }
    expect(codeOf(definition, SYSTEM)).toBeNull();
  }
});

describe('an editor', () => {
  beforeAll(() => become('editor'));

  test('may not do with settings and connections what a token may not', async () => {
    await become('owner');
    const sample = await api('POST', '/api/v1/connections', {
      name: 'shop',
      db_type: 'postgresql',
      host: 'db.internal',
      database: 'shop',
      username: 'reader',
      password: 'secret of the shop',
      read_only: true,
    });
    expect(sample.status).toBe(201);
    await api('PATCH', '/api/v1/server/config', { server_name: 'Shop' });
    const { items } = (await api('GET', '/api/v1/history?entity_type=server_config')).body as { items: { id: string }[] };
    await become('editor');
    const at = `/api/v1/connections/${String(sample.body['id'])}`;
    expect((await api('PATCH', at, { host: 'evil.example' })).body.code).toBe('secret_required');
    expect((await api('PATCH', at, { read_only: false })).body.code).toBe('admin_only');
    expect((await api('PATCH', at, { pool_size: 3 })).status).toBe(200);
    expect((await api('PATCH', '/api/v1/server/config', { server_name: 'Mine' })).body.code).toBe('role_required');
    expect((await api('POST', `/api/v1/history/${items[0]?.id}/rollback`, {})).body.code).toBe('role_required');
    const imported = { format: 'sluice/1', server_config: { server_name: 'Mine' }, include_server_config: true };
    expect((await api('POST', '/api/v1/export-import/import', imported)).body.code).toBe('admin_only');
    expect((await api('GET', '/api/v1/server/config')).body['server_name']).toBe('Shop');
  });
});

test('an editor takes back what they deleted, and nothing that an administrator set since', async () => {
  await become('owner');
  mkdirSync(t.app.env.SVC_SQLITE_DIR, { recursive: true });
  new Database(join(t.app.env.SVC_SQLITE_DIR, 'own.sqlite'), { create: true }).run(
    'create table people (id integer, email text)',
  );
  const make = async (noun: string, body: object) => {
    const made = await api('POST', `/api/v1/${noun}`, body);
    expect([noun, made.status]).toEqual([noun, 201]);
    return `/api/v1/${noun}/${String(made.body['id'])}`;
  };
  const connection = await make('connections', { name: 'own', db_type: 'sqlite', database: 'own.sqlite' });
  const tool = await make('tools', {
    connection_id: connection.split('/').at(-1),
    name: 'people',
    description: 'People',
    sql_query: 'select id, email from people',
  });
  const toolset = await make('toolsets', { name: 'staff', groups: ['staff'] });
  const masks = [{ column: 'email', mask: 'email', unless_groups: [] }];
  expect((await api('PATCH', tool, { masks, log_arguments: true })).status).toBe(200);
  const newest = async (at: string) => {
    const [entry] = (await api('GET', `/api/v1/history?entity_id=${at.split('/').at(-1)}&limit=1`)).body['items'] as {
      id: string;
    }[];
    return `/api/v1/history/${entry?.id}/rollback`;
  };
  const masked = await newest(tool);
  await become('editor');
  expect((await api('POST', masked, {})).body.code).toBe('admin_only');
  for (const at of [tool, toolset, connection]) {
    expect((await api('DELETE', at)).status).toBe(204);
    expect([at, (await api('POST', await newest(at), {})).status]).toEqual([at, 200]);
  }
  expect((await api('GET', tool)).body).toMatchObject({ masks, log_arguments: true });
  expect((await api('GET', toolset)).body).toMatchObject({ groups: ['staff'] });
  // Deleting it first is no way to what it was before.
  expect((await api('DELETE', tool)).status).toBe(204);
  expect((await api('POST', masked, {})).body.code).toBe('admin_only');
});

test('what stays open, such as the live log, ends with the role that opened it', async () => {
  await become('owner');
  const actor = await authenticate(t.app, cookie.replace('svc_session=', ''));
  if (actor === null) throw new Error('The session of the test is not valid.');
  expect(await isSessionLive(t.app, actor)).toBe(true);
  await become('editor');
  expect(await isSessionLive(t.app, actor)).toBe(false);
});

test('a change of role holds at the next request, and a disabled account has none', async () => {
  await become('owner');
  expect((await api('GET', '/api/v1/mcp-tokens')).status).toBe(200);
  await become('viewer');
  expect((await api('GET', '/api/v1/mcp-tokens')).status).toBe(403);
  expect((await api('GET', '/api/v1/auth/me')).body).toMatchObject({ username: 'ada', role: 'viewer', groups: [] });
  const { people } = t.app.store.tables;
  await t.app.store.write((tx) => tx.update(people).set({ enabled: false }).where(eq(people.username, 'ada')));
  expect((await api('GET', '/api/v1/auth/me')).status).toBe(401);
  const login = { username: 'ada', password: 'correct horse' };
  const refused = await t.send('auth.login', login, { anonymous: true });
  expect([refused.status, refused.headers.get('set-cookie')]).toEqual([403, null]);
});
