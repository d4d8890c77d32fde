import { beforeAll, describe, expect, test } from 'bun:test';
import { Client as ModernClient, StreamableHTTPClientTransport as ModernTransport } from '@modelcontextprotocol/client';
import { Client as LegacyClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as LegacyTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { LoggingMessageNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { connectionOf, ENVELOPE, resourceOf, snapshotOf, toolOf } from '../support.ts';
import { useHost } from '../use-host.ts';
import { until } from '#test/support/until.ts';

const ENDLESS = 'with recursive c(n) as (select 1 union all select n + 1 from c) select count(*) as n from c';
const { control, host } = useHost('all');
const narrow = connectionOf({ max_concurrency: 1 });
const other = connectionOf({ name: 'other' });

beforeAll(async () => {
  await control.deploy(
    snapshotOf(1, {
      connections: [narrow, other],
      tools: [
        toolOf(narrow, 'customers', 'select name from customers order by id'),
        toolOf(narrow, 'broken', 'select 1 from nowhere'),
        toolOf(other, 'endless', ENDLESS, { timeout_ms: 60_000 }),
        toolOf(narrow, 'long', ENDLESS, { timeout_ms: 60_000 }),
      ],
      resources: [resourceOf(narrow, 'db://customers', 'select name from customers')],
    }),
  );
});

interface Message {
  readonly jsonrpc?: string;
  readonly id?: number;
  readonly method?: string;
  readonly params?: Readonly<Record<string, unknown>>;
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: { readonly code: number };
}

/** A request whose answer is a stream, message by message. */
async function* streamOf(
  method: string,
  params: Record<string, unknown>,
  meta: object,
  signal?: AbortSignal,
): AsyncGenerator<Message> {
  const response = await fetch(host.mcp, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
      'mcp-name': String(params['name'] ?? params['uri']),
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: { ...ENVELOPE, ...meta } } }),
    ...(signal && { signal }),
  });
  expect(response.headers.get('content-type')).toBe('text/event-stream');
  let text = '';
  const decoder = new TextDecoder();
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk, { stream: true });
    const events = text.split('\n\n');
    text = events.pop() ?? '';
    for (const event of events) yield JSON.parse(event.replace(/^event: message\ndata: /, '')) as Message;
  }
}
const all = (method: string, params: Record<string, unknown>, meta: object) => Array.fromAsync(streamOf(method, params, meta));
const LOG_LEVEL = 'io.modelcontextprotocol/logLevel';
const activeCalls = async (name: string) =>
  (await host.health()).connections.find((connection) => connection.name === name)?.queue.active;

describe('a caller with a progress token', () => {
  test('hears that its call is accepted, runs, and how many rows it gave, then has the answer', async () => {
    const messages = await all('tools/call', { name: 'customers' }, { progressToken: 'p' });
    const params = (progress: number, message: string) => ({ progressToken: 'p', progress, total: 2, message });
    expect(messages).toEqual([
      { jsonrpc: '2.0', method: 'notifications/progress', params: params(0, 'Accepted.') },
      { jsonrpc: '2.0', method: 'notifications/progress', params: params(1, 'The statement is running.') },
      { jsonrpc: '2.0', method: 'notifications/progress', params: params(2, '3 rows.') },
      { jsonrpc: '2.0', id: 1, result: expect.objectContaining({ resultType: 'complete' }) },
    ]);
  });

  test('hears the same of a resource, whose answer says how long it holds', async () => {
    const messages = await all('resources/read', { uri: 'db://customers' }, { progressToken: 7 });
    expect(messages.map(({ params }) => params?.['progress'])).toEqual([0, 1, 2, undefined]);
    expect(messages.at(-1)?.result).toMatchObject({ ttlMs: 0, cacheScope: 'public', contents: [{ uri: 'db://customers' }] });
  });

  test('hears that it waits, and how the statement goes on, always with a greater figure', async () => {
    const end = new AbortController();
    const long = streamOf('tools/call', { name: 'long' }, { progressToken: 1 }, end.signal);
    const figures: number[] = [];
    while (figures.length < 4) figures.push(Number((await long.next()).value?.params?.['progress']));
    expect(figures.slice(0, 2)).toEqual([0, 1]);
    expect(figures).toEqual(figures.toSorted((a, b) => a - b));
    expect(new Set(figures).size).toBe(4);
    expect(figures.at(-1)).toBeLessThan(2);
    const waits = streamOf('tools/call', { name: 'customers' }, { progressToken: 2 });
    expect((await waits.next()).value).toMatchObject({ params: { progress: 0 } });
    expect((await waits.next()).value).toMatchObject({ params: { progress: 0.5, message: expect.stringContaining('Waiting') } });
    end.abort();
    expect((await Array.fromAsync(waits)).map(({ params }) => params?.['progress'])).toEqual([1, 2, undefined]);
  });

  test('has the call cancelled in the database when it leaves', async () => {
    const end = new AbortController();
    const messages = streamOf('tools/call', { name: 'endless' }, { progressToken: 'p' }, end.signal);
    await messages.next();
    await until(async () => (await activeCalls('other')) === 1);
    end.abort();
    await until(async () => (await activeCalls('other')) === 0);
    await until(() => control.usage.flatMap(({ items }) => items).some(({ error }) => error === 'cancelled'));
  });

  test('has its answer as JSON when it reads no events', async () => {
    const response = await fetch(host.mcp, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json' },
      body: '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"customers","_meta":{"progressToken":1}}}',
    });
    expect(response.headers.get('content-type')).toBe('application/json');
    expect(await response.json()).toMatchObject({ id: 1, result: { structuredContent: { row_count: 3 } } });
  });

  test('is told of an unknown tool, and of one that fails', async () => {
    expect((await all('tools/call', { name: 'missing' }, { progressToken: 1 })).at(-1)).toMatchObject({
      id: 1,
      error: { code: -32_602 },
    });
    expect((await all('tools/call', { name: 'broken' }, { progressToken: 1 })).at(-1)).toMatchObject({
      result: { isError: true },
    });
  });
});

const FINISHED = { event: 'finished', rows: 3, duration_ms: expect.any(Number) };

describe('a caller with a log level', () => {
  test('hears what is as urgent, and nothing of the arguments', async () => {
    const events = async (name: string, level: string) =>
      (await all('tools/call', { name }, { [LOG_LEVEL]: level }))
        .filter(({ method }) => method === 'notifications/message')
        .map(({ params }) => [params?.['level'], params?.['logger'], params?.['data']]);
    expect(await events('customers', 'debug')).toEqual([
      ['debug', 'customers', { event: 'accepted' }],
      ['debug', 'customers', { event: 'running' }],
      ['info', 'customers', FINISHED],
    ]);
    expect(await events('customers', 'info')).toEqual([['info', 'customers', FINISHED]]);
    expect(await events('customers', 'error')).toEqual([]);
    expect(await events('broken', 'error')).toEqual([
      ['error', 'broken', { event: 'failed', code: 'sql_error', duration_ms: expect.any(Number) }],
    ]);
  });
});

test('the official v1 client sets a level for its session, and hears of progress', async () => {
  const client = new LegacyClient({ name: 'legacy', version: '1' });
  const logged: unknown[] = [];
  client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => {
    logged.push(params.data);
  });
  await client.connect(new LegacyTransport(host.mcp));
  await client.callTool({ name: 'customers' });
  expect(logged).toEqual([]);
  await client.setLoggingLevel('info');
  const progress: number[] = [];
  await client.callTool({ name: 'customers' }, undefined, { onprogress: (told) => progress.push(told.progress) });
  // The client forgets a call with its answer, and with it what came just before.
  await until(() => logged.length === 1 && progress.length >= 2);
  expect(logged).toEqual([FINISHED]);
  expect(progress.slice(0, 2)).toEqual([0, 1]);
  const refused = await client.setLoggingLevel('loud' as 'info').catch((error: unknown) => error);
  expect(refused).toMatchObject({ code: -32_602 });
  await client.close();
});

test('the official v2 client hears of progress in the stateless revision', async () => {
  const client = new ModernClient({ name: 'modern', version: '1' }, { versionNegotiation: { mode: { pin: '2026-07-28' } } });
  await client.connect(new ModernTransport(host.mcp));
  const progress: number[] = [];
  await client.callTool({ name: 'customers' }, { onprogress: (told) => progress.push(told.progress) });
  await until(() => progress.length >= 2);
  expect(progress.slice(0, 2)).toEqual([0, 1]);
  await client.close();
});

test('a level needs a session', async () => {
  const response = await fetch(host.mcp, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"info"}}',
  });
  expect(await response.json()).toMatchObject({ id: 1, error: { code: -32_600 } });
});
