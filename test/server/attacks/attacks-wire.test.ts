import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import net from 'node:net';
import { faultOutside } from '#server/request/faults.ts';
import { isErrorBody } from '#test/support/app.ts';
import { halfSent } from '#test/support/half-sent.ts';
import { type ListeningServer, listeningServer } from '#test/support/server.ts';

let s: ListeningServer;
let cookie: string;
beforeAll(async () => {
  s = await listeningServer();
  cookie = await s.signIn();
});
afterAll(() => s.stop());

/** Bytes as they stand, and everything that comes back until the server closes or is quiet for long. */
const exchange = (text: string): Promise<string> =>
  new Promise((resolve) => {
    let answer = '';
    const socket = net.connect(s.server.port, '127.0.0.1', () => socket.write(Buffer.from(text, 'latin1')));
    socket.setTimeout(3_000, () => socket.destroy());
    socket.on('data', (data) => {
      answer += data.toString('latin1');
    });
    socket.on('error', () => undefined);
    socket.on('close', () => resolve(answer));
  });

const get = (path: string, headers = '', method = 'GET') =>
  exchange(`${method} ${path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n${headers}\r\n`);
const statusOf = (answer: string): number => Number(/^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1] ?? 0);
const answersIn = (text: string): number => [...text.matchAll(/HTTP\/1\.1 \d{3}/g)].length;
const login = 'POST /api/v1/auth/login HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n';
const second = 'GET /api/v1/smuggled HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n';

test('nobody’s body is read before it is clear that somebody may send it', async () => {
  const json = { 'content-type': 'application/json', 'content-length': '900000' };
  const { body } = await s.api('POST', '/agent-tokens', { name: 'reader', duration_minutes: 15, scopes: ['read'] });
  const reader = { authorization: `Bearer ${String(body['token'])}` };
  for (const [path, headers, status] of [
    ['/api/v1/export-import/import', {}, 401],
    ['/api/v1/tools', reader, 403],
    ['/api/v1/server/mcp-tokens', {}, 404],
    ['/api/internal/hosts/h1/usage', {}, 401],
    ['/api/internal/agent/lines', reader, 401],
  ] as const) {
    const request = await halfSent(`http://127.0.0.1:${s.server.port}${path}`, { ...json, ...headers }, '{');
    expect([path, await request.status()]).toEqual([path, status]);
    request.close();
  }
});

describe('a request that two readers could read in two ways is refused whole', () => {
  test.each([
    ['a length and chunks', `${login}Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${second}`],
    ['two lengths', `${login}Content-Length: 2\r\nContent-Length: 60\r\n\r\n{}${second}`],
    ['an unknown transfer coding', `${login}Transfer-Encoding: xchunked\r\nContent-Length: 2\r\n\r\n{}${second}`],
    ['a space before the colon', `${login}Transfer-Encoding : chunked\r\nContent-Length: 2\r\n\r\n{}${second}`],
    ['a negative length', `${login}Content-Length: -1\r\n\r\n${second}`],
    ['no Host', 'GET /api/health HTTP/1.1\r\nConnection: close\r\n\r\n'],
    ['a header over two lines', 'GET /api/health HTTP/1.1\r\nHost: localhost\r\nX-Request-Id: a\r\n b\r\n\r\n'],
  ])('%s', async (_, text) => {
    const answer = await exchange(text);
    expect([statusOf(answer), answersIn(answer)]).toEqual([400, 1]);
  });

  test('headers and addresses that are too large', async () => {
    expect(statusOf(await get('/api/health', `X-Large: ${'a'.repeat(100_000)}\r\n`))).toBe(431);
    expect(statusOf(await get(`/api/health?${'a'.repeat(100_000)}`))).toBe(431);
    expect(statusOf(await get('/api/health'))).toBe(200);
  });
});

test('a body that is too large is answered, with its length said or not', async () => {
  const chunk = new Uint8Array(256 * 1_024).fill(120);
  const stream = () =>
    new ReadableStream<Uint8Array>({
      start(controller) {
        for (let n = 0; n < 12; n++) controller.enqueue(chunk);
        controller.close();
      },
    });
  const send = async (path: string, body: BodyInit) =>
    (await fetch(`${s.url}${path}`, { method: 'POST', body, headers: { 'content-type': 'application/json' } })).status;
  expect(await send('/api/v1/auth/login', stream())).toBe(413);
  expect(await send('/api/v1/auth/login', 'x'.repeat(3_000_000))).toBe(413);
  expect(await send('/api/v1/tools', stream())).toBe(401);
  expect((await fetch(`${s.url}/api/health`)).status).toBe(200);
});

describe('the Host header', () => {
  test.each([
    'evil.example',
    'localhost.evil.example',
    'localhost@evil.example',
    'evil.example#localhost',
    'localhost, evil.example',
    'localhost:80:80',
    '[::1',
    'a b',
    '127.0.0.1.evil.example',
  ])('%s is refused', async (host) => {
    const answer = await exchange(`GET /api/health HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
    expect([400, 403]).toContain(statusOf(answer));
    expect(answer).not.toContain('evil.example');
  });

  test('counts, whatever forwarding headers and an absolute address say', async () => {
    const forwarded =
      'X-Forwarded-Host: evil.example\r\nX-Host: evil.example\r\nForwarded: host=evil.example\r\nX-Original-URL: /api/v1/tools\r\n';
    const answer = await get('/api/health', forwarded);
    expect(statusOf(answer)).toBe(200);
    expect(answer).not.toContain('evil.example');
    const twice = await exchange(
      'GET /api/health HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\nConnection: close\r\n\r\n',
    );
    expect([400, 403]).toContain(statusOf(twice));
  });
});

describe('static files', () => {
  test.each([
    '/../../../../etc/passwd',
    '/assets/../../../package.json',
    '/assets/..%2f..%2f..%2fpackage.json',
    '/..%2f..%2fpackage.json',
    '/%2e%2e/%2e%2e/package.json',
    '/..\\..\\package.json',
    '/assets/..%5c..%5cpackage.json',
    '/%252e%252e%252fpackage.json',
    '/assets/%00/../../package.json',
    '//package.json',
    '/.env',
    '/api/docs/assets/..%2f..%2f..%2fpackage.json',
    '/api/docs/assets/constructor',
    '/api/docs/assets/__proto__',
  ])('%s leads to no file outside', async (path) => {
    const answer = await get(path);
    expect([200, 400, 404]).toContain(statusOf(answer));
    expect(answer).not.toContain('"dependencies"');
    expect(answer).not.toContain('root:');
    if (statusOf(answer) === 200) expect(answer).toContain('<!doctype html>');
  });

  test('a folder, a name that is too long and the address of the API alone are answered, not failed', async () => {
    for (const path of ['/assets', '/assets/', `/${'a'.repeat(5_000)}`]) {
      expect([200, 404, 503]).toContain(statusOf(await get(path)));
    }
    expect(statusOf(await get('/api'))).toBe(404);
    expect(statusOf(await get('/.well-known'))).toBe(404);
  });
});

describe('methods', () => {
  test('TRACE reflects nothing, and what no operation takes is refused', async () => {
    const trace = await get('/api/health', 'X-Private: zqcanary\r\nCookie: svc_session=zqcanary\r\n', 'TRACE');
    expect(statusOf(trace)).toBe(405);
    expect(trace).not.toContain('zqcanary');
    for (const method of ['PUT', 'CONNECT', 'OPTIONS', 'PROPFIND']) {
      expect([400, 405]).toContain(statusOf(await get('/api/v1/tools', '', method)));
    }
    const overridden = await get('/api/v1/auth/sessions', `X-HTTP-Method-Override: DELETE\r\nCookie: ${cookie}\r\n`);
    expect(statusOf(overridden)).toBe(200);
  });

  test('HEAD is GET without a body, and changes as little', async () => {
    for (const path of ['/', '/api/health', '/api/docs', '/api/openapi.json', '/api/v1/auth/status']) {
      const answer = await get(path, '', 'HEAD');
      expect([path, statusOf(answer)]).toEqual([path, 200]);
      expect(answer.split('\r\n\r\n')[1] ?? '').toBe('');
    }
    expect(statusOf(await get('/api/v1/tools', '', 'HEAD'))).toBe(401);
  });

  test('HEAD on the live log opens no reader that stays', async () => {
    for (let n = 0; n < 110; n++) {
      const answer = await fetch(`${s.url}/api/v1/deploy/logs`, { method: 'HEAD', headers: { cookie } });
      expect([n, answer.status]).toEqual([n, 200]);
    }
  });
});

test('a fault of the listener itself is the one error body, without a page that shows the source', async () => {
  const answer = faultOutside(s.server.app, new Error('zqcanary at /srv/file.ts'));
  expect([answer.status, answer.headers.get('content-type')]).toEqual([500, 'application/json;charset=utf-8']);
  const body: unknown = await answer.json();
  expect(isErrorBody(body)).toBe(true);
  expect(JSON.stringify(body)).not.toContain('zqcanary');
});

describe('every kind of answer', () => {
  const KINDS: readonly (readonly [string, string, number])[] = [
    ['a page', '/', 200],
    ['an API answer', '/api/health', 200],
    ['a refusal', '/api/v1/tools', 401],
    ['nothing there', '/api/v1/nothing', 404],
    ['a document', '/api/openapi.json', 200],
    ['the API’s own pages', '/api/docs', 200],
    ['a script', '/api/docs/assets/swagger-init.js', 200],
    ['the control channel', '/api/internal/hosts/stream', 401],
  ];
  test.each(KINDS)('%s cannot be framed or taken for another type, and hides what runs it', async (_, path, status) => {
    const answer = await fetch(`${s.url}${path}`);
    expect(answer.status).toBe(status);
    expect(answer.headers.get('x-frame-options')).toBe('DENY');
    expect(answer.headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
    expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
    expect(answer.headers.get('referrer-policy')).toBe('no-referrer');
    expect(answer.headers.get('cross-origin-opener-policy')).toBe('same-origin');
    expect(answer.headers.get('content-type')).toMatch(/^(application\/json|text\/(html|javascript); charset=utf-8)/i);
    for (const name of ['server', 'x-powered-by', 'access-control-allow-origin']) expect(answer.headers.get(name)).toBeNull();
  });

  test('also of a foreign host or origin', async () => {
    for (const headers of [{ origin: 'https://evil.example' }, { host: 'evil.example' }]) {
      const answer = await fetch(`${s.url}/api/health`, { headers });
      expect([answer.status, answer.headers.get('x-frame-options')]).toEqual([403, 'DENY']);
      expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
    }
  });
});
