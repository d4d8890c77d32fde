import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import * as v from 'valibot';
import { operations } from '#core/contract/index.ts';
import { fullPath } from '#core/contract/paths.ts';
import type { Operation } from '#core/contract/operation.ts';
import { type TestApp, testApp } from '#test/support/app.ts';
import { ADDED, ADDED_FIELDS, AGENT_TOOLS, ANSWERS, DEFAULTS, NOT_BUILT, PAGES, SPECIFIED } from './specification-tables.ts';

interface Entries {
  readonly entries: Readonly<Record<string, v.GenericSchema & { readonly wrapped?: unknown }>>;
}

const addressOf = ({ method, path }: Operation): string => `${method} ${fullPath(path)}`;
const built = new Map((Object.values(operations) as Operation[]).map((definition) => [addressOf(definition), definition]));
const addresses = (rows: readonly (readonly [string, string, string])[]): string[] =>
  rows.map(([, method, path]) => `${method} ${path}`);
const specified = SPECIFIED.map(([method, path]) => `${method} ${path}`);
const not_built = new Set(addresses(NOT_BUILT));
const words = (text: string): string[] => text.split(' ').filter((word) => word !== '');

/** The schema of one field of a request. */
function fieldOf(address: string, field: string): v.GenericSchema {
  const definition = built.get(address);
  const schema = definition === undefined ? undefined : (definition.input as unknown as Entries).entries[field];
  if (schema === undefined) throw new Error(`${address} has no ${field}`);
  return schema;
}

/** The fields of a request as the tables write them. */
function fieldsOf({ input }: Operation): string[] {
  return Object.entries((input as unknown as Entries).entries).map(([name, schema]) =>
    v.safeParse(schema, undefined).success ? name : `${name}!`,
  );
}

/** The fields of an answer; those of every form it may have. */
function answerFields(schema: unknown): string[] {
  const { entries, options } = schema as { entries?: object; options?: readonly unknown[] };
  return entries === undefined ? (options ?? []).flatMap(answerFields) : Object.keys(entries);
}

test('every endpoint of the specification exists or is listed as not built yet, in one of the two', () => {
  expect(specified.filter((address) => built.has(address) === not_built.has(address))).toEqual([]);
  expect([...not_built].filter((address) => !specified.includes(address))).toEqual([]);
});

test('every other operation is one that the contract adds', () => {
  const others = [...built.keys()].filter((address) => !specified.includes(address) && !address.includes(AGENT_TOOLS));
  expect(others.sort()).toEqual(addresses(ADDED).sort());
});

test('operations of agent tools alone belong to a tool of the agent', () => {
  const tools = [...built.values()].filter(({ path }) => fullPath(path).startsWith(AGENT_TOOLS));
  for (const { method, path } of tools) {
    expect([method, fullPath(path)]).toEqual(['POST', expect.stringMatching(/^\/api\/v1\/agent-tools\/[a-z_]+$/)]);
  }
});

describe('requests', () => {
  const rows = SPECIFIED.filter(([method, path]) => !not_built.has(`${method} ${path}`));
  test.each(rows)('%s %s takes its fields, and the contract’s', (method, path, fields) => {
    const address = `${method} ${path}`;
    const definition = built.get(address);
    if (definition === undefined) throw new Error(`${address} is missing`);
    // PATCH takes what POST adds, too.
    const more = ADDED_FIELDS[address] ?? (method === 'PATCH' ? ADDED_FIELDS[`POST ${path.replace('/{id}', '')}`] : undefined);
    expect(fieldsOf(definition).sort()).toEqual([...words(fields), ...words(more ?? '')].sort());
  });

  test('no field is added to an endpoint that is not there', () => {
    expect(Object.keys(ADDED_FIELDS).filter((address) => !specified.includes(address))).toEqual([]);
  });
});

test('answers hold the fields that the specification names', () => {
  for (const [address, fields] of Object.entries(ANSWERS)) {
    const present = answerFields(built.get(address)?.output);
    expect([address, words(fields).filter((field) => !present.includes(field))]).toEqual([address, []]);
  }
  expect(answerFields(operations['auth.login'].output)).toContain('pending_token');
});

test('lists are envelopes with the limits of section 8', () => {
  for (const [path, most] of Object.entries(PAGES)) {
    const skip = fieldOf(`GET ${path}`, 'skip');
    const limit = fieldOf(`GET ${path}`, 'limit');
    expect([path, v.parse(skip, undefined), v.parse(limit, undefined)]).toEqual([path, 0, 50]);
    expect([v.is(limit, most), v.is(limit, most + 1), v.is(limit, 0), v.is(skip, -1)]).toEqual([true, false, false, false]);
    expect(answerFields(built.get(`GET ${path}`)?.output).sort()).toEqual(['items', 'total']);
  }
});

test('only the endpoints of section 5 are open to everybody', () => {
  const open = [...built].filter(([, { access }]) => access === 'public').map(([address]) => address);
  expect(open.sort()).toEqual([
    'GET /api/health',
    'GET /api/v1/auth/status',
    'GET /api/v1/oauth/requests/{id}',
    'POST /api/v1/auth/accept-invite',
    'POST /api/v1/auth/accept-invite/provider',
    'POST /api/v1/auth/login',
    'POST /api/v1/auth/login/verify-2fa',
    'POST /api/v1/auth/logout',
    'POST /api/v1/auth/setup',
    'POST /api/v1/oauth/requests/{id}',
  ]);
});

describe('values of the specification', () => {
  const parse = (address: string, field: string, value: unknown): boolean => v.is(fieldOf(address, field), value);
  const CONFIG = 'PATCH /api/v1/server/config';
  const words_of: readonly (readonly [string, string, string])[] = [
    ['POST /api/v1/connections', 'ssl_mode', 'disable require verify-ca verify-full'],
    [CONFIG, 'transport', 'http sse stdio'],
    [CONFIG, 'auth_type', 'none bearer oauth_credentials oauth_introspection'],
    [CONFIG, 'acme_challenge', 'http-01 dns-01'],
    [CONFIG, 'log_level', 'DEBUG INFO WARNING ERROR'],
    ['GET /api/v1/metrics/timeseries', 'period', '1h 6h 24h 7d'],
  ];
  test.each(words_of)('%s %s is one of %s', (address, field, values) => {
    for (const value of words(values)) expect([value, parse(address, field, value)]).toEqual([value, true]);
    for (const value of ['nothing', '', 1]) expect(parse(address, field, value)).toBe(false);
  });

  const between: readonly (readonly [string, string, number, number])[] = [
    [CONFIG, 'token_ttl_seconds', 60, 604_800],
    [CONFIG, 'introspection_cache_ttl_seconds', 0, 3_600],
    ['POST /api/v1/tools', 'rate_limit_per_minute', 1, 100_000],
    ['POST /api/v1/agent-tokens', 'duration_minutes', 15, 7 * 24 * 60],
    ['POST /api/v1/oauth-clients', 'idle_timeout_minutes', 15, 24 * 60],
  ];
  test.each(between)('%s %s is between %i and %i', (address, field, least, most) => {
    expect([least - 1, least, most, most + 1].map((value) => parse(address, field, value))).toEqual([false, true, true, false]);
  });

  test('counts and lengths', () => {
    const clients = (count: number) => Array.from({ length: count }, (_, n) => ({ client_id: `c${n}`, client_secret: 's' }));
    expect([parse(CONFIG, 'oauth_clients', clients(10)), parse(CONFIG, 'oauth_clients', clients(11))]).toEqual([true, false]);
    const variables = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`v${n}`, n]));
    expect([parse(CONFIG, 'global_variables', variables(100)), parse(CONFIG, 'global_variables', variables(101))]).toEqual([
      true,
      false,
    ]);
    const named = (name: string) => parse(CONFIG, 'global_variables', { [name]: 'x' });
    expect(['_', 'a'.repeat(64), 'A1_'].map(named)).toEqual([true, true, true]);
    expect(['1a', 'a'.repeat(65), 'a-b', 'é', ''].map(named)).toEqual([false, false, false, false, false]);
    for (const value of ['text', 1, 1.5, true]) expect(parse(CONFIG, 'global_variables', { a: value })).toBe(true);
    const password = (text: string) => parse('POST /api/v1/auth/setup', 'password', text);
    expect([password('1234567'), password('12345678')]).toEqual([false, true]);
    const tool = { connection_id: 'c', name: 'n', description: 'd', sql_query: 'select 1' };
    const batch = (count: number) =>
      parse(
        `POST ${AGENT_TOOLS}create_tools_batch`,
        'tools',
        Array.from({ length: count }, () => tool),
      );
    expect([batch(50), batch(51)]).toEqual([true, false]);
  });
});

describe('a fresh installation', () => {
  let t: TestApp;
  beforeAll(async () => {
    t = await testApp();
    await t.signIn();
  });
  afterAll(() => t.close());

  test('has the settings of section 2.6', async () => {
    expect(await t.call('config.get', {})).toMatchObject(DEFAULTS);
  });

  test('serves what is no operation: the live log and the documentation pages', async () => {
    expect((await t.request('GET', '/api/v1/deploy/logs', { anonymous: true })).status).toBe(401);
    for (const path of ['/api/docs', '/api/redoc']) {
      const { status, headers } = await t.request('GET', path, { anonymous: true });
      expect([status, headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
    }
  });

  test('has one of the four states, and begins stopped', async () => {
    expect((await t.call('deploy.status', {})).status).toBe('stopped');
  });
});
