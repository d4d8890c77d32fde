import { Database } from 'bun:sqlite';
import { expect } from 'bun:test';
import { toJsonSchema } from '@valibot/to-json-schema';
import { fc } from '#test/support/chance.ts';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { operations } from '#core/contract/index.ts';
import { UsageBatch } from '#core/contract/observe/usage-batch.ts';
import { ERROR_STATUS } from '#core/errors.ts';
import { openApi } from '#server/http/openapi.ts';
import { type Answer, isErrorBody, type TestApp } from '#test/support/app.ts';
import {
  CANARY,
  likely,
  type Mutation,
  mutateAll,
  mutations,
  objectOf,
  type Schema,
  toJson,
  UNKNOWN_FIELD,
  valueOf,
} from './fuzz-values.ts';

export interface FuzzedRequest {
  readonly name: string;
  readonly method: string;
  readonly path: string;
  readonly raw: string | null;
  readonly headers: Record<string, string>;
}

interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query';
  readonly schema: Schema;
}

interface Described {
  readonly operationId: string;
  readonly parameters: readonly Parameter[];
  readonly requestBody?: { readonly content: { readonly 'application/json'?: { readonly schema: Schema } } };
}

/** Hash a password, wait for hosts, dial, end the session or take away what others need: these are never sent whole. */
const NEVER_WHOLE = new Set<string>([
  'auth.setup',
  'auth.login',
  'auth.logout',
  'auth.update_me',
  'auth.revoke_session',
  'two_factor.disable',
  'two_factor.regenerate_recovery',
  'mcp_tokens.create',
  'mcp_tokens.rotate',
  'deploy.run',
  'connections.test',
  'connections.test_draft',
  'connections.delete',
  'tools.delete',
  'history.rollback',
] satisfies (keyof typeof operations)[]);
const BROKEN = ['{', '[]', '"a"', 'null', '1', '{"a":1}x', '\ufeff{}', '\0', '['.repeat(5_000), `{"${CANARY}`, ''];

const mostly = <T>(usual: T, ...others: readonly T[]): fc.Arbitrary<T> =>
  fc.oneof({ weight: 16, arbitrary: fc.constant(usual) }, { weight: 1, arbitrary: fc.constantFrom(...others) });

const headers = fc
  .record({
    accept: fc.constantFrom('application/json', 'application/problem+json', 'text/html', '*/*'),
    'content-type': mostly('application/json', 'application/json; charset=utf-8', 'text/plain', 'multipart/form-data', CANARY),
    'x-request-id': mostly(undefined, 'mine', `${CANARY} {}`, CANARY.repeat(90)),
    'x-forwarded-for': mostly(undefined, CANARY, '10.0.0.1, 10.0.0.2', '::ffff:1.2.3.4', ',,,'),
    authorization: mostly(undefined, `Bearer svc_${CANARY}`, 'Basic Og=='),
    origin: mostly(undefined, 'http://localhost', 'null', `https://${CANARY}.example`, CANARY),
    host: mostly('localhost', '127.0.0.1:3000', `${CANARY}.example`, ''),
    'user-agent': mostly(undefined, CANARY.repeat(200)),
    'x-http-method-override': mostly(undefined, 'DELETE'),
  })
  .map((given) => Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)) as Record<string, string>);

const ids = fc.constantFrom(
  CANARY,
  `${CANARY}%00`,
  `${CANARY}%ED%A0%80`,
  `%E0%A4%A${CANARY}`,
  `%2e%2e%2f${CANARY}`,
  '..;',
  "'%20or%20'1'%3D'1",
  '0190b0c0-0000-7000-8000-000000000000',
  '99999999999999999999',
  '-1',
  '0',
  '1e9',
  'constructor',
  CANARY.repeat(200),
);

/** One request to any operation of the contract: as it may be, and then wrong in places. */
export function anyRequest(given: Readonly<Record<string, string>>): fc.Arbitrary<FuzzedRequest> {
  const known = likely(given);
  const paths = openApi()['paths'] as Record<string, Record<string, Described>>;
  const requests = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      // A stream has no end to wait for.
      .filter(([, { operationId }]) => operationId !== 'deploy.logs')
      .map(([method, described]) => requestTo(method.toUpperCase(), path, described, known)),
  );
  return fc.oneof(...requests, elsewhere);
}

function requestTo(
  method: string,
  path: string,
  described: Described,
  known: ReturnType<typeof likely>,
): fc.Arbitrary<FuzzedRequest> {
  const { operationId: name, parameters, requestBody } = described;
  const variables = parameters.filter((parameter) => parameter.in === 'path');
  const queries = parameters.filter((parameter) => parameter.in === 'query');
  const text = (value: unknown): string => (typeof value === 'string' ? value.replaceAll('@@', '') : JSON.stringify(value));
  const never_whole = NEVER_WHOLE.has(name);
  // The other bodies are files.
  const json = requestBody?.content['application/json'];
  return fc
    .record({
      variables: fc.tuple(
        ...variables.map((variable) =>
          fc.oneof(
            {
              weight: 2,
              arbitrary: valueOf(variable.name, variable.schema, known).map((value) => encodeURIComponent(text(value))),
            },
            { weight: 1, arbitrary: ids },
          ),
        ),
      ),
      query: objectOf({ properties: Object.fromEntries(queries.map((query) => [query.name, query.schema])) }, known),
      query_mutations: fc.oneof({ weight: 2, arbitrary: fc.constant<Mutation[]>([]) }, { weight: 1, arbitrary: mutations }),
      body: json === undefined ? fc.constant({}) : objectOf(json.schema, known),
      body_mutations: mutations,
      broken: fc.oneof({ weight: 12, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: fc.constantFrom(...BROKEN) }),
      headers,
    })
    .map((one) => {
      let url = path;
      for (const [index, variable] of variables.entries()) url = url.replace(`{${variable.name}}`, one.variables[index] ?? '');
      const query = mutateAll(one.query, one.query_mutations) as Record<string, unknown>;
      const search = Object.entries(query)
        .map(
          ([key, value]) =>
            `${encodeURIComponent(key)}=${encodeURIComponent(text(value).replaceAll(/[\ud800-\udfff]/g, '\ufffd'))}`,
        )
        .join('&');
      const with_body = method === 'POST' || method === 'PATCH';
      const body = mutateAll(one.body, one.body_mutations) as Record<string, unknown>;
      const sent = never_whole ? { ...body, [UNKNOWN_FIELD]: CANARY } : body;
      const broken = never_whole && one.broken !== null ? '{' : one.broken;
      const ended = never_whole && !with_body ? `?${UNKNOWN_FIELD}=1` : search === '' ? '' : `?${search}`;
      return { name, method, path: url + ended, raw: with_body ? (broken ?? toJson(sent)) : null, headers: one.headers };
    });
}

/** What a host tells and the agent asks, with the right service token, and wrong in places. */
export function anyProgramRequest(service_token: string): fc.Arbitrary<FuzzedRequest> {
  const batch = toJsonSchema(UsageBatch, { typeMode: 'input', errorMode: 'ignore' }) as Schema;
  const text: Schema = { type: 'string' };
  const authorize: Schema = {
    properties: { token: text, client_address: text, calls: { type: 'array', items: text } },
    required: ['token', 'client_address', 'calls'],
  };
  const grant: Schema = {
    properties: { client_address: text, grant_type: text, client_id: text, client_secret: text, refresh_token: text },
  };
  const known = {
    boot_id: ['b1', 'b2'],
    // Of a line, and of the calls of a batch: their columns are lists of one length.
    timestamp: ['2026-03-01T11:00:00Z', '2026-03-01T11:30:00Z', [1_772_362_800_000, 1_772_364_599_999]],
    group: [
      [0, 0],
      [0, 1],
    ],
    duration_ms: [[0.5, 12]],
    wait_ms: [[0, 1e-7]],
    rows: [[0, 2 ** 31 - 1]],
    bytes: [[0, 1e12]],
    database_ms: [[0, 11.5]],
    tokens: [[0, 90]],
    error: [
      [null, null],
      ['timeout', null],
    ],
    seq: [1, 2, 3],
    token: [`svc_${'a'.repeat(40)}`, `svc_at_${CANARY}`],
    grant_type: ['client_credentials', 'refresh_token'],
    client_address: ['192.0.2.1', null],
  };
  const addressed = fc.oneof(
    { weight: 2, arbitrary: fc.record({ path: fc.constant('/api/internal/hosts/h1/usage'), body: objectOf(batch, known) }) },
    fc.record({
      path: fc.constantFrom('/api/internal/hosts/h1/ack', '/api/internal/hosts/h1/leave'),
      body: objectOf(batch, known),
    }),
    fc.record({ path: fc.constant('/api/internal/agent/authorize'), body: objectOf(authorize, known) }),
    fc.record({ path: fc.constant('/api/internal/agent/token'), body: objectOf(grant, known) }),
  );
  return fc.record({ addressed, changes: mutations, headers }).map(({ addressed: { path, body }, changes, headers: given }) => ({
    name: path,
    method: 'POST',
    path,
    raw: toJson(mutateAll(body, changes)),
    headers: { ...given, 'x-service-token': service_token },
  }));
}

/** Addresses and methods that no operation has. */
const elsewhere: fc.Arbitrary<FuzzedRequest> = fc
  .record({
    method: fc.constantFrom('GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'),
    path: fc.constantFrom(
      `/api/v1/${CANARY}`,
      '/api/v1/tools/',
      '/api/v1//tools',
      '/api/v1/tools/a/b/c',
      `/api/docs/assets/${CANARY}`,
      '/api/docs/assets/constructor',
      `/assets/${CANARY}.js`,
      '/assets/..%2f..%2fpackage.json',
      '/api/internal/hosts/stream',
      `/.well-known/${CANARY}`,
      '/api/v1/deploy/logs?level=nothing',
    ),
    headers,
  })
  .map((one) => ({ ...one, name: 'elsewhere', raw: null }));

const STATUSES = new Set<number>(Object.values(ERROR_STATUS));
const OWN_WORDS = new Set(['sql_error', 'not_read_only']);

/** Sends it, checks the answer and takes away what it created. */
export async function sendAndCheck(t: TestApp, request: FuzzedRequest): Promise<number> {
  const { method, path, raw: body, headers: given } = request;
  const answer = await t.request(method, path, { headers: given, ...(body === null ? {} : { raw: body }) });
  checkAnswer(request, answer);
  const noun = /^\/api\/v1\/([\w-]+)/.exec(path)?.[1];
  const id = answer.body['id'];
  if (answer.status === 201 && typeof id === 'string') await t.request('DELETE', `/api/v1/${noun}/${id}`);
  return answer.status;
}

/** What holds of every answer, whatever was asked (contract section 1). */
function checkAnswer({ name, method }: FuzzedRequest, { status, headers: sent, body }: Answer): void {
  expect(sent.get('x-request-id') ?? '').toMatch(/^[\w.-]{1,128}$/);
  expect(sent.get('x-content-type-options')).toBe('nosniff');
  expect(sent.get('content-security-policy')).toContain("frame-ancestors 'none'");
  if (status < 400) return;
  expect(status).not.toBe(500);
  expect(STATUSES).toContain(status);
  const problem = sent.get('content-type') === 'application/problem+json';
  if (!problem) expect(sent.get('content-type')).toBe('application/json');
  if (method === 'HEAD') return;
  if (problem) {
    expect(
      Object.keys(body)
        .filter((key) => key !== 'position')
        .sort(),
    ).toEqual(['code', 'detail', 'errors', 'request_id', 'status', 'title', 'type']);
    expect(body).toMatchObject({ type: 'about:blank', status });
    expect(isErrorBody({ detail: body['detail'] })).toBe(true);
  } else {
    expect(isErrorBody(body)).toBe(true);
  }
  // A database speaks for itself, and an import names what it refuses.
  const quotes = OWN_WORDS.has(String(body['code'])) || (status === 400 && !problem) || name === 'transfer.import';
  if (!quotes) expect(JSON.stringify([body, [...sent]])).not.toContain(CANARY);
}

/** Connections, a tool and a history entry that requests can name. */
export async function prepare(t: TestApp): Promise<Record<string, string>> {
  await t.signIn();
  mkdirSync(join(t.directory, 'databases'));
  const db = new Database(join(t.directory, 'databases/shop.sqlite'));
  db.run('create table products (id integer primary key, name text not null)');
  db.run("insert into products values (1, 'Atlas'), (2, 'Basket')");
  db.close();
  const post = async (path: string, body: unknown) => String((await t.request('POST', `/api/v1${path}`, { body })).body['id']);
  const connection = await post('/connections', { name: 'shop', db_type: 'sqlite', database: 'shop.sqlite' });
  const down = await post('/connections', { name: 'down', db_type: 'postgresql', host: '127.0.0.1', port: 1, database: 'x' });
  const tool = await post('/tools', {
    connection_id: connection,
    name: 'kept',
    description: 'Kept',
    sql_query: 'select 1 as one',
  });
  const { items } = (await t.request('GET', '/api/v1/history')).body as unknown as { items: { id: string }[] };
  return { connection, down, tool, history: items[0]?.id ?? '' };
}
