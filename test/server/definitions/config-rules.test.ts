import { afterEach, beforeEach, describe, expect, test } from 'bun:test';
import { AppError } from '#core/errors.ts';
import { type Actor, type RequestContext, SYSTEM } from '#core/context/context.ts';
import { run } from '#core/control-plane/run.ts';
import { secretsIn } from '#core/lib/sealed-values.ts';
import type { StoredSecret } from '#core/contract/fields.ts';
import { createKeyring, readSecret } from '#core/lib/secrets.ts';
import { CONFIG_ID } from '#core/contract/settings/config.ts';
import { readSettings } from '#core/settings/settings.ts';
import { openDnsCredentials } from '#core/settings/secrets.ts';
import { isErrorBody, type TestApp, testApp } from '#test/support/app.ts';
import { DEFAULTS } from '#test/server/specification-tables.ts';
import { connectHost } from '#test/support/host.ts';

let t: TestApp;
beforeEach(async () => {
  t = await testApp();
  await t.signIn();
});
afterEach(() => t.close());

const bearer: Actor = { type: 'agent_token', id: 'a', name: 'agent', scopes: ['read', 'write'] };
const as_bearer: RequestContext = { actor: bearer, ip: null, user_agent: null, request_id: 'r' };
const PATH = '/api/v1/server/config';
const get = () => t.call('config.get', {});
const patch = (body: object) => t.send('config.update', body);
const history = async () =>
  (await t.call('history.entity', { entity_type: 'server_config', entity_id: CONFIG_ID })) as {
    total: number;
    items: { action: string; changes: Record<string, unknown>; version_before: number; version_after: number }[];
  };

test('nothing stored reads as the defaults, at version 1', async () => {
  expect<object>(await get()).toEqual({
    ...DEFAULTS,
    prompt_guard_enabled: true,
    prompt_guard_threshold: 'medium',
    prompt_guard_allow: [],
    lint_off: [],
    agent_enabled: true,
    version: 1,
    updated_at: null,
    warnings: [],
    token_max_days: 365,
  });
});

test('what is read can be sent back, counts as a version and pins no default', async () => {
  const answer = await patch(await get());
  expect(answer.body).toMatchObject({ version: 2, updated_at: '2026-03-01T12:00:00.000Z', server_name: 'Sluice' });
  const [row] = await t.app.store.db.select().from(t.app.store.tables.server_config);
  expect(row?.settings).toEqual({});
});

test('a change on an old version is a conflict and changes nothing; without a version the last one wins', async () => {
  await patch({ server_name: 'A', version: 1 });
  const stale = await patch({ server_name: 'B', version: 1 });
  expect([stale.status, isErrorBody(stale.body)]).toEqual([409, true]);
  expect(await get()).toMatchObject({ server_name: 'A', version: 2 });
  expect((await patch({ server_name: 'C' })).body).toMatchObject({ server_name: 'C', version: 3 });
  expect((await history()).items).toMatchObject([
    { action: 'update', version_before: 2, version_after: 3, changes: { server_name: { old: 'A', new: 'C' } } },
    { action: 'update', version_before: 1, version_after: 2, changes: { server_name: { old: 'Sluice', new: 'A' } } },
  ]);
});

test('changes of other fields at the same moment are all kept', async () => {
  const fields = [
    { server_name: 'A' },
    { port: 9_000 },
    { log_level: 'ERROR' },
    { acme_email: 'a@example.com' },
    { auto_renew: false },
  ];
  const all = await Promise.all(fields.map(patch));
  expect(all.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200]);
  expect(await get()).toMatchObject({ ...Object.assign({}, ...fields), version: 6 });
});

describe('a refused value changes nothing and is named:', () => {
  const many = Object.fromEntries(Array.from({ length: 101 }, (_, n) => [`v${n}`, n]));
  const client = { client_id: 'app', client_secret: 'a secret' };
  test.each<[string, object]>([
    ['server_name', { server_name: '' }],
    ['transport', { transport: 'smtp' }],
    ['host', { host: '127.0.0.1:80' }],
    ['host', { host: 'a b' }],
    ['port', { port: 0 }],
    ['port', { port: 65_536 }],
    ['port', { port: null }],
    ['log_level', { log_level: 'LOUD' }],
    ['otel_enabled', { otel_enabled: 'yes' }],
    ['auth_type', { auth_type: 'basic' }],
    ['token_ttl_seconds', { token_ttl_seconds: 59 }],
    ['token_ttl_seconds', { token_ttl_seconds: 604_801 }],
    ['introspection_cache_ttl_seconds', { introspection_cache_ttl_seconds: 3_601 }],
    ['introspection_cache_ttl_seconds', { introspection_cache_ttl_seconds: -1 }],
    ['introspection_url', { introspection_url: 'ftp://login.example.com/' }],
    ['introspection_issuer', { introspection_issuer: 'login.example.com' }],
    ['introspection_issuer', { introspection_issuer: 'https://login.example.com/?realm=shop' }],
    ['introspection_scopes.0', { introspection_scopes: ['two words'] }],
    ['introspection_scopes.1', { introspection_scopes: ['mcp', 'a"b'] }],
    ['introspection_audience', { introspection_audience: '' }],
    ['introspection_url', { introspection_url: 'https://me:canary@login.example.com/' }],
    ['introspection_url', { introspection_url: 'http://169.254.169.254/latest' }],
    ['cors_origins', { cors_origins: ['http://localhost:3000/'] }],
    ['cors_origins', { cors_origins: ['https://example.com:443'] }],
    ['cors_origins', { cors_origins: ['HTTPS://example.com'] }],
    ['cors_origins', { cors_origins: ['example.com'] }],
    ['cors_origins', { cors_origins: ['null'] }],
    ['cors_origins', { cors_origins: ['https://*.example.com'] }],
    ['ui_domain', { ui_domain: 'https://example.com' }],
    ['ui_domain', { ui_domain: '192.0.2.1' }],
    ['mcp_domain', { mcp_domain: 'a_b.example.com' }],
    ['acme_email', { acme_email: 'nobody' }],
    ['acme_challenge', { acme_challenge: 'tls-alpn-01' }],
    ['dns_provider', { dns_provider: 'bind' }],
    ['dns_provider', { dns_credentials: { api_token: 'canary' } }],
    ['dns_credentials', { dns_provider: 'route53', dns_credentials: { api_token: 'canary' } }],
    ['dns_credentials', { dns_provider: 'cloudflare', dns_credentials: { token: 'canary' } }],
    ['dns_credentials.api_token', { dns_provider: 'cloudflare', dns_credentials: { api_token: '********' } }],
    ['oauth_clients', { oauth_clients: Array.from({ length: 11 }, (_, n) => ({ ...client, client_id: `c${n}` })) }],
    ['oauth_clients.1.client_id', { oauth_clients: [client, client] }],
    ['oauth_clients.0.client_secret', { oauth_clients: [{ client_id: 'app' }] }],
    ['oauth_clients.0.client_secret', { oauth_clients: [{ client_id: 'app', client_secret: '********' }] }],
    ['oauth_clients.0.client_id', { oauth_clients: [{ ...client, client_id: 'a b' }] }],
    ['global_variables', { global_variables: many }],
    ['global_variables.1st', { global_variables: { '1st': 1 } }],
    ['global_variables.größe', { global_variables: { größe: 1 } }],
    ['global_variables.list', { global_variables: { list: [1] } }],
    ['global_variables.gone', { global_variables: { gone: null } }],
    ['global_variables.count', { global_variables: { count: { value: 1.5, type: 'integer' } } }],
    ['global_variables.count', { global_variables: { count: { value: 2 ** 53, type: 'integer' } } }],
    ['global_variables.count', { global_variables: { count: 2 ** 53 } }],
    ['global_variables.count', { global_variables: { count: { value: -(2 ** 53) } } }],
    ['global_variables.count', { global_variables: { count: { value: '1', type: 'float' } } }],
    ['global_variables.flag', { global_variables: { flag: { value: 1, type: 'boolean' } } }],
    ['prompt_guard_threshold', { prompt_guard_threshold: 'none' }],
    ['prompt_guard_allow.0', { prompt_guard_allow: ['no-such-rule'] }],
    ['agent_rate_limit', { agent_rate_limit: 0 }],
    ['server_nam', { server_nam: 'x' }],
  ])('%s in %j', async (field, body) => {
    const answer = await patch(body);
    expect(answer.status).toBe(422);
    expect(isErrorBody(answer.body)).toBe(true);
    expect(answer.body.detail).not.toContain('canary');
    const { body: problem } = await t.request('PATCH', PATH, { body, headers: { accept: 'application/problem+json' } });
    const fields = (problem.errors as { field: string }[]).map((error) => error.field);
    expect(fields.some((name) => name.startsWith(field))).toBe(true);
    // A control's refusal leaves its note.
    expect((await history()).items.filter(({ action }) => action !== 'blocked')).toEqual([]);
    expect((await get()).version).toBe(1);
  });
});

test('global variables keep a type, inferred or given, and are replaced as a whole', async () => {
  const { body } = await patch({
    global_variables: {
      region: 'north',
      limit: 10,
      rate: 0.5,
      on: true,
      price: { value: 3, type: 'float' },
      plain: { value: 7 },
    },
  });
  expect(body.global_variables).toEqual({
    region: { value: 'north', type: 'string' },
    limit: { value: 10, type: 'integer' },
    rate: { value: 0.5, type: 'float' },
    on: { value: true, type: 'boolean' },
    price: { value: 3, type: 'float' },
    plain: { value: 7, type: 'integer' },
  });
  expect((await patch({ global_variables: body.global_variables })).body.global_variables).toEqual(body.global_variables);
  expect((await patch({ global_variables: { ['n'.repeat(64)]: 1 } })).body.global_variables).toEqual({
    ['n'.repeat(64)]: { value: 1, type: 'integer' },
  });
});

describe('secrets', () => {
  const secrets = {
    introspection_client_secret: 'canary-introspection',
    dns_provider: 'route53',
    dns_credentials: { access_key_id: 'canary-id', secret_access_key: 'canary-key' },
    oauth_clients: [
      { client_id: 'app', client_secret: 'canary-app' },
      { client_id: 'other', client_secret: 'canary-other' },
    ],
  };
  const opened = async () => {
    const { settings } = await readSettings(t.app);
    const open = async (stored: StoredSecret | null, place: string) => stored && readSecret(stored, place, t.app.secrets);
    return {
      introspection: await open(settings.introspection_client_secret, 'server_config/introspection_client_secret'),
      dns: await openDnsCredentials(t.app.secrets, settings.dns_credentials),
      clients: await Promise.all(
        settings.oauth_clients.map(({ client_id, client_secret }) =>
          open(client_secret, `server_config/oauth_clients/${client_id}/client_secret`),
        ),
      ),
    };
  };

  test('are stored sealed, shown as set, and in no answer, history entry or log line', async () => {
    const answer = await patch(secrets);
    expect(answer.body).toMatchObject({
      introspection_client_secret_set: true,
      dns_credentials_set: true,
      oauth_clients: [
        { client_id: 'app', secret_set: true },
        { client_id: 'other', secret_set: true },
      ],
    });
    expect(await opened()).toEqual({
      introspection: 'canary-introspection',
      dns: { access_key_id: 'canary-id', secret_access_key: 'canary-key' },
      clients: ['canary-app', 'canary-other'],
    });
    const { server_config, history: table } = t.app.store.tables;
    const stored = await Promise.all([server_config, table].map((from) => t.app.store.db.select().from(from)));
    expect(JSON.stringify([stored, answer.body, await history(), t.log])).not.toContain('canary');
    expect((await history()).items[0]?.changes).toMatchObject({ dns_credentials: { old: null, new: '[redacted]' } });
  });

  test('are kept when omitted or masked, replaced when sent, cleared by null', async () => {
    await patch(secrets);
    const masked = {
      ...(await get()),
      introspection_client_secret: '********',
      dns_credentials: { ...secrets.dns_credentials, secret_access_key: '********' },
    };
    expect((await patch(masked)).status).toBe(200);
    expect(await opened()).toMatchObject({ introspection: 'canary-introspection', dns: { secret_access_key: 'canary-key' } });
    await patch({ oauth_clients: [{ client_id: 'other' }, { client_id: 'new', client_secret: 'canary-new' }] });
    expect((await opened()).clients).toEqual(['canary-other', 'canary-new']);
    const cleared = await patch({ introspection_client_secret: null, dns_credentials: null, oauth_clients: [] });
    expect(cleared.body).toMatchObject({ introspection_client_secret_set: false, dns_credentials_set: false, oauth_clients: [] });
  });

  test('come back with a rollback, which a token may not use for what it may not change', async () => {
    await patch(secrets);
    await patch({ introspection_client_secret: null, oauth_clients: [], server_name: 'B' });
    const [entry] = (await history()).items as unknown as { id: string }[];
    const refusal = await run(t.app, 'history.rollback', { history_id: entry?.id ?? '' }, as_bearer).catch(
      (error: unknown) => error,
    );
    expect(refusal).toMatchObject({ code: 'admin_only' });
    expect(await get()).toMatchObject({ version: 3, oauth_clients: [] });
    const restored = await t.send('history.rollback', { history_id: entry?.id });
    expect(restored.body.entity).toMatchObject({ server_name: 'Sluice', version: 4, introspection_client_secret_set: true });
    expect((await opened()).clients).toEqual(['canary-app', 'canary-other']);
  });

  test('sealed with an older key are sealed again by any change, and stay readable', async () => {
    await patch(secrets);
    const before = (await readSettings(t.app)).settings.introspection_client_secret;
    const newer = createKeyring(['n'.repeat(32), ...t.app.env.SVC_ENCRYPTION_KEY], new Uint8Array(32));
    const app = { ...t.app, keyring: newer };
    await run(app, 'config.update', { server_name: 'B' }, { ...as_bearer, actor: SYSTEM });
    const { settings } = await readSettings(app);
    expect(before).not.toBeNull();
    expect(settings.introspection_client_secret).not.toEqual(before);
    expect(
      secretsIn(settings, 'server_config').map(({ path, sealed }) => [newer.stale(sealed), newer.open(sealed, path)]),
    ).toEqual([
      [false, 'canary-app'],
      [false, 'canary-other'],
      [false, 'canary-introspection'],
      [false, '{"access_key_id":"canary-id","secret_access_key":"canary-key"}'],
    ]);
  });

  test('of one DNS provider are not taken for those of another', async () => {
    await patch(secrets);
    expect((await patch({ dns_provider: 'cloudflare' })).status).toBe(422);
    expect((await patch({ dns_provider: 'cloudflare', dns_credentials: { api_token: 'x' } })).status).toBe(200);
  });
});

test('the snapshot holds general settings, auth and variables only, secrets as ciphertext', async () => {
  await patch({
    oauth_clients: [{ client_id: 'app', client_secret: 'canary' }],
    global_variables: { region: 'north' },
    acme_email: 'a@example.com',
  });
  connectHost(t.app);
  await t.call('deploy.run', {});
  const blobs = await t.app.store.db.select().from(t.app.store.tables.blobs);
  const server = JSON.parse(blobs.find(({ kind }) => kind === 'server')?.text ?? '{}') as Record<string, unknown>;
  expect(server).toMatchObject({ global_variables: { region: 'north' }, oauth_clients: [{ client_id: 'app' }] });
  expect(Object.keys(server).filter((field) => /^(ssl|acme|dns|agent|prompt|ui_|mcp_)/.test(field))).toEqual([]);
  expect(JSON.stringify(blobs)).not.toContain('canary');
});

test('the environment has the last word on the guard, and gives defaults', async () => {
  await t.close();
  t = await testApp({ SVC_PROMPT_GUARD_ENABLED: 'false', SVC_AGENT_RATE_LIMIT: '7', SVC_FASTMCP_PORT: '9090' });
  await t.signIn();
  expect(await get()).toMatchObject({ prompt_guard_enabled: false, agent_rate_limit: 7, port: 9090 });
  const refused = await patch({ prompt_guard_enabled: true });
  expect([refused.status, refused.body.detail]).toEqual([422, expect.stringContaining('SVC_PROMPT_GUARD_ENABLED')]);
  expect((await patch(await get())).status).toBe(200);
  expect((await readSettings(t.app)).settings.prompt_guard_enabled).toBe(true);
});

test('in production * is no origin, and a private address is no introspection endpoint', async () => {
  expect((await patch({ cors_origins: ['*'] })).status).toBe(200);
  await t.close();
  t = await testApp({ SVC_ENV: 'production', SVC_ALLOW_PRIVATE_NETWORKS: 'false' });
  await t.signIn();
  const wildcard = await patch({ cors_origins: ['*'] });
  expect([wildcard.status, wildcard.body.detail]).toEqual([422, expect.stringContaining('production')]);
  const address = await t.send('config.update', { introspection_url: 'http://10.0.0.1/introspect' });
  expect(address.body).toMatchObject({ status: 422, code: 'private_network_blocked', errors: [{ field: 'introspection_url' }] });
  expect(await get()).toMatchObject({ version: 1 });
});

describe('a bearer', () => {
  const update = (body: object) => run(t.app, 'config.update', body, as_bearer);

  test.each<[string, object]>([
    ['host', { host: '0.0.0.0' }],
    ['auth_type', { auth_type: 'none' }],
    ['auth_type', { auth_type: 'oauth_credentials' }],
    ['transport', { transport: 'stdio' }],
    ['introspection_url', { introspection_url: 'https://login.example.com/' }],
    ['introspection_client_secret', { introspection_client_secret: 'guess' }],
    ['oauth_clients', { oauth_clients: [{ client_id: 'app', client_secret: 'known' }] }],
    ['cors_origins', { cors_origins: [] }],
    ['ssl_enabled', { ssl_enabled: true }],
    ['dns_credentials', { dns_provider: 'cloudflare', dns_credentials: { api_token: 'x' } }],
    ['prompt_guard_enabled', { prompt_guard_enabled: false }],
    ['agent_rate_limit', { agent_rate_limit: 100_000 }],
  ])('may not change %s', async (field, body) => {
    await patch({ auth_type: 'bearer', oauth_clients: [{ client_id: 'app', client_secret: 'known' }] });
    const refusal = await update(body).catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(AppError);
    expect((refusal as AppError).code).toBe('admin_only');
    expect((refusal as AppError).detail).toContain(field.startsWith('dns') ? 'dns_' : field);
    expect(await get()).toMatchObject({ version: 2 });
  });

  test('may name the server and set variables, and send back what it read', async () => {
    const { version } = await update({ ...(await get()), server_name: 'B', global_variables: { a: 1 } });
    expect(version).toBe(2);
    expect(await get()).toMatchObject({ auth_type: 'none', server_name: 'B' });
  });
});
