import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { operations } from '#core/contract/index.ts';
import type { Operation } from '#core/contract/operation.ts';
import { readJson } from '#server/request/body.ts';
import { isErrorBody, type TestApp, testApp } from '#test/support/app.ts';
import { reachable, testDatabase } from '#test/support/databases.ts';

let t: TestApp;
beforeAll(async () => {
  t = await testApp();
  await t.signIn();
});
afterAll(() => t.close());

const entries = async (): Promise<number> => Number((await t.request('GET', '/api/v1/history')).body['total']);

/** A prompt needs no database, so a refusal is one of its fields. */
const prompt = (over: object = {}) => ({ name: 'greet', description: 'Greets', template: 'Hello', ...over });
const send = (raw: string, path = '/api/v1/prompts') => t.request('POST', path, { raw });

describe('a body is refused when it would not come back as it was sent', () => {
  const cases: readonly (readonly [string, string, string])[] = [
    [
      'a NUL character',
      JSON.stringify(prompt({ description: 'a\0b' })),
      'description contains a NUL character or half a character.',
    ],
    [
      'half a surrogate pair',
      JSON.stringify(prompt({ title: 'x\ud83d' })),
      'title contains a NUL character or half a character.',
    ],
    [
      'such a text deep inside',
      JSON.stringify(prompt({ arguments: [{ name: 'a', description: '\0' }] })),
      'arguments.0.description contains',
    ],
    ['such a text as a name', JSON.stringify(prompt({ 'a\0': 1 })), 'in a name.'],
    [
      'a number beyond every number',
      '{"name":"greet","description":"x","template":"y","arguments":[{"name":"a","enum":[1e400]}]}',
      'number that is too large',
    ],
  ];
  test.each(cases)('%s', async (_, raw, sentence) => {
    const before = await entries();
    const answer = await send(raw);
    expect([answer.status, isErrorBody(answer.body)]).toEqual([422, true]);
    expect(answer.body['detail']).toContain(sentence);
    expect(await entries()).toBe(before);
  });

  test('bytes that are no UTF-8', async () => {
    const { createHttp } = await import('#server/http/http.ts');
    const body = Buffer.concat([Buffer.from('{"username":"a'), Buffer.from([0xc3, 0x28]), Buffer.from('"}')]);
    const headers = { host: 'localhost', 'content-type': 'application/json' };
    const answer = await createHttp(t.app).request('http://localhost/api/v1/auth/login', { method: 'POST', headers, body });
    expect([answer.status, await answer.json()]).toEqual([400, { detail: 'The body is not valid UTF-8.' }]);
  });

  test('a minimum that JSON text can hold and no number can', async () => {
    const connection = { name: 'minimum', db_type: 'postgresql', host: '127.0.0.1', port: 1, database: 'x' };
    const { id } = (await t.request('POST', '/api/v1/connections', { body: connection })).body;
    const answer = await send(
      `{"connection_id":"${String(id)}","name":"m","description":"m","sql_query":"select :a","parameters":[{"name":"a","type":"number","minimum":-1e999}]}`,
      '/api/v1/tools',
    );
    expect(answer.status).toBe(422);
  });
});

describe.if(reachable.postgres)('in PostgreSQL', () => {
  test('a NUL character is refused in a body, a filter and an address, and filters are literal', async () => {
    const database = await testDatabase('postgresql');
    const { host, port, username, database: name } = database.settings;
    const p = await testApp({}, `postgres://${username}@${host}:${port}/${name}`);
    try {
      await p.signIn();
      const created = await p.request('POST', '/api/v1/prompts', { body: prompt({ name: 'kept', description: 'a\0' }) });
      const named = await p.request('POST', '/api/v1/mcp-tokens', { body: { name: 'a\0b', all_toolsets: true } });
      const filtered = await p.request('GET', '/api/v1/prompts?search=%00');
      const addressed = await p.request('GET', '/api/v1/prompts/a%00');
      expect([created, named, filtered, addressed].map(({ status }) => status)).toEqual([422, 422, 422, 404]);
      await expectLiteralFilters(p);
    } finally {
      await p.close();
      await database.drop();
    }
  });
});

describe('JSON', () => {
  test('nested 64 deep is judged by its fields, one deeper is not looked at', async () => {
    const nested = (depth: number) => `{"extra":${'['.repeat(depth)}${']'.repeat(depth)}}`;
    const fits = await send(nested(63));
    expect([fits.status, fits.body['detail']]).toEqual([422, expect.stringContaining('extra is not a known field')]);
    const deep = await send(nested(64));
    expect([deep.status, deep.body['detail']]).toEqual([422, 'The body is nested more than 64 levels deep.']);
    expect((await send('['.repeat(500_000))).status).toBe(400);
  });

  test('a key that an object has twice is refused by its name, at any depth', async () => {
    const twice = await send('{"name":"x","description":"one","description":"two"}');
    const sentence = (key: string) => `The body has the key "${key}" twice in one object. Send each key once.`;
    expect([twice.status, twice.body['detail']]).toEqual([400, sentence('description')]);
    const deep = await send('{"name":"x","arguments":[{"name":"a"},{"name":"b","n\\u0061me":"c"}]}');
    expect([deep.status, deep.body['detail']]).toEqual([400, sentence('name')]);
    const client = await t.request('POST', '/oauth/register', {
      anonymous: true,
      raw: '{"redirect_uris":[],"redirect_uris":[]}',
    });
    expect([client.status, client.body]).toEqual([
      400,
      { error: 'invalid_client_metadata', error_description: sentence('redirect_uris') },
    ]);
    expect((await t.call('prompts.list', { search: 'x' })).total).toBe(0);
  });

  test('names that every object has are no field names, at any depth and in a query', async () => {
    for (const name of ['__proto__', 'constructor', 'prototype', 'toString', 'valueOf', 'hasOwnProperty', '__defineGetter__']) {
      for (const raw of [`{"${name}":1}`, `{"arguments":[{"${name}":{"polluted":true}}]}`, `{"arguments":{"a":{"${name}":1}}}`]) {
        const answer = await send(raw);
        expect([answer.status, answer.body['detail']]).toEqual([422, `${name} is not allowed as a field name.`]);
      }
      expect((await t.request('GET', `/api/v1/prompts?${name}=1`)).status).toBe(422);
    }
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  });

  test('very long lists and texts are refused by their length, quickly', async () => {
    const long = 'x'.repeat(900_000);
    const list = Array.from({ length: 100_000 }, () => ({}));
    for (const over of [{ name: long }, { description: long }, { tags: list }, { arguments: list }, { enabled: long }]) {
      const started = performance.now();
      const answer = await t.request('POST', '/api/v1/prompts', { body: prompt(over) });
      expect([answer.status, isErrorBody(answer.body)]).toEqual([422, true]);
      expect(JSON.stringify(answer.body).length).toBeLessThan(100_000);
      expect(performance.now() - started).toBeLessThan(10_000);
    }
    expect((await t.request('GET', `/api/v1/prompts?tags=${'a,'.repeat(900)}b`)).status).toBe(200);
    expect((await t.request('GET', `/api/v1/prompts?search=${'%25'.repeat(200)}`)).status).toBe(200);
  });
});

test('a body that never ends is waited for within its limit, and a caller who leaves is no fault', async () => {
  const bodyOf = (start: (controller: ReadableStreamDefaultController<Uint8Array>) => void) =>
    new Request('http://localhost/', {
      method: 'POST',
      body: new ReadableStream<Uint8Array>({ start }),
      headers: { 'content-type': 'application/json' },
    });
  const slow = bodyOf((controller) => controller.enqueue(Buffer.from('{"a":')));
  expect(await readJson(slow, 1_024, 50).catch((error: unknown) => error)).toMatchObject({ code: 'bad_request' });
  const gone = bodyOf((controller) => controller.error(new Error('gone')));
  expect(await readJson(gone, 1_024, 50).catch((error: unknown) => error)).toMatchObject({ code: 'cancelled' });
  const fine = bodyOf((controller) => {
    controller.enqueue(Buffer.from('{"a":'));
    controller.enqueue(Buffer.from('1}'));
    controller.close();
  });
  expect(await readJson(fine, 1_024, 50)).toEqual({ a: 1 });
});

/** Tags and searches are texts, whatever a pattern language or JSON makes of their characters. */
async function expectLiteralFilters(on: TestApp): Promise<void> {
  const tags = ['plain', 'a"b', 'back\\slash', '100%', 'under_score'];
  for (const [n, tag] of tags.entries()) {
    const body = prompt({ name: `tagged_${n}`, description: `about ${tag}`, tags: [tag] });
    expect((await on.request('POST', '/api/v1/prompts', { body })).status).toBe(201);
  }
  const found = async (query: string) => {
    const { body } = await on.request('GET', `/api/v1/prompts?${query}`);
    return (body as { items: { tags: string[] }[] }).items.flatMap((item) => item.tags);
  };
  for (const tag of tags) {
    expect(await found(`tags=${encodeURIComponent(tag)}`)).toEqual([tag]);
    expect(await found(`search=${encodeURIComponent(tag)}`)).toEqual([tag]);
  }
  for (const tag of ['%25', '_', 'PLAIN', 'plai_', '"', '","']) expect(await found(`tags=${tag}`)).toEqual([]);
}

test('a filter takes a text as it is', async () => {
  const fresh = await testApp();
  try {
    await fresh.signIn();
    await expectLiteralFilters(fresh);
  } finally {
    await fresh.close();
  }
});

test('a query parameter that an operation does not take is refused, not passed over', async () => {
  const before = await entries();
  const answer = await t.request('POST', '/api/v1/deploy?dry_run=true', { body: {} });
  expect([answer.status, answer.body['detail']]).toEqual([422, 'dry_run is not a query parameter of this operation.']);
  expect(await entries()).toBe(before);
});

test('nobody’s body is read: who is not signed in hears nothing else', async () => {
  for (const [, definition] of Object.entries(operations) as [string, Operation][]) {
    if (definition.access === 'public' || definition.method === 'GET' || definition.method === 'DELETE') continue;
    const path = `/api/v1${definition.path.replaceAll(/\{\w+\}/g, 'a')}`;
    for (const raw of ['{', JSON.stringify({ nonsense: 1 }), 'x'.repeat(2_000_000)]) {
      const answer = await t.request(definition.method, path, { anonymous: true, raw });
      expect([path, answer.status]).toEqual([path, 401]);
    }
  }
});

test('a fault inside tells the caller nothing but where to look, and the log no value', async () => {
  const broken = await testApp();
  try {
    await broken.signIn();
    await broken.app.store.write(async (tx) => void (await tx.run('drop table prompts')));
    const headers = { accept: 'application/problem+json' };
    const answer = await broken.request('GET', '/api/v1/prompts/zqcanary?', { headers });
    expect(answer.status).toBe(500);
    expect(Object.keys(answer.body).sort()).toEqual(['code', 'detail', 'errors', 'request_id', 'status', 'title', 'type']);
    const line = broken.log.find(({ fields }) => fields['request_id'] === answer.body['request_id']);
    expect(line?.level).toBe('ERROR');
    expect(line?.fields['reason']).toContain('no such table');
    for (const text of [JSON.stringify(answer.body), JSON.stringify(line)]) expect(text).not.toContain('zqcanary');
    expect(answer.body['detail']).not.toContain('prompts');
  } finally {
    await broken.close();
  }
});

test('what was read with a session is kept by no cache', async () => {
  for (const path of ['/api/v1/auth/me', '/api/v1/server/config', '/api/v1/nothing']) {
    expect((await t.request('GET', path)).headers.get('cache-control')).toBe('no-store');
  }
});

describe('an address that a server must not dial', () => {
  let s: TestApp;
  beforeAll(async () => {
    s = await testApp({ SVC_ALLOW_PRIVATE_NETWORKS: 'false' });
    await s.signIn();
  });
  afterAll(() => s.close());

  const HOSTS = [
    '127.0.0.1',
    '127.1',
    '0',
    '2130706433',
    '0x7f000001',
    '0177.0.0.1',
    'localhost',
    'LOCALHOST.',
    '::1',
    '[::1]',
    '::ffff:127.0.0.1',
    '::ffff:7f00:1',
    '0.0.0.0',
    '::',
    '10.0.0.1',
    '172.16.0.1',
    '192.168.1.1',
    '169.254.169.254',
    'fd00::1',
    'fe80::1%eth0',
    '64:ff9b::7f00:1',
    '100.64.0.1',
    '/var/run/postgresql',
    '127.0.0.1/x',
    '127.0.0.1:5432',
    'user@127.0.0.1',
    '127.0.0.1#.example.com',
    '１２７.0.0.1',
    '127。0。0。1',
  ];
  const draft = (host: string) => ({
    name: 'inside',
    db_type: 'postgresql',
    host,
    port: 5432,
    database: 'postgres',
    username: 'postgres',
  });

  test.each(HOSTS)(
    '%s is refused when it is written, and a test of it reaches nothing',
    async (host) => {
      const created = await s.request('POST', '/api/v1/connections', { body: draft(host) });
      // What is no address and has no name anywhere may be written; every dial checks it again.
      const tried = await s.request('POST', '/api/v1/connections/test', { body: draft(host) });
      // What is no address at all is refused before it is dialled.
      if (tried.status === 422) expect([created.status, isErrorBody(tried.body)]).toEqual([422, true]);
      else expect(tried.body['success']).toBe(false);
      if (tried.status === 200) expect(['private_network_blocked', 'dns_failed']).toContain(String(tried.body['code']));
      if (created.status === 201) {
        expect<string | undefined>(tried.body['code']).toBe('dns_failed');
        const stored = await s.request('POST', `/api/v1/connections/${String(created.body['id'])}/test`, { body: {} });
        expect(stored.body).toMatchObject({ success: false, code: 'dns_failed' });
        await s.request('DELETE', `/api/v1/connections/${String(created.body['id'])}`);
      } else {
        expect([created.status, isErrorBody(created.body)]).toEqual([422, true]);
      }
    },
    60_000,
  );

  test('neither by a PATCH of a connection that was fine', async () => {
    const { id, version } = (await s.request('POST', '/api/v1/connections', { body: draft('9.9.9.9') })).body;
    for (const host of ['127.0.0.1', '169.254.169.254', '[::ffff:10.0.0.1]']) {
      const answer = await s.request('PATCH', `/api/v1/connections/${String(id)}`, { body: { host } });
      expect([answer.status, isErrorBody(answer.body)]).toEqual([422, true]);
    }
    expect((await s.request('GET', `/api/v1/connections/${String(id)}`)).body).toMatchObject({ host: '9.9.9.9', version });
  });
});
