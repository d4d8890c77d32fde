import { afterAll, beforeAll, expect, test } from 'bun:test';
import { generateKeyPairSync } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { join, relative } from 'node:path';
import { Secret, TOTP } from 'otpauth';
import { operations } from '#core/contract/index.ts';
import { fullPath, pathVariables } from '#core/contract/paths.ts';
import { LOGGED_ARGUMENTS, type LoggedArguments, LONGEST_SEALED } from '#core/contract/observe/logged-arguments.ts';
import { createSealing } from '#core/lib/sealing.ts';
import type { Operation } from '#core/contract/operation.ts';
import { type Answer, type TestApp, testApp } from '#test/support/app.ts';
import { storeExtras } from '#test/support/extras.ts';
import { reachable } from '#test/support/databases.ts';
import { filesBelow } from '#test/support/files.ts';
import { connectHost } from '#test/support/host.ts';
import { toBatch } from '#test/support/usage.ts';
import { until } from '#test/support/until.ts';

/** Secrets that a person gives, each written nowhere else. */
const GIVEN = {
  password: 'canary-password-7f3a91c2',
  next_password: 'canary-password-2-61d0be47',
  ssl_key: 'canary-ssl-key-0c5d7e19',
  extra: 'canary-extra-param-b8a4f062',
  oauth: 'canary-oauth-client-39e1d75a',
  introspection: 'canary-introspection-e6027bd4',
  dns: 'canary-dns-credential-5a91c3f8',
  admin: 'canary-admin-password-c4d2',
  wrong: 'canary-refused-password-91ab',
  /** Not a secret of ours, but nobody reads it other than in the detail of its call. */
  argument: 'canary-logged-argument-2f8e',
};
/** What the server reads from its environment. */
const KEYS = [
  'canary-encryption-key-4c1f9a6b02',
  'canary-jwt-secret-8e03d7b5f14ac2',
  'canary-service-token-d92f6015be7',
] as const;

let t: TestApp;
let answers: { readonly from: string; readonly text: string }[];
/** Secrets that the server made. */
let made: string[];
let ids: string[];

const keep = (from: string, { body, headers }: Answer): void => {
  const sent = [...headers].filter(([name]) => name !== 'set-cookie');
  answers.push({ from, text: JSON.stringify([body, sent]) });
};
const api = async (method: string, path: string, body?: unknown): Promise<Answer> => {
  const answer = await t.request(method, `/api/v1${path}`, body === undefined ? {} : { body });
  keep(`${method} ${path}`, answer);
  return answer;
};

beforeAll(async () => {
  answers = [];
  const [encryption, jwt, service] = KEYS;
  const secrets = { SVC_ENCRYPTION_KEY: encryption, SVC_JWT_SECRET: jwt, SVC_AGENT_SERVICE_TOKEN: service };
  t = await testApp(secrets, undefined, { writes_projects: true });
  connectHost(t.app);
  keep('setup', await t.request('POST', '/api/v1/auth/setup', { body: { username: 'ada', password: GIVEN.admin } }));
  const setup = (await t.request('POST', '/api/v1/auth/2fa/setup', { body: { password: GIVEN.admin } })).body;
  made = [String(setup['secret']), ...(setup['recovery_codes'] as string[])];
  const code = new TOTP({ secret: Secret.fromBase32(String(setup['secret'])) }).generate({
    timestamp: t.app.clock().getTime(),
  });
  await api('POST', '/auth/2fa/verify-setup', { code });
  const login = await t.request('POST', '/api/v1/auth/login', {
    anonymous: true,
    body: { username: 'ada', password: GIVEN.admin },
  });
  made.push(String(login.body['pending_token']));
  const token = await t.request('POST', '/api/v1/mcp-tokens', { body: { name: 'canary', all_toolsets: true } });
  expect(token.status).toBe(201);
  made.push(String(token.body['token']));
  await configure();
});
afterAll(() => t.close());

async function configure(): Promise<void> {
  const connection = await api('POST', '/connections', {
    name: 'shop',
    db_type: 'postgresql',
    host: '127.0.0.1',
    port: 1,
    database: 'shop',
    username: 'reader',
    password: GIVEN.password,
    ssl_mode: 'require',
    ssl_key: `${GIVEN.ssl_key}\n${generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' })}`,
  });
  expect(connection.status).toBe(201);
  const connection_id = String(connection.body['id']);
  await storeExtras(t.app, connection_id, { api_token: GIVEN.extra, application_name: 'sluice' });
  const tool = await api('POST', '/tools', { connection_id, name: 'one', description: 'One', sql_query: 'select 1 as one' });
  expect(tool.status).toBe(201);
  const config = await api('PATCH', '/server/config', {
    oauth_clients: [{ client_id: 'client', client_secret: GIVEN.oauth }],
    introspection_url: 'https://issuer.example/introspect',
    introspection_client_id: 'sluice',
    introspection_client_secret: GIVEN.introspection,
    dns_provider: 'cloudflare',
    dns_credentials: { api_token: GIVEN.dns },
  });
  expect(config.status).toBe(200);
  expect((await api('POST', '/deploy', { note: 'first' })).status).toBe(200);
  await until(() => readdirSync(join(t.directory, 'generated')).includes('1'));
  await api('PATCH', `/connections/${connection_id}`, { password: GIVEN.next_password, pool_size: 3 });
  await api('PATCH', '/auth/me', { current_password: GIVEN.wrong, username: 'eve' });
  expect((await api('POST', '/deploy', { note: 'second' })).status).toBe(200);
  ids = [connection_id, String(tool.body['id']), 'connection', 'server_config', 'admin', '1', '2'];
  await reportCalls(connection_id);
  const { items } = (await api('GET', '/history')).body as unknown as { items: { id: string; entity_id: string }[] };
  ids.push(...new Set(items.flatMap((item) => [item.id, item.entity_id])));
}

/** What a host tells of calls and refusals: the routes that show them are asked too. */
async function reportCalls(connection_id: string): Promise<void> {
  const logged: LoggedArguments = { called: 'one', arguments: { token: GIVEN.argument }, masked: [], left_out: [] };
  const sealed = createSealing<LoggedArguments>(t.app.env.SVC_ENCRYPTION_KEY, LOGGED_ARGUMENTS, LONGEST_SEALED).seal(logged);
  const called = { kind: 'tool', name: 'one', connection_id, client: 'client/1', error: 'sql_error', bytes: 1 } as const;
  const times = { timestamp: t.app.clock().toISOString(), duration_ms: 2, wait_ms: 1, rows: 0 };
  const failed = {
    ...called,
    ...times,
    error_message: 'syntax error',
    arguments: sealed,
    caller: { person: 'ada', token: null, client_id: null },
  };
  const refused = { timestamp: t.app.clock().getTime(), kind: 'unauthenticated', status: 401, reason: 'Unauthorized.' };
  const refusals = [{ ...refused, address: '127.0.0.1', client: null, called: null }];
  const report = { boot_id: 'boot', seq: 1, ...toBatch([failed]), refusals, refused: { unauthenticated: 1 } };
  const sent = await t.request('POST', '/api/internal/hosts/h1/usage', { body: report, headers: { 'x-service-token': KEYS[2] } });
  expect(sent.status).toBe(204);
  expect((await api('GET', '/logs/1')).body).toMatchObject({ error_message: 'syntax error', person: 'ada' });
  expect((await api('GET', '/logs/refusals')).body).toMatchObject({ total: 1, counts: { unauthenticated: 1 } });
}

/** As it is, and in the encodings that a library may choose; Base64 at each of its three alignments. */
function formsOf(secret: string): string[] {
  const bytes = Buffer.from(secret);
  const base64 = [0, 1, 2].map((shift) => {
    const text = Buffer.concat([Buffer.alloc(shift), bytes])
      .toString('base64')
      .replace(/=+$/, '');
    return text.slice(shift === 0 ? 0 : shift + 1, -2);
  });
  const url = base64.map((text) => text.replaceAll('+', '-').replaceAll('/', '_'));
  return [...new Set([secret, JSON.stringify(secret).slice(1, -1), bytes.toString('hex'), ...base64, ...url])];
}

const secrets = (): string[] => [...Object.values(GIVEN), ...KEYS, ...made];

function expectNone(texts: readonly { readonly from: string; readonly text: string }[], except: readonly string[] = []): void {
  const found = texts.flatMap(({ from, text }) =>
    secrets()
      .filter((secret) => !except.includes(secret) && formsOf(secret).some((form) => text.includes(form)))
      .map((secret) => `${from} holds ${secret}`),
  );
  expect(found).toEqual([]);
}

/** Every address that a path with variables stands for, with the ids that are known. */
function addresses(path: string): string[] {
  return pathVariables(path).reduce(
    (paths, name) => paths.flatMap((each) => ids.map((id) => each.replace(`{${name}}`, encodeURIComponent(id)))),
    [fullPath(path)],
  );
}

test('the search finds a secret in each of its forms', () => {
  for (const form of [
    GIVEN.password,
    Buffer.from(`ab${GIVEN.password}cd`).toString('base64'),
    Buffer.from(GIVEN.dns).toString('hex'),
  ]) {
    expect(() => expectNone([{ from: 'here', text: `x${form}y` }])).toThrow('here holds canary');
  }
});

test('no answer of any GET route, and none of a write, holds a secret', async () => {
  const reads = (Object.values(operations) as Operation[]).filter(({ method }) => method === 'GET');
  let answered = 0;
  for (const { path } of reads) {
    for (const address of addresses(path)) {
      const answer = await t.request('GET', address);
      if (answer.status === 200) answered += 1;
      expect([address, answer.status]).not.toEqual([address, 500]);
      keep(`GET ${address}`, answer);
    }
  }
  expect(answered).toBeGreaterThan(reads.length);
  const isDetail = ({ from }: { readonly from: string }) => /^GET (?:\/api\/v1)?\/logs\/1$/.test(from);
  expectNone(answers.filter((answer) => !isDetail(answer)));
  const details = answers.filter(isDetail);
  expect(details.every(({ text }) => text.includes(GIVEN.argument))).toBe(true);
  expectNone(details, [GIVEN.argument]);
}, 60_000);

test('no error holds a secret, also of a body that is wrong or a database that refuses it', async () => {
  const wrong = [
    { name: GIVEN.wrong, db_type: 'postgresql', password: { value: GIVEN.wrong } },
    { name: 'other', db_type: 'mysql', password: GIVEN.wrong, port: GIVEN.wrong },
    { name: 'other', db_type: 'mysql', host: '127.0.0.1', port: 1, [GIVEN.wrong]: 1, password: GIVEN.wrong },
  ];
  const login = { name: 'draft', username: 'root', password: GIVEN.wrong };
  const refused: { from: string; text: string }[] = [];
  const ask = async (path: string, body: unknown, accept: string) => {
    const answer = await t.request('POST', `/api/v1${path}`, { body, headers: { accept } });
    refused.push({ from: path, text: JSON.stringify(answer.body) });
    return answer;
  };
  for (const accept of ['application/json', 'application/problem+json']) {
    for (const body of wrong.slice(0, 2)) await ask('/connections', body, accept);
    await ask('/auth/login', { username: 'ada', password: GIVEN.wrong }, accept);
    await ask('/auth/2fa/disable', { password: GIVEN.wrong, code: '1' }, accept);
    const down = { db_type: 'postgresql', host: '127.0.0.1', port: 1, database: 'x' };
    expect((await ask('/connections/test', { ...login, ...down }, accept)).body).toMatchObject({
      success: false,
      code: 'refused',
    });
    if (!reachable.mysql) continue;
    const mysql = { db_type: 'mysql', host: '127.0.0.1', port: 3306, database: 'test' };
    const denied = await ask('/connections/test', { ...login, ...mysql }, accept);
    expect(denied.body).toMatchObject({ success: false, code: 'auth_failed' });
  }
  expectNone(refused);
});

test('no log line holds a secret', () => {
  expect(t.log.length).toBeGreaterThan(0);
  expectNone(t.log.map((line) => ({ from: `log ${line.message}`, text: JSON.stringify(line) })));
});

test('no file holds a secret: not the database as it lies on the disk, not the generated project', async () => {
  const files = filesBelow(t.directory).map(({ path, text }) => ({ from: relative(t.directory, path), text }));
  expect(files.map(({ from }) => from)).toContain('sluice.sqlite');
  expect(files.filter(({ from }) => from.startsWith('generated/')).length).toBeGreaterThan(3);
  expectNone(files);
  // They lie there compressed.
  const blobs = await t.app.store.db.select().from(t.app.store.tables.blobs);
  expect(blobs.length).toBeGreaterThan(0);
  expectNone(blobs.map(({ kind, hash, text }) => ({ from: `${kind} ${hash}`, text })));
});
