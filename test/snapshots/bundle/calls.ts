import { ENVELOPE } from '#test/mcp-host/support.ts';

/** One request as a client sends it. */
export interface EdgeCall {
  readonly name: string;
  readonly path: string;
  readonly method: string;
  /** Of the callers of the shop. */
  readonly caller: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
}

const JSON_HEADERS = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };

function postCall(message: object, more: Partial<EdgeCall> = {}): EdgeCall {
  const text = JSON.stringify({ jsonrpc: '2.0', id: 1, ...message });
  return {
    name: text.slice(0, 200),
    path: '/mcp',
    method: 'POST',
    caller: 'bob',
    body: text,
    ...more,
    headers: { ...JSON_HEADERS, ...more.headers },
  };
}

const modern = (
  method: string,
  params: Readonly<Record<string, unknown>> = {},
  more: Partial<EdgeCall> = {},
  envelope: object = ENVELOPE,
): EdgeCall => {
  const named = params['name'] ?? params['uri'];
  const headers = {
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': method,
    ...(typeof named === 'string' && { 'mcp-name': named }),
    ...more.headers,
  };
  return postCall({ method, params: { ...params, _meta: envelope } }, { ...more, headers });
};
/** As a client asks that draws results. */
const drawing = (method: string, params: Readonly<Record<string, unknown>> = {}): EdgeCall => {
  const extensions = { 'io.modelcontextprotocol/ui': { mimeTypes: ['text/html;profile=mcp-app'] } };
  return modern(method, params, {}, { ...ENVELOPE, 'io.modelcontextprotocol/clientCapabilities': { extensions } });
};
const legacy = (method: string, params: object = {}, more: Partial<EdgeCall> = {}): EdgeCall =>
  postCall({ method, params }, more);
const tool = (name: string, args: object = {}, more: Partial<EdgeCall> = {}): EdgeCall =>
  legacy('tools/call', { name, arguments: args }, more);

const KINDS = ['rows', 'row', 'column', 'value', 'text', 'markdown', 'csv'];
const CALLERS = ['ada', 'bob', 'seller', 'nobody', 'stranger'];
const LISTS = ['tools/list', 'resources/list', 'resources/templates/list', 'prompts/list'];

/** Values of each parameter of the tool `*_types`, right and wrong. */
const VALUES: readonly object[] = [
  {},
  { s: 'text with "quotes" and ünïcode 😀', i: 3, n: 1.25, b: true, d: '2024-02-29', t: '2024-02-29T12:00:00Z', e: 'red' },
  { u: '123e4567-e89b-12d3-a456-426614174000', j: { a: [1, null, 'x'] } },
  { s: 'no!' },
  { s: 'x'.repeat(21) },
  { i: 101 },
  { i: 1.5 },
  { i: '3' },
  { n: 'much' },
  { b: 'yes' },
  { d: '2024-02-30' },
  { t: 'noon' },
  { u: 'not-a-uuid' },
  { e: 'green' },
  { s: null, i: null },
  { unknown: 1 },
  { s: 1, i: 'x', e: 'green' },
];

/** What clients of every revision ask, and what goes wrong. Each is answered by itself: none needs the answer to another. */
export function edgeCalls(): EdgeCall[] {
  const engines = ['pg', 'lite'];
  return [
    ...engines.flatMap((own) => [
      ...KINDS.flatMap((kind) => [
        tool(`${own}_${kind}`),
        modern('tools/call', { name: `${own}_${kind}`, arguments: {} }),
        tool(`${own}_${kind}_of`, { id: 1 }),
        tool(`${own}_${kind}_of`, { id: 999 }),
      ]),
      ...VALUES.map((values) => tool(`${own}_types`, values)),
      ...['image', 'audio'].flatMap((kind) => [1, 2, 999].map((id) => tool(`${own}_${kind}`, { id }))),
      ...['first', 'small', 'not_read_only', 'broken', 'template'].map((name) => tool(`${own}_${name}`)),
      ...[
        {},
        { name: 'pen' },
        { ids: [1, 9_007_199_254_740_991] },
        { ids: [] },
        { name: 'pen', ids: [1, 2] },
        { ids: ['x'] },
      ].map((args) => tool(`${own}_find`, args)),
      ...CALLERS.map((caller) => tool(`${own}_caller`, {}, { caller, headers: { 'x-request-id': 'request-7' } })),
      tool(`${own}_write`, { name: 'mug' }),
      tool(`${own}_write_rows`, { name: 'jar' }),
      tool(`${own}_write_unshown`, { name: 'cup' }),
      modern('tools/call', { name: `${own}_write`, arguments: { name: 'mug' } }),
      tool(`${own}_rows_of`, {}),
      tool(`${own}_rows_of`, { id: 0 }),
      tool(`${own}_rows_of`, { id: '1' }),
    ]),
    tool('pg_divide', { by: 2 }),
    tool('pg_divide', { by: 0 }),
    tool('pg_slow'),
    tool('pg_cached'),
    tool('pg_cached'),
    ...CALLERS.flatMap((caller) => [
      tool('pg_session', {}, { caller }),
      tool('pg_masked', {}, { caller }),
      ...LISTS.map((method) => legacy(method, {}, { caller })),
      modern('server/discover', {}, { caller }),
    ]),
    ...LISTS.map((method) => modern(method)),
    drawing('tools/list'),
    drawing('server/discover'),
    drawing('resources/read', { uri: 'ui://sluice/view-earlier.html' }),
    ...['/mcp/sales', '/mcp/readonly', '/mcp/tag/small', '/mcp/tag/none', '/mcp/nothing', '/mcp/candidate/x'].flatMap((path) => [
      legacy('tools/list', {}, { path }),
      tool('pg_rows', {}, { path }),
      tool('lite_rows', {}, { path, caller: 'seller' }),
    ]),
    ...['shop://items', 'shop://items.csv', 'shop://lite/1', 'shop://lite/x', 'shop://nothing'].flatMap((uri) => [
      legacy('resources/read', { uri }),
      modern('resources/read', { uri }),
    ]),
    ...[{ who: 'ada' }, {}, { who: 'eve' }, { who: 3 }].map((args) => legacy('prompts/get', { name: 'greet', arguments: args })),
    modern('prompts/get', { name: 'greet', arguments: { who: 'grace' } }, { caller: 'ada' }),
    legacy('prompts/get', { name: 'fails' }),
    legacy('prompts/get', { name: 'nothing' }),
    legacy('completion/complete', { ref: { type: 'ref/prompt', name: 'greet' }, argument: { name: 'who', value: 'a' } }),
    legacy('completion/complete', { ref: { type: 'ref/x' }, argument: {} }),
    tool('nothing'),
    legacy('tools/call', { name: 'pg_rows', arguments: [] }),
    legacy('tools/call', {}),
    legacy('tools/list', { cursor: 'x' }),
    legacy('initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'c', version: '1' } }),
    legacy('initialize', { protocolVersion: '1999-01-01', capabilities: {}, clientInfo: {} }),
    legacy('ping'),
    legacy('nothing/at/all'),
    legacy('logging/setLevel', { level: 'debug' }),
    legacy('resources/subscribe', { uri: 'shop://items' }),
    modern('ping'),
    modern('nothing/at/all'),
    modern('tools/list', {}, { headers: { 'mcp-method': 'prompts/list' } }),
    modern('tools/list', {}, { headers: { 'mcp-protocol-version': '2025-11-25' } }),
    postCall({ id: undefined, method: 'notifications/initialized' }),
    postCall({ id: undefined, method: 'notifications/cancelled', params: { requestId: 1 } }),
    postCall({ method: 3 }),
    postCall(
      {},
      {
        name: 'a batch',
        body: JSON.stringify([
          { jsonrpc: '2.0', id: 1, method: 'ping' },
          { jsonrpc: '2.0', id: 2, method: 'x' },
        ]),
      },
    ),
    postCall({}, { name: 'an empty batch', body: '[]' }),
    postCall({}, { name: 'no JSON', body: '{"jsonrpc":' }),
    postCall({}, { name: 'another type', headers: { 'content-type': 'text/plain' } }),
    postCall(
      {},
      {
        name: 'events only',
        headers: { accept: 'text/event-stream' },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' }),
      },
    ),
    postCall({}, { name: 'an unknown session', headers: { 'mcp-session-id': 'a.b.c' } }),
    postCall({}, { name: 'a foreign page', headers: { origin: 'https://evil.example' } }),
    postCall({}, { name: 'an allowed page', headers: { origin: 'http://localhost:5173' } }),
    ...['GET', 'DELETE', 'PUT'].map((method) => postCall({}, { name: method, method, body: null })),
    ...[
      '/',
      '/mcp/',
      '/sse',
      '/messages',
      '/oauth/token',
      '/.well-known/oauth-protected-resource/mcp',
      '/.well-known/oauth-authorization-server',
      '/.well-known/mcp-definitions',
    ].map((path) => postCall({}, { name: path, path, method: 'GET', body: null })),
  ];
}
