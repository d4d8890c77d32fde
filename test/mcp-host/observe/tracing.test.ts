import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'bun:test';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import {
  connection,
  ENVELOPE,
  modern,
  parameterOf,
  promptOf,
  resourceOf,
  rpc,
  snapshotOf,
  testHost,
  TOKEN,
  toolOf,
} from '../support.ts';
import { useHost } from '../use-host.ts';
import { until } from '#test/support/until.ts';

interface Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: { key: string; value: { stringValue?: string; intValue?: number; doubleValue?: number } }[];
  readonly links?: { traceId: string; spanId: string }[];
  readonly status: { code?: number };
}
interface Export {
  readonly resourceSpans: {
    resource: { attributes: Span['attributes'] };
    scopeSpans: { spans: Span[] }[];
  }[];
}

/** A collector that speaks OTLP over HTTP, as far as it is needed. */
let exports: Export[] = [];
let status = 200;
let refusals = 0;
const keys: (string | null)[] = [];
const encodings: (string | null)[] = [];
const collector = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  async fetch(request) {
    if (status !== 200) {
      refusals++;
      return new Response('', { status });
    }
    expect(new URL(request.url).pathname).toBe('/v1/traces');
    keys.push(request.headers.get('x-api-key'));
    const body = Buffer.from(await request.arrayBuffer());
    const compressed = request.headers.get('content-encoding') === 'gzip';
    encodings.push(request.headers.get('content-encoding'));
    exports.push(JSON.parse(Buffer.from(compressed ? Bun.gunzipSync(body) : body).toString()) as Export);
    return Response.json({});
  },
});
const spans = () => exports.flatMap((item) => item.resourceSpans.flatMap((r) => r.scopeSpans.flatMap((s) => s.spans)));
const attributesOf = ({ attributes }: { attributes: Span['attributes'] }) =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, value.stringValue ?? value.intValue ?? value.doubleValue]));
const spanOf = (name: string): Promise<Span> => until(() => spans().find((span) => span.name === name));
const childOf = (parent: Span): Promise<Span> => until(() => spans().find((span) => span.parentSpanId === parent.spanId));

const { folder, control, host } = useHost('all', { collector: { endpoint: `http://127.0.0.1:${collector.port}` } });
const SECRET = 'literal-of-the-author';
const content = {
  connections: [connection],
  tools: [
    toolOf(connection, 'find', `select name, '${SECRET}' as note from customers where name = :name`, {
      parameters: [parameterOf('name', 'string')],
    }),
    toolOf(connection, 'broken', 'select * from nowhere'),
  ],
  resources: [
    resourceOf(connection, 'shop://all', 'select 1 as one', { name: 'all' }),
    resourceOf(connection, 'shop://customers/{name}', 'select :name as name', {
      name: 'one',
      parameters: [parameterOf('name', 'string')],
    }),
  ],
  prompts: [promptOf('greet', 'Hello {{ name }}', [{ name: 'name', required: true }])],
};

beforeAll(async () => {
  await control.deploy(snapshotOf(1, { ...content, server: { otel_enabled: true } }));
  await until(() => host.log.some(({ message }) => message === 'tracing_on'));
});
afterAll(() => collector.stop(true));
beforeEach(() => {
  exports = [];
});

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const PARENT = 'b7ad6b7169203331';
const traced = (
  method: string,
  params: { name?: string; uri?: string; arguments?: object },
  meta: Record<string, unknown> = {},
  headers = {},
) =>
  rpc(
    host.mcp,
    { id: 7, method, params: { ...params, _meta: { ...ENVELOPE, ...meta } } },
    {
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
      'mcp-name': params.name ?? params.uri ?? '',
      ...headers,
    },
  );

describe('a span', () => {
  test('the span of a call has _meta as its parent, HTTP as a link, and the statement as its child', async () => {
    const meta = { traceparent: `00-${TRACE}-${PARENT}-01`, tracestate: 'vendor=1' };
    const http = { traceparent: `00-${'1'.repeat(32)}-${'2'.repeat(16)}-01` };
    await traced('tools/call', { name: 'find', arguments: { name: 'Ada' } }, meta, http);
    const span = await spanOf('tools/call find');
    expect(span).toMatchObject({ traceId: TRACE, parentSpanId: PARENT, kind: 2, links: [{ traceId: '1'.repeat(32) }] });
    expect(attributesOf(span)).toMatchObject({
      'sluice.outcome': 'ok',
      'sluice.result.rows': expect.anything(),
      'sluice.result.bytes': expect.anything(),
      'sluice.database.duration_ms': expect.any(Number),
      'mcp.method.name': 'tools/call',
      'gen_ai.tool.name': 'find',
      'gen_ai.operation.name': 'execute_tool',
      'jsonrpc.request.id': '7',
      'mcp.protocol.version': '2026-07-28',
      'network.transport': 'tcp',
      'client.address': '127.0.0.1',
    });
    const child = await childOf(span);
    expect(child).toMatchObject({ name: 'SELECT', kind: 3, traceId: TRACE });
    expect(attributesOf(child)).toMatchObject({
      'db.system.name': 'sqlite',
      'db.operation.name': 'SELECT',
      'db.query.summary': 'SELECT',
      'db.namespace': 'shop.sqlite',
    });
    const time = (text: string) => Number(BigInt(text) / 1_000n);
    expect(time(child.startTimeUnixNano)).toBeGreaterThanOrEqual(time(span.startTimeUnixNano));
    expect(time(child.endTimeUnixNano)).toBeLessThanOrEqual(time(span.endTimeUnixNano));
    expect(Math.abs(time(span.endTimeUnixNano) / 1_000 - Date.now())).toBeLessThan(60_000);
    const resource = exports[0]?.resourceSpans[0]?.resource;
    expect(resource && attributesOf(resource)).toMatchObject({ 'service.name': 'Shop', 'service.instance.id': 'test-host' });
  });

  test('without _meta continues the trace of HTTP; without both it begins one', async () => {
    await traced('tools/list', {}, {}, { traceparent: `00-${TRACE}-${PARENT}-01` });
    expect(await spanOf('tools/list')).toMatchObject({ traceId: TRACE, parentSpanId: PARENT });
    await traced('server/discover', {});
    expect((await spanOf('server/discover')).parentSpanId ?? '').toBe('');
  });

  test.each([
    ['no trace', 'nonsense'],
    ['a trace of zeros', `00-${'0'.repeat(32)}-${PARENT}-01`],
    ['a trace without flags', `00-${TRACE}-${PARENT}`],
    ['a number', 7],
    ['null', null],
    ['a long text', `00-${TRACE}-${PARENT}-01-${'0'.repeat(5_000)}`],
  ])('takes no parent from %s', async (_, traceparent) => {
    await traced('tools/list', {}, { traceparent });
    expect((await spanOf('tools/list')).parentSpanId ?? '').toBe('');
  });

  test('of a failed call says so; of an unknown tool it has no name of it', async () => {
    await traced('tools/call', { name: 'broken' });
    const failed = await spanOf('tools/call broken');
    expect(attributesOf(failed)).toMatchObject({ 'error.type': 'tool_error', 'sluice.outcome': 'tool_error' });
    expect(failed.status.code).toBe(2);
    expect(attributesOf(await childOf(failed))).toMatchObject({ 'error.type': 'sql_error' });
    await traced('tools/call', { name: 'made-up-by-the-caller' });
    const unknown = await spanOf('tools/call');
    expect(attributesOf(unknown)).toMatchObject({ 'error.type': '-32602', 'rpc.response.status_code': '-32602' });
  });

  test('of a method that the protocol does not have names none, and of a long id has its beginning', async () => {
    await rpc(host.mcp, { id: 'i'.repeat(1_000), method: 'm'.repeat(5_000), params: {} });
    const span = await spanOf('_other');
    expect(attributesOf(span)).toMatchObject({ 'mcp.method.name': '_other', 'jsonrpc.request.id': 'i'.repeat(128) });
  });

  test('of a resource and of a prompt name them; no argument, result or literal is told', async () => {
    await traced('resources/read', { uri: 'shop://all' });
    expect(attributesOf(await spanOf('resources/read'))).toMatchObject({ 'mcp.resource.uri': 'shop://all' });
    exports = [];
    await traced('resources/read', { uri: 'shop://customers/Grace-Hopper' });
    await traced('prompts/get', { name: 'greet', arguments: { name: 'Grace-Hopper' } });
    await traced('tools/call', { name: 'find', arguments: { name: 'Grace-Hopper' } });
    expect(attributesOf(await spanOf('prompts/get greet'))).toMatchObject({ 'gen_ai.prompt.name': 'greet' });
    await spanOf('tools/call find');
    await spanOf('resources/read');
    const all = JSON.stringify(exports);
    expect(all).not.toContain('Grace-Hopper');
    expect(all).not.toContain(SECRET);
    expect(all).not.toContain('customers');
  });

  test('of an older client names its version and, hashed, its session', async () => {
    const opened = await rpc(host.mcp, { id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25' } });
    const session = opened.headers.get('mcp-session-id') ?? '';
    await rpc(host.mcp, { id: 2, method: 'tools/list' }, { 'mcp-session-id': session });
    const attributes = attributesOf(await spanOf('tools/list'));
    expect(attributes).toMatchObject({ 'mcp.protocol.version': '2025-11-25', 'mcp.session.id': expect.any(String) });
    expect(JSON.stringify(exports)).not.toContain(session);
  });
});

test('a collector that fails is told once in the log, and no call hears of it', async () => {
  status = 400;
  const warned = () => host.log.filter(({ message }) => message === 'traces_not_sent').length;
  for (let n = 0; n < 3; n++) {
    const before = refusals;
    const { body } = await modern(host.mcp, 'tools/call', { name: 'find', arguments: { name: 'Ada' } });
    expect(body.result).toMatchObject({ structuredContent: { row_count: 1 } });
    await until(() => refusals > before);
  }
  await until(() => warned() === 1);
  status = 200;
  await modern(host.mcp, 'tools/list');
  await spanOf('tools/list');
  await until(() => host.log.some(({ message }) => message === 'traces_sent_again'));
  expect(warned()).toBe(1);
});

test('a deploy turns it off and on; what was recorded until then is sent', async () => {
  await modern(host.mcp, 'tools/list');
  await control.deploy(snapshotOf(2, { ...content, server: { otel_enabled: false } }));
  await spanOf('tools/list');
  exports = [];
  await modern(host.mcp, 'prompts/list');
  await control.deploy(snapshotOf(3, { ...content, server: { otel_enabled: true, server_name: 'Again' } }));
  await until(() => host.log.filter(({ message }) => message === 'tracing_on').length === 2);
  await modern(host.mcp, 'tools/list');
  await spanOf('tools/list');
  expect(spans().map(({ name }) => name)).toEqual(['tools/list']);
});

test('the end of the host sends the rest', async () => {
  const other = await testHost(folder.directory, control.url, {
    collector: { endpoint: `http://127.0.0.1:${collector.port}/v1/traces` },
  });
  await until(() => other.log.some(({ message }) => message === 'tracing_on'));
  await modern(other.mcp, 'tools/list');
  await other.stop();
  expect(spans().some(({ name }) => name === 'tools/list')).toBe(true);
});

test('the program takes the address from its environment, and sends what is left when it is told to end', async () => {
  const directory = join(folder.directory, 'program');
  mkdirSync(directory);
  control.greeting = {
    event: 'snapshot',
    data: snapshotOf(9, { ...content, server: { otel_enabled: true, server_name: 'Program' } }),
  };
  const acknowledged = control.nextAck();
  const child = Bun.spawn([process.execPath, join(import.meta.dir, '../../../mcp-host/main.ts')], {
    env: {
      PATH: process.env['PATH'],
      SVC_ENV: 'production',
      SVC_KV: 'memory',
      SVC_ENCRYPTION_KEY: 'a-key-0123456789-0123456789-0123456789',
      SVC_AGENT_SERVICE_TOKEN: TOKEN,
      SVC_SERVER_URL: control.url,
      SVC_DATA_DIR: directory,
      SVC_SQLITE_DIR: folder.directory,
      SVC_BIND: '127.0.0.1',
      SVC_FASTMCP_PORT: '0',
      SVC_OTLP_ENDPOINT: `http://127.0.0.1:${collector.port}`,
      SVC_OTLP_HEADERS: 'x-api-key=a%2Cb, x-team=data',
    },
    stdout: 'pipe',
    stderr: 'inherit',
    ipc: () => undefined,
  });
  try {
    const { url } = await acknowledged;
    let printed = '';
    const decoder = new TextDecoder();
    for await (const chunk of child.stdout) {
      printed += decoder.decode(chunk, { stream: true });
      if (printed.includes('tracing_on')) break;
    }
    await modern(new URL('/mcp', url ?? ''), 'prompts/list');
    child.kill('SIGTERM');
    expect(await child.exited).toBe(0);
    expect(spans().map(({ name }) => name)).toContain('prompts/list');
    expect([keys.at(-1), printed.includes('a,b')]).toEqual(['a,b', false]);
  } finally {
    child.kill('SIGKILL');
    control.greeting = null;
  }
});

test('a share of nothing traces failed requests and continued traces, compressed if set', async () => {
  const endpoint = `http://127.0.0.1:${collector.port}`;
  const other = await testHost(folder.directory, control.url, { collector: { endpoint, sampling: 0, compression: 'gzip' } });
  await until(() => other.log.some(({ message }) => message === 'tracing_on'));
  const call = (name: string, headers = {}) =>
    rpc(
      other.mcp,
      { id: 1, method: 'tools/call', params: { name, arguments: { name: 'Ada' }, _meta: ENVELOPE } },
      { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': name, ...headers },
    );
  await call('find');
  await call('broken');
  await call('find', { traceparent: `00-${TRACE}-${PARENT}-01` });
  await other.stop();
  const names = spans()
    .filter(({ kind }) => kind === 2)
    .map(({ name }) => name);
  expect(names).toEqual(['tools/call broken', 'tools/call find']);
  expect(spans().find(({ name }) => name === 'tools/call find')).toMatchObject({ traceId: TRACE, parentSpanId: PARENT });
  expect(encodings.at(-1)).toBe('gzip');
});

test('without an address it says what to set', async () => {
  const other = await testHost(folder.directory, control.url);
  await until(() =>
    other.log.some(
      ({ message, fields }) => message === 'tracing_without_endpoint' && String(fields['detail']).includes('SVC_OTLP_ENDPOINT'),
    ),
  );
  await other.stop();
});

test('a host without it loads none of its libraries', async () => {
  const script = `
    await import(${JSON.stringify(import.meta.resolve('#mcp-host/host.ts'))});
    await import(${JSON.stringify(import.meta.resolve('#mcp-host/setup.ts'))});
    const loaded = () => Object.keys(require.cache).filter((path) => /opentelemetry|ioredis/.test(path)).length;
    const without = loaded();
    await import(${JSON.stringify(import.meta.resolve('#mcp-host/observe/tracing-recorder.ts'))});
    console.log(JSON.stringify([without, loaded() > 0]));`;
  const child = Bun.spawn([process.execPath, '-e', script], {
    cwd: new URL('../../..', import.meta.url).pathname,
    stdout: 'pipe',
  });
  expect(JSON.parse(await new Response(child.stdout).text())).toEqual([0, true]);
  expect(await child.exited).toBe(0);
});
