import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { ServerConfigPatch } from '#core/contract/settings/config.ts';
import { type ListeningAgent, listeningAgent } from '#test/support/agent.ts';
import { frozenWhenSet } from '#core/contract/settings/settings.ts';
import type { McpClient } from '#test/support/mcp-clients.ts';

/** All that a token may change. */
const OPEN = ['version', 'server_name', 'global_variables'];

/** What only an administrator changes (contract section 2), with a change that is fine when an administrator makes it. */
const RESERVED: Readonly<Record<string, Record<string, unknown>>> = {
  transport: { transport: 'stdio' },
  port: { port: 8_181 },
  log_level: { log_level: 'ERROR' },
  otel_enabled: { otel_enabled: true },
  token_ttl_seconds: { token_ttl_seconds: 604_800 },
  auth_type: { auth_type: 'bearer' },
  host: { host: '127.0.0.2' },
  oauth_clients: { oauth_clients: [{ client_id: 'intruder', client_secret: 'canary-client-secret-0123456789' }] },
  introspection_url: { introspection_url: 'https://93.184.215.14/introspect' },
  introspection_client_id: { introspection_client_id: 'intruder' },
  introspection_client_secret: { introspection_client_secret: 'canary-introspection' },
  introspection_cache_ttl_seconds: { introspection_cache_ttl_seconds: 3_600 },
  introspection_issuer: { introspection_issuer: 'https://evil.example/realms/shop' },
  introspection_scopes: { introspection_scopes: ['admin'] },
  introspection_audience: { introspection_audience: 'another-server' },
  instructions: { instructions: 'Orders of another shop.' },
  skill: { skill: 'Orders of another shop.' },
  openai_apps_challenge: { openai_apps_challenge: 'intruder' },
  accept_mcp_tokens: { accept_mcp_tokens: false },
  jwt_issuers: { jwt_issuers: [{ issuer: 'https://evil.example', audience: 'shop' }] },
  cors_origins: { cors_origins: ['https://evil.example'] },
  ssl_enabled: { ssl_enabled: true, ui_domain: 'evil.example', acme_email: 'a@evil.example' },
  ui_domain: { ui_domain: 'evil.example' },
  mcp_domain: { mcp_domain: 'evil.example' },
  mcp_proxy: { mcp_proxy: true },
  acme_email: { acme_email: 'a@evil.example' },
  acme_challenge: { acme_challenge: 'dns-01' },
  dns_provider: { dns_provider: 'cloudflare' },
  dns_credentials: { dns_provider: 'cloudflare', dns_credentials: { api_token: 'canary-dns-token' } },
  auto_renew: { auto_renew: false },
  approvals: { approvals: 1 },
  min_tls_version: { min_tls_version: '1.3' },
  prompt_guard_enabled: { prompt_guard_enabled: false },
  prompt_guard_threshold: { prompt_guard_threshold: 'high' },
  prompt_guard_allow: { prompt_guard_allow: ['override.ignore_previous'] },
  drift_check_minutes: { drift_check_minutes: 5 },
  undeclared_arguments: { undeclared_arguments: 'refuse' },
  min_protocol_version: { min_protocol_version: '2025-06-18' },
  files_expire_minutes: { files_expire_minutes: 1_440 },
  files_max_rows: { files_max_rows: 1_000_000_000 },
  files_max_bytes: { files_max_bytes: 1_099_511_627_776 },
  files_slots: { files_slots: 20 },
  replay_samples: { replay_samples: 100 },
  secret_refs: { secret_refs: ['file:/'] },
  secret_ref_ttl_seconds: { secret_ref_ttl_seconds: 60 },
  audit_retention_days: { audit_retention_days: { call: 1 } },
  audit_syslog: { audit_syslog: { host: 'evil.example' } },
  audit_otlp: { audit_otlp: true },
  log_arguments_hours: { log_arguments_hours: 720 },
  lint_off: { lint_off: ['select-star'] },
  agent_enabled: { agent_enabled: false },
  password_sign_in: { password_sign_in: false },
  oauth_access_minutes: { oauth_access_minutes: 1_440 },
  oauth_refresh_days: { oauth_refresh_days: 90 },
  oauth_grant_days: { oauth_grant_days: 366 },
  token_default_days: { token_default_days: 30 },
  deploy_gates: { deploy_gates: { breaking: 'off' } },
  dynamic_registration: { dynamic_registration: false },
  agent_rate_limit: { agent_rate_limit: 1_000_000 },
};

let a: ListeningAgent;
let token: string;
let client: McpClient;
beforeAll(async () => {
  a = await listeningAgent({ SVC_AGENT_RATE_LIMIT: '100000', SVC_OTLP_ENDPOINT: 'http://127.0.0.1:1' });
  token = await a.token();
  client = await a.client('v2', token);
});
afterAll(async () => {
  await client.close();
  await a.stop();
});

const config = async () => await a.s.call('config.get', {});
async function rest(method: string, path: string, body: unknown) {
  const response = await fetch(`${a.s.url}/api/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return { status: response.status, detail: String(((await response.json()) as { detail?: string }).detail) };
}
async function refusal(name: string, args: Record<string, unknown>): Promise<string> {
  const answer = await client.call(name, args);
  expect([name, answer.isError]).toEqual([name, true]);
  return answer.content.map(({ text }) => text).join('\n');
}
const newestOf = async (entity_type: string): Promise<string> => {
  const { items } = (await a.s.send('history.list', { entity_type, limit: 1 })).body;
  return items[0]?.id ?? '';
};

test('every setting is open to tokens or stands in the table', () => {
  expect([...Object.keys(RESERVED), ...OPEN].toSorted()).toEqual(Object.keys(ServerConfigPatch.entries).toSorted());
});

describe.each(Object.entries(RESERVED))('%s', (_, change) => {
  test('stays as it is when a token changes, imports or undoes it', async () => {
    const before = await config();
    expect(await rest('PATCH', '/server/config', change)).toMatchObject({
      status: 403,
      detail: expect.stringContaining('administrator'),
    });
    expect(await refusal('update_server_config', change)).toContain('administrator');
    // In good company it is no better.
    expect(await refusal('update_server_config', { server_name: 'Harmless', ...change })).toContain('administrator');
    const data = { format: 'sluice/1', server_config: { ...change } };
    await client.call('import_config', { data });
    for (const mode of ['merge', 'overwrite']) {
      const imported = await rest('POST', `/export-import/import?mode=${mode}&include_server_config=true`, data);
      expect(imported.status).toBeGreaterThanOrEqual(400);
    }
    expect(await config()).toEqual(before);
    // Takes an owner who signs in elsewhere, or a second administrator, for an administrator too.
    if (change['password_sign_in'] === false || change['approvals'] === 1) return;
    // An administrator may, and a token may not take it back.
    const changed = await a.s.send('config.update', change);
    expect([changed.status, changed.body.detail]).toEqual([200, undefined]);
    const history_id = await newestOf('server_config');
    const undone = change['agent_enabled'] === false ? 'administrator' : await refusal('rollback', { history_id });
    expect(undone).toContain('administrator');
    expect(await rest('POST', `/history/${history_id}/rollback`, {})).toMatchObject({ status: 403 });
    expect(await config()).toEqual(changed.body);
    expect((await a.s.send('history.rollback', { history_id })).status).toBe(200);
    expect(JSON.stringify([await config(), undone])).not.toContain('canary');
  });
});

test('a credential that was revoked, a deploy and a refusal are not brought back', async () => {
  const { id } = await a.s.call('agent_tokens.create', { name: 'Revoked', duration_minutes: 15 });
  await a.s.call('agent_tokens.delete', { id });
  const made = await a.s.call('mcp_tokens.create', { name: 'Gone', all_toolsets: true });
  await a.s.call('mcp_tokens.delete', { id: made.id });
  for (const type of ['agent_token', 'mcp_token']) {
    expect(await refusal('rollback', { history_id: await newestOf(type) })).toContain('cannot be rolled back');
  }
  const { items } = await a.s.call('agent_tokens.list', {});
  expect(items.find((item) => item.id === id)?.revoked).toBe(true);
});

test('an earlier snapshot does not bring back what only an administrator changes', async () => {
  a.s.server.app.hosts.connect('h1', ({ data }) => {
    const said = (typeof data === 'string' ? JSON.parse(data) : data) as Record<string, unknown>;
    const text = (name: string) => (typeof said[name] === 'string' ? said[name] : null);
    const version = typeof said['version'] === 'number' ? said['version'] : null;
    const acknowledged = { boot_id: 'b', version, checksum: text('checksum'), load_ms: 1, url: null, error: null };
    queueMicrotask(() => a.s.server.app.hosts.acknowledge('h1', { ...acknowledged, request_id: text('request_id') }));
  });
  const first = Number((await a.s.call('deploy.run', {})).snapshot_version);
  const content = (await a.s.call('snapshots.get', { version: first })).content as { server: Record<string, unknown> };
  // Some settings are frozen only where they are set.
  const when_set = Object.keys(frozenWhenSet);
  const frozen = [...Object.keys(content.server), ...when_set];
  expect(frozen.length).toBeGreaterThan(10);
  for (const field of frozen.filter((name) => !OPEN.includes(name))) {
    await a.s.call('config.update', RESERVED[field] ?? {});
    const entry = await newestOf('server_config');
    const deployed = await a.s.call('deploy.run', {});
    expect([field, deployed.changed]).toEqual([field, true]);
    const answer = await rest('POST', `/snapshots/${first}/activate`, {});
    expect([field, answer.status, answer.detail]).toEqual([field, 403, expect.stringContaining(field)]);
    expect((await a.s.call('deploy.status', {})).snapshot_version).toBe(Number(deployed.snapshot_version));
    await a.s.call('history.rollback', { history_id: entry });
    await a.s.call('deploy.run', {});
  }
  await a.s.call('config.update', { server_name: 'Renamed', global_variables: { region: 'north' } });
  await a.s.call('deploy.run', {});
  expect((await rest('POST', `/snapshots/${first}/activate`, {})).status).toBe(200);
}, 60_000);

test('a transport that nobody reaches stays so: what a token deploys is what the administrator chose', async () => {
  await a.s.call('config.update', { transport: 'stdio' });
  expect(await refusal('update_server_config', { transport: 'http' })).toContain('transport');
  expect((await client.call('deploy_server', {})).isError).toBeUndefined();
  expect((await a.s.call('server.health', {})).transport).toBe('stdio');
});
