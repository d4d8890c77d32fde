import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { createPlayground, type Offer, type Playground } from '#ui/src/pages/playground/state.ts';
import { encoded, ERAS, refusalTitle } from '#ui/src/features/run/mcp-client.ts';
import { expand, fieldsOfSchema, fieldsOfTemplate, toEntered } from '#ui/src/features/run/schema-fields.ts';
import { toArguments } from '#ui/src/features/run/arguments.ts';
import { cellText } from '#core/lib/csv.ts';
import { estimateTokens } from '#core/lib/tokens.ts';
import { toResult } from '#ui/src/features/run/result.ts';
import { type Programs, removeFolder, startPrograms } from '#test/support/programs.ts';
import { until } from '#test/support/until.ts';

describe('arguments', () => {
  const fields = fieldsOfSchema({
    type: 'object',
    required: ['id', 'on'],
    properties: {
      id: { type: 'integer', minimum: 1 },
      on: { type: 'string', format: 'date', description: 'Day' },
      status: { type: 'string', enum: ['open', 'shipped'], default: 'open' },
      tags: { type: 'array', items: { type: 'integer' } },
      loud: { type: 'boolean', default: false },
      more: {},
    },
  });

  test('are fields of the schema’s types', () => {
    expect(fields.map(({ name, type, required }) => `${name}:${type}${required ? '!' : ''}`)).toEqual([
      'id:integer!',
      'on:date!',
      'status:string',
      'tags:array',
      'loud:boolean',
      'more:json',
    ]);
    expect(fields.find(({ name }) => name === 'status')).toMatchObject({ enum: ['open', 'shipped'], default: 'open' });
    expect(fieldsOfSchema(undefined)).toEqual([]);
  });

  test('are sent as their types, and an empty field is none', () => {
    const texts = { id: '7', on: '2026-01-01', status: undefined, tags: '1\n 2\n\n', loud: 'true', more: '{"a":[1]}' };
    const filled = toArguments(fields, texts);
    expect(filled).toEqual({ values: { id: 7, on: '2026-01-01', tags: [1, 2], loud: true, more: { a: [1] } }, errors: {} });
    expect(toArguments(fields, toEntered(filled.values)).values).toEqual(filled.values);
    const faults = toArguments(fields, { id: 'x', tags: '1\ntwo', more: '{' }).errors;
    expect(faults).toEqual({
      id: 'Enter a whole number.',
      on: 'This argument is required.',
      tags: 'Line 2: Enter a whole number.',
      more: 'Enter JSON, such as {"a": 1}.',
    });
    expect(toArguments(fields, { id: '9007199254740993', on: 'x' }).values['id']).toBe('9007199254740993');
  });

  test('of a template stand in its address', () => {
    expect(fieldsOfTemplate('shop://orders/{id}/{part}').map(({ name }) => name)).toEqual(['id', 'part']);
    expect(expand('shop://orders/{id}', { id: 'a b/ü' })).toBe('shop://orders/a%20b%2F%C3%BC');
    expect([encoded('orders_of'), encoded('Bestellungen für'), encoded('=?x')]).toEqual([
      'orders_of',
      '=?base64?QmVzdGVsbHVuZ2VuIGbDvHI=?=',
      '=?base64?PT94?=',
    ]);
  });
});

test('the duration of a call leaves out the time in which a person answers its question', async () => {
  let at = 1_000;
  const ok = { type: 'object', properties: { ok: { type: 'boolean' } } };
  const asks = { resultType: 'input_required', inputRequests: { q: { params: { message: 'Sure?', requestedSchema: ok } } } };
  const results = [asks, { content: [{ type: 'text', text: 'done' }] }];
  const p = createPlayground({
    now: () => at,
    send: (_, { body }) => {
      at += 20;
      const { id } = JSON.parse(body as string) as { id: number };
      const headers = { 'content-type': 'application/json', 'x-sluice-host': 'h1' };
      return Promise.resolve(new Response(JSON.stringify({ jsonrpc: '2.0', id, result: results.shift() }), { headers }));
    },
  });
  const offer = {
    key: 'tool:t',
    noun: 'tool',
    name: 't',
    title: undefined,
    description: '',
    uri: undefined,
    fields: [],
    listing: {},
  } as const;
  const called = p.run(offer, {});
  await until(() => p.question() !== undefined);
  at += 60_000;
  p.question()?.answer({ ok: true });
  expect(await called).toMatchObject({ ms: 40, result: { is_error: false } });
});

test('a result is a table when it has rows, and is measured as the model gets it', () => {
  const rows = {
    rows: [
      { a: 1, b: null },
      { a: 2, c: { d: 'x' } },
    ],
    row_count: 2,
    truncated: false,
  };
  const text = JSON.stringify(rows);
  const result = toResult({ content: [{ type: 'text', text }], structuredContent: rows });
  expect(result.table?.columns).toEqual(['a', 'b', 'c']);
  expect([result.bytes, result.json, result.is_error]).toEqual([text.length, rows, false]);
  expect(toResult({ contents: [{ uri: 'x', mimeType: 'application/json', text: '[1,2]' }] }).table?.rows).toEqual([
    { value: 1 },
    { value: 2 },
  ]);
  expect(toResult({ contents: [{ uri: 'x', mimeType: 'image/png', blob: 'AAAA' }] }).parts).toMatchObject([
    { kind: 'image', from: 'x' },
  ]);
  const prompt = toResult({ messages: [{ role: 'user', content: { type: 'text', text: 'Hello' } }] });
  expect([prompt.parts, prompt.table]).toEqual([
    [{ from: 'user', kind: 'text', mime_type: 'text/plain', data: 'Hello' }],
    undefined,
  ]);
  expect([estimateTokens('abcdefgh'), estimateTokens('日本語')]).toEqual([2, 3]);
  expect([null, 'a', 1, { b: 1 }].map(cellText)).toEqual(['', 'a', '1', '{"b":1}']);
});

test('a call that is too long to be kept over a reload leaves the others in place', async () => {
  let kept = '';
  const long = 'x'.repeat(1_500_000);
  const answers = ['{"a":1}', long, '{"b":2}'];
  const p = createPlayground({
    send: async (_, init) => {
      const { id, method } = JSON.parse(typeof init.body === 'string' ? init.body : '') as { id: number; method: string };
      const result = method === 'tools/call' ? { content: [{ type: 'text', text: answers.shift() }] } : {};
      return Response.json({ jsonrpc: '2.0', id, result }, { headers: { 'x-sluice-host': 'here' } });
    },
    runs: { read: () => undefined, write: (text) => void (kept = text ?? '') },
  });
  const offer: Offer = {
    key: 'tool:a',
    noun: 'tool',
    name: 'a',
    title: undefined,
    description: '',
    uri: undefined,
    fields: [],
    listing: {},
  };
  for (let n = 0; n < 3; n++) await p.run(offer, { n });
  expect(p.runs()).toHaveLength(3);
  expect((JSON.parse(kept) as { values: { n: number } }[]).map(({ values }) => values.n)).toEqual([2, 0]);
});

test('leaving the playground cancels what runs, and says so', async () => {
  let ended: AbortSignal | null | undefined;
  const p = createPlayground({
    send: (_, init) =>
      new Promise((_resolve, reject) => {
        ended = init.signal;
        init.signal?.addEventListener('abort', () => reject(new DOMException('', 'AbortError')));
      }),
  });
  const listed = { key: 'tool:a', noun: 'tool', name: 'a', title: undefined, description: '', uri: undefined } as const;
  const run = p.run({ ...listed, fields: [], listing: {} }, {});
  await p.close();
  expect(ended?.aborted).toBe(true);
  const { refusal } = (await run) ?? {};
  expect([refusal?.reason, refusal && refusalTitle(refusal)]).toEqual(['aborted', 'The call was cancelled']);
});

describe('with the real host', () => {
  let programs: Programs;
  let cookie = '';
  let ended = 0;
  beforeAll(async () => {
    programs = await startPrograms({ env: { SVC_DEMO: 'true' } });
    await programs.signIn();
    const login = await fetch(`${programs.url}/api/v1/auth/login`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ username: 'ada', password: 'correct horse' }),
    });
    cookie = login.headers.get('set-cookie')?.split(';')[0] ?? '';
    await until(async () => {
      const { hosts } = await programs.api<{ hosts: { url: string | null; snapshot_version: number | null }[] }>(
        'GET',
        '/deploy/status',
      );
      return hosts.some(({ url, snapshot_version }) => url !== null && snapshot_version !== null);
    });
  }, 60_000);
  afterAll(async () => {
    await programs.stop();
    removeFolder(programs);
  });

  const playground = (): Playground =>
    createPlayground({
      send: (path, init) =>
        fetch(`${programs.url}${path}`, { ...init, headers: { ...(init.headers as Record<string, string>), cookie } }),
      onSessionEnd: () => void (ended += 1),
    });
  const offer = (p: Playground, key: string): Offer => {
    const found = p.offers()?.find((candidate) => candidate.key === key);
    if (found === undefined)
      throw new Error(
        `There is no ${key} among ${p
          .offers()
          ?.map((other) => other.key)
          .join(', ')}`,
      );
    return found;
  };

  test.each(ERAS)('%s lists and calls tools, resources, templates and prompts', async (era) => {
    const p = playground();
    if (era !== p.era()) p.setEra(era);
    await p.load();
    expect([p.refusal(), p.offers()?.length]).toEqual([undefined, 8]);
    const sales = await p.run(offer(p, 'tool:sales_by_category'), {});
    expect(sales?.result?.table?.columns).toEqual(['category', 'pieces', 'turnover']);
    const request = sales?.exchanges.at(-1)?.request;
    expect(request?.headers['mcp-protocol-version']).toBe(era);
    expect(request?.headers['mcp-session-id'] === undefined).toBe(era === '2026-07-28');
    expect(sales?.exchanges.at(-1)?.answer).toMatchObject({ status: 200, headers: { 'content-type': 'application/json' } });
    const order = await p.run(offer(p, 'template:shop://orders/{id}'), { id: 3 });
    expect(order?.refusal).toBeUndefined();
    expect(order?.result?.parts[0]).toMatchObject({ mime_type: 'text/markdown', from: 'shop://orders/3' });
    expect((await p.run(offer(p, 'resource:shop://categories'), {}))?.result?.table?.columns).toEqual(['category', 'products']);
    const report = offer(p, 'prompt:sales_report');
    expect((await p.run(report, { from: '2026-01-01', to: '2026-02-01' }))?.result?.parts[0]?.data).toContain('2026-01-01');
    expect(await p.complete(report, 'audience', 'the')).toEqual(['the team', 'the management']);
    expect(p.runs()).toHaveLength(4);
    const wrong = await p.run(offer(p, 'tool:get_customer'), { email: 5 });
    expect([wrong?.result?.is_error, wrong?.refusal]).toEqual([true, undefined]);
    p.forget();
    expect([p.runs(), p.shown()]).toEqual([[], undefined]);
    await p.close();
  });

  test('a session that the host does not know is opened again', async () => {
    const p = playground();
    p.setEra('2025-11-25');
    await p.load();
    const first = await p.run(offer(p, 'tool:sales_by_category'), {});
    const session = first?.exchanges.at(-1)?.request.headers['mcp-session-id'] ?? '';
    const theirs = { method: 'DELETE', headers: { 'mcp-session-id': session, cookie } };
    // A session of the playground is that of a person: nobody else ends it.
    expect((await fetch(programs.mcp_url, theirs)).status).toBe(404);
    expect((await fetch(`${programs.url}/api/v1/playground/mcp`, theirs)).status).toBe(204);
    const second = await p.run(offer(p, 'tool:sales_by_category'), {});
    expect(second?.result?.is_error).toBe(false);
    expect(second?.exchanges.map(({ method, answer }) => [method, answer?.status])).toEqual([
      ['tools/call', 404],
      ['initialize', 200],
      ['notifications/initialized', 202],
      ['tools/call', 200],
    ]);
  });

  test('a server with access tokens refuses a wrong one, and a right one is in no stored message', async () => {
    await programs.api('PATCH', '/server/config', { auth_type: 'bearer' });
    const { token } = await programs.api<{ token: string }>('POST', '/mcp-tokens', { name: 'playground', all_toolsets: true });
    await programs.api('POST', '/deploy', {});
    await until(async () => (await fetch(programs.mcp_url, { method: 'POST' })).status === 401);
    const p = playground();
    await p.load();
    // Whoever is signed in needs none.
    expect([p.refusal(), p.offers()?.length]).toEqual([undefined, 8]);
    p.setToken('svc_mcp_wrong');
    await until(() => p.refusal()?.reason === 'unauthorized');
    expect(ended).toBe(0);
    p.setToken(token);
    await until(() => p.offers()?.length === 8 && p.refusal() === undefined);
    const run = await p.run(offer(p, 'tool:sales_by_category'), {});
    expect(run?.result?.is_error).toBe(false);
    expect(run?.exchanges.at(-1)?.request.headers['authorization']).toBe('Bearer …');
    expect(JSON.stringify(p.runs())).not.toContain(token);
  });

  test('who is signed out is told so, and what the server refuses is its own sentence', async () => {
    const out = createPlayground({
      send: (path, init) => fetch(`${programs.url}${path}`, init),
      onSessionEnd: () => void (ended += 1),
    });
    await out.load();
    expect([out.refusal()?.reason, ended]).toEqual(['session', 1]);
    const p = playground();
    p.setHost('nobody');
    await until(() => p.refusal() !== undefined);
    expect(p.refusal()).toMatchObject({ reason: 'gone', detail: expect.stringContaining('no longer connected') });
    const gone = createPlayground({ send: () => Promise.reject(new TypeError('Failed to fetch')) });
    await gone.load();
    expect(gone.refusal()?.reason).toBe('offline');
  });
});
