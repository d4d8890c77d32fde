import { afterEach, beforeEach, expect, test } from 'bun:test';
import { eq } from 'drizzle-orm';
import { isSealed } from '#core/lib/sealed-values.ts';
import { isErrorBody, type TestApp, testApp } from '#test/support/app.ts';
import { openTestProvider, type TestProvider } from '#test/support/test-provider.ts';

const PATH = '/api/v1/identity-providers';
const UNKNOWN = '0190b0c0-0000-7000-8000-000000000000';
const DRAFT = {
  name: 'Keycloak',
  issuer: 'https://127.0.0.1:8443/realms/shop',
  client_id: 'sluice',
  client_secret: 's3cret value',
};
const ASSERTIONS = {
  accept_assertions: true,
  assertion_clients: ['https://claude.ai/oauth/claude-code-client-metadata'],
  assertion_algorithms: ['RS256'],
};

let t: TestApp;
beforeEach(async () => {
  t = await testApp({ SVC_PUBLIC_URL: 'https://sluice.example.com' });
  await t.signIn();
});
afterEach(() => t.close());

const createProvider = (body: object = {}) => t.send('identity_providers.create', { ...DRAFT, ...body });
const patch = (id: unknown, body: object) => t.send('identity_providers.update', { id: String(id), ...body });
const list = async () => await t.call('identity_providers.list', {});
const historyOf = async (id: unknown) =>
  (await t.call('history.entity', { entity_type: 'identity_provider', entity_id: String(id) })).items;
const agentToken = async () => {
  const body = { name: 'agent', duration_minutes: 60, scopes: ['read', 'write', 'deploy'] };
  return (await t.send('agent_tokens.create', body)).body.token;
};
const rollback = (entry: Record<string, unknown> | undefined, options: object = {}) =>
  t.request('POST', `/api/v1/history/${String(entry?.['id'])}/rollback`, { body: {}, ...options });

test('a provider is created, listed, changed and deleted, and its secret is never shown', async () => {
  const { status, body } = await createProvider();
  expect(status).toBe(201);
  expect(body).toEqual({
    id: expect.any(String),
    name: 'Keycloak',
    issuer: DRAFT.issuer,
    client_id: 'sluice',
    client_secret_set: true,
    client_secret_missing: false,
    scopes: ['openid', 'email', 'profile'],
    groups_claim: null,
    allowed_domains: [],
    create_people: false,
    default_role: 'caller',
    role_by_group: {},
    accept_assertions: false,
    assertion_clients: [],
    assertion_algorithms: [],
    enabled: true,
    redirect_uri: 'https://sluice.example.com/api/v1/auth/oidc/callback',
    people: 0,
    version: 1,
    created_at: '2026-03-01T12:00:00.000Z',
    updated_at: '2026-03-01T12:00:00.000Z',
  });
  const { id } = body;
  expect(await list()).toEqual({ items: [body], total: 1 });
  const changed = await patch(id, { scopes: ['groups'], groups_claim: 'groups', role_by_group: { staff: 'editor' }, version: 1 });
  expect(changed.body).toMatchObject({
    version: 2,
    scopes: ['openid', 'groups'],
    role_by_group: { staff: 'editor' },
    client_secret_set: true,
  });
  expect((await patch(id, {})).body.version).toBe(2);
  // What was read may be sent back as it is.
  expect((await patch(id, { ...changed.body, client_secret: '********' })).body.client_secret_set).toBe(true);
  expect((await patch(id, { client_secret: null })).body.client_secret_set).toBe(false);
  const told = JSON.stringify([await list(), await historyOf(id), t.log]);
  expect(told).not.toContain('s3cret');
  expect((await t.send('identity_providers.delete', { id })).status).toBe(204);
  expect(await list()).toEqual({ items: [], total: 0 });
});

test('nobody but an administrator reads or changes providers, by whichever way', async () => {
  const { id } = (await createProvider()).body;
  const entry = (await historyOf(id))[0];
  const headers = { authorization: `Bearer ${await agentToken()}` };
  const calls: [string, string, object?][] = [
    ['GET', PATH],
    ['POST', PATH, DRAFT],
    ['PATCH', `${PATH}/${id}`, { enabled: false }],
    ['DELETE', `${PATH}/${id}`],
    ['POST', `${PATH}/${id}/test`, {}],
  ];
  for (const [method, path, body] of calls) {
    const given = body === undefined ? {} : { body };
    expect([path, (await t.request(method, path, { ...given, anonymous: true })).status]).toEqual([path, 401]);
    const refused = await t.request(method, path, { ...given, anonymous: true, headers });
    expect([path, refused.status, isErrorBody(refused.body)]).toEqual([path, 403, true]);
  }
  const undone = await rollback(entry, { anonymous: true, headers });
  expect([undone.status, undone.body.detail]).toEqual([403, expect.stringContaining('not a token')]);
  const exported = await t.call('transfer.export', {}, { anonymous: true, headers });
  expect((exported.server_config as object) ?? {}).not.toHaveProperty('identity_providers');
  expect(JSON.stringify(exported)).not.toContain('realms/shop');
  expect(await list()).toMatchObject({ total: 1, items: [{ version: 1 }] });
});

test.each([
  [{ name: '' }, 'name'],
  [{ issuer: 'ftp://x' }, 'issuer'],
  [{ issuer: 'https://x.example/?a=1' }, 'issuer'],
  [{ client_id: 'with space' }, 'client_id'],
  [{ default_role: 'owner' }, 'default_role'],
  [{ groups_claim: 'groups', role_by_group: { admins: 'owner' } }, 'role_by_group'],
  [{ role_by_group: { staff: 'editor' } }, 'groups_claim'],
  [{ default_role: null }, 'role_by_group'],
  [{ accept_assertions: true }, 'assertion_clients'],
  [{ assertion_clients: ['svc_dcr_anyone'] }, 'assertion_clients'],
  [{ assertion_clients: ['http://claude.ai/oauth/client'] }, 'assertion_clients'],
  [{ assertion_clients: ['https://claude.ai/../client'] }, 'assertion_clients'],
  [{ assertion_algorithms: ['HS256'] }, 'assertion_algorithms.0'],
  [{ assertion_algorithms: ['none'] }, 'assertion_algorithms.0'],
  [{ issuer: 'https://accounts.google.com', create_people: true }, 'allowed_domains'],
  [{ allowed_domains: ['EXAMPLE.com'] }, 'allowed_domains'],
  [{ scopes: ['a b'] }, 'scopes'],
  [{ nonsense: 1 }, 'nonsense'],
])('%j is refused at %s and nothing is stored', async (body, field) => {
  const answer = await createProvider(body);
  expect([answer.status, isErrorBody(answer.body)]).toEqual([422, true]);
  expect(answer.body.detail).toContain(field);
  expect(await list()).toEqual({ items: [], total: 0 });
});

test('unknown ids, taken names and stale versions are refused', async () => {
  const first = (await createProvider()).body;
  const second = (await createProvider({ name: 'Okta' })).body;
  expect((await createProvider()).status).toBe(409);
  const taken = await patch(second.id, { name: 'Keycloak' });
  expect([taken.status, taken.body.detail]).toEqual([
    409,
    'Another identity provider already has this name. Choose another one.',
  ]);
  expect((await patch(first.id, { enabled: false, version: 9 })).status).toBe(409);
  expect((await patch(UNKNOWN, { enabled: false })).status).toBe(404);
  expect((await t.send('identity_providers.delete', { id: '0190b0c0-0000-7000-8000-000000000000' })).status).toBe(404);
  expect((await t.send('identity_providers.test', { id: '0190b0c0-0000-7000-8000-000000000000' })).status).toBe(404);
});

test('a stored secret is not kept for another issuer', async () => {
  const { id } = (await createProvider()).body;
  const issuer = 'https://127.0.0.1:9443/';
  const moved = await patch(id, { issuer });
  expect([moved.status, moved.body.detail]).toEqual([422, expect.stringContaining('client_secret must be sent again')]);
  expect((await patch(id, { issuer, client_secret: '********' })).status).toBe(422);
  expect((await patch(id, { issuer, client_secret: 'of the new one' })).body).toMatchObject({ issuer, version: 2 });
});

test('without SVC_ALLOW_PRIVATE_NETWORKS a private issuer is refused, and plain http everywhere else', async () => {
  const strict = await testApp({ SVC_ALLOW_PRIVATE_NETWORKS: 'false' });
  await strict.signIn();
  const refused = await strict.send('identity_providers.create', DRAFT);
  expect([refused.status, refused.body.detail]).toEqual([422, expect.stringContaining('SVC_ALLOW_PRIVATE_NETWORKS')]);
  await strict.close();
  const plain = await createProvider({ issuer: 'http://8.8.8.8/realms/shop' });
  expect([plain.status, plain.body.detail]).toEqual([422, expect.stringContaining('over https')]);
});

test('changes are in the history, and rolled back with their secrets', async () => {
  const { id } = (await createProvider()).body;
  await patch(id, ASSERTIONS);
  const [accepted] = await historyOf(id);
  expect(accepted?.changes).toEqual({
    accept_assertions: { old: false, new: true },
    assertion_clients: { old: [], new: ASSERTIONS.assertion_clients },
    assertion_algorithms: { old: [], new: ['RS256'] },
  });
  expect((await rollback(accepted)).body['entity']).toMatchObject({ accept_assertions: false, assertion_clients: [] });
  await patch(id, { enabled: false });
  await t.call('identity_providers.delete', { id });
  const [deleted, updated] = await historyOf(id);
  expect(deleted).toMatchObject({
    entity_type: 'identity_provider',
    entity_name: 'Keycloak',
    action: 'delete',
    actor: { name: 'ada' },
  });
  expect(updated).toMatchObject({ action: 'update', changes: { enabled: { old: true, new: false } } });
  const back = await rollback(deleted);
  expect(back.body['entity']).toMatchObject({ id, enabled: false, client_secret_set: true, version: 5 });
  expect((await rollback(updated)).body['entity']).toMatchObject({ enabled: true, version: 6 });
  const { identity_providers: table } = t.app.store.tables;
  const [row] = await t.app.store.db.select().from(table).where(eq(table.id, id));
  const sealed = isSealed(row?.client_secret) ? row.client_secret.$sealed : '';
  expect(t.app.keyring.open(sealed, `identity_provider/${id}/client_secret`)).toBe(DRAFT.client_secret);
});

test('a provider of before assertions existed is restored without them', async () => {
  const { id } = (await createProvider()).body;
  await t.call('identity_providers.delete', { id });
  const [deleted] = await historyOf(id);
  const { history } = t.app.store.tables;
  const [row] = await t.app.store.db
    .select()
    .from(history)
    .where(eq(history.id, String(deleted?.id)));
  const { accept_assertions: _, assertion_clients: _clients, assertion_algorithms: _algorithms, ...before } = row?.before ?? {};
  await t.app.store.write((tx) =>
    tx
      .update(history)
      .set({ before })
      .where(eq(history.id, row?.id ?? '')),
  );
  const back = await rollback(deleted);
  expect(back.body['entity']).toMatchObject({ id, accept_assertions: false, assertion_clients: [], assertion_algorithms: [] });
});

test('an export holds providers without secrets, and an import with the settings brings them', async () => {
  await createProvider({ groups_claim: 'groups', role_by_group: { staff: 'editor' }, ...ASSERTIONS });
  await createProvider({ name: 'Public client', client_secret: null });
  const exported = await t.call('transfer.export', {});
  expect(JSON.stringify(exported)).not.toContain('s3cret');
  const other = await testApp();
  await other.signIn();
  const send = (query: string) => other.request('POST', `/api/v1/export-import/import?${query}`, { body: exported });
  expect((await send('mode=merge')).status).toBe(200);
  expect((await other.call('identity_providers.list', {})).total).toBe(0);
  const report = await send('include_server_config=true');
  expect(report.body['needs_secrets']).toEqual([{ connection: null, fields: ['identity_providers.Keycloak.client_secret'] }]);
  const items = (await other.call('identity_providers.list', {})).items;
  expect(items).toMatchObject([
    {
      name: 'Keycloak',
      role_by_group: { staff: 'editor' },
      client_secret_set: false,
      client_secret_missing: true,
      ...ASSERTIONS,
    },
    { name: 'Public client', client_secret_set: false, client_secret_missing: false },
  ]);
  const again = (await send('include_server_config=true&mode=overwrite')).body;
  expect(again).toMatchObject({ updated: { server_config: 0 }, needs_secrets: report.body['needs_secrets'] });
  // It is no public client, here and wherever it is imported next.
  const { server_config } = await other.call('transfer.export', {});
  expect(server_config).toMatchObject({
    identity_providers: (exported.server_config as Record<string, unknown>)['identity_providers'],
  });
  const id = String((items as { id: string }[])[0]?.id);
  const missing =
    'The identity provider Keycloak has no client secret yet, because it was imported without one. An administrator can enter it.';
  const started = await other.request('GET', `/api/v1/auth/oidc/${id}/start?moved=true`, { anonymous: true });
  expect(JSON.stringify([started.body, decodeURIComponent(String(started.headers.get('location')))])).toContain(missing);
  const change = async (body: object) => await other.call('identity_providers.update', { id, ...body });
  expect(await change({ issuer: 'https://127.0.0.1:9443' })).toMatchObject({ client_secret_missing: true });
  expect(await change({ client_secret: null })).toMatchObject({ client_secret_set: false, client_secret_missing: false });
  expect(await change({ client_secret: 'entered' })).toMatchObject({ client_secret_set: true, client_secret_missing: false });
  await other.close();
});

interface Checked {
  readonly success: boolean;
  readonly checks: readonly { readonly check: string; readonly status: string; readonly message: string }[];
}

async function tested(provider: TestProvider, body: object = {}): Promise<Record<string, string>> {
  const { id } = (await createProvider({ ...provider.client, ...body })).body;
  const answer = await t.call('identity_providers.test', { id });
  const { checks } = answer as unknown as Checked;
  await t.call('identity_providers.delete', { id });
  return Object.fromEntries(checks.map(({ check, status }) => [check, status]));
}

test('the connection test says of every step whether it works', async () => {
  const provider = await openTestProvider();
  const fine = {
    address: 'warning',
    discovery: 'passed',
    issuer: 'passed',
    endpoints: 'passed',
    pkce: 'passed',
    algorithms: 'passed',
    keys: 'passed',
    scopes: 'passed',
    client: 'passed',
  };
  const metadata = (change: object) => ({ metadata: (document: object) => ({ ...document, ...change }) });
  expect(await tested(provider)).toEqual(fine);
  expect(await tested(provider, ASSERTIONS)).toEqual({ ...fine, assertions: 'passed' });
  const gone = { ...ASSERTIONS, assertion_clients: [`svc_app_${'x'.repeat(40)}`] };
  expect(await tested(provider, gone)).toEqual({ ...fine, assertions: 'warning' });
  expect(await tested(provider, { client_secret: 'wrong' })).toEqual({ ...fine, client: 'failed' });
  expect(await tested(provider, { scopes: ['unheard'] })).toEqual({ ...fine, scopes: 'warning' });
  provider.tricks = metadata({ issuer: `${provider.issuer}/` });
  expect(await tested(provider)).toMatchObject({ discovery: 'passed', issuer: 'failed' });
  provider.tricks = metadata({ code_challenge_methods_supported: ['plain'] });
  expect(await tested(provider)).toEqual({ ...fine, pkce: 'failed' });
  provider.tricks = metadata({ code_challenge_methods_supported: undefined });
  expect(await tested(provider)).toEqual({ ...fine, pkce: 'warning' });
  provider.tricks = metadata({ id_token_signing_alg_values_supported: ['HS256', 'none'] });
  expect(await tested(provider)).toEqual({ ...fine, algorithms: 'failed' });
  provider.tricks = metadata({ token_endpoint: 'javascript:alert(1)' });
  expect(await tested(provider)).toMatchObject({ endpoints: 'failed', keys: 'skipped', client: 'skipped' });
  provider.tricks = { jwks: () => ({ keys: [] }) };
  expect(await tested(provider)).toEqual({ ...fine, keys: 'failed' });
  provider.tricks = { metadata: () => new Response('<html>', { status: 200 }) };
  expect(await tested(provider)).toMatchObject({ discovery: 'failed', issuer: 'skipped', client: 'skipped' });
  await provider.close();
  expect(await tested(provider)).toMatchObject({ address: 'failed', discovery: 'skipped' });
});
