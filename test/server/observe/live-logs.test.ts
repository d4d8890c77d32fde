import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test';
import { Hono } from 'hono';
import net from 'node:net';
import { createLiveLogs } from '#server/hosts/live-logs.ts';
import type { ServerEnv } from '#server/request/server-env.ts';
import { type SocketOwner, socketHandler } from '#server/request/sockets.ts';
import { createHttp } from '#server/http/http.ts';
import { testApp } from '#test/support/app.ts';
import { type ListeningServer, listeningServer } from '#test/support/server.ts';
import { type Call, toBatch } from '#test/support/usage.ts';
import { until } from '#test/support/until.ts';

interface Frame {
  readonly type: string;
  readonly seq?: number;
  readonly source?: string;
  readonly level?: string;
  readonly message?: string;
  readonly count?: number;
  readonly fields?: Record<string, unknown>;
}

let s: ListeningServer;
let cookie: string;
beforeAll(async () => {
  s = await listeningServer();
  cookie = await s.signIn();
});
afterAll(() => s.stop());

const PATH = '/api/v1/deploy/logs';
const open: WebSocket[] = [];
afterEach(() => {
  for (const socket of open.splice(0)) socket.close();
});

/** Follows the log over a WebSocket. */
async function follow(query = '', url = s.url): Promise<{ frames: Frame[]; socket: WebSocket }> {
  const frames: Frame[] = [];
  // Bun's client takes headers; the declared constructor is that of browsers.
  const socket = new WebSocket(`${url.replace('http', 'ws')}${PATH}${query}`, { headers: { cookie } } as unknown as string[]);
  socket.addEventListener('message', ({ data }) => frames.push(JSON.parse(String(data)) as Frame));
  open.push(socket);
  await until(() => frames.length > 0);
  return { frames, socket };
}

const lines = (frames: readonly Frame[]) => frames.filter(({ type }) => type === 'log');
const upgrade = (headers: Record<string, string>, query = '') =>
  fetch(`${s.url}${PATH}${query}`, {
    headers: {
      connection: 'upgrade',
      upgrade: 'websocket',
      'sec-websocket-version': '13',
      'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
      ...headers,
    },
  });

const usage = ({ items = [], ...body }: { items?: Partial<Call>[]; lines?: object[] }) =>
  fetch(`${s.url}/api/internal/hosts/h1/usage`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-service-token': s.service_token },
    body: JSON.stringify({ boot_id: crypto.randomUUID(), seq: 1, ...toBatch(items), ...body }),
  });
const time = new Date().toISOString();

test('a reader that left before its stream began takes no place of another one', async () => {
  const t = await testApp();
  await t.signIn();
  const login = { username: 'ada', password: 'correct horse' };
  const { headers } = await t.send('auth.login', login, { anonymous: true });
  const http = createHttp(t.app);
  const read = (signal: AbortSignal) => {
    const sent = { host: 'localhost', cookie: headers.get('set-cookie')?.split(';')[0] ?? '' };
    return http.fetch(new Request(`http://localhost${PATH}`, { headers: sent, signal }), { address: '192.0.2.1' });
  };
  for (let n = 0; n < 100; n++) await read(AbortSignal.abort());
  const ending = new AbortController();
  expect((await read(ending.signal)).status).toBe(200);
  ending.abort();
  await t.close();
});

test('nobody, a foreign page and a filter that is not known are refused before the upgrade', async () => {
  const port = new URL(s.url).port;
  await s.call('config.update', { cors_origins: [`http://localhost:${port}`] });
  const made = await s.call('agent_tokens.create', { name: 'a', duration_minutes: 15 });
  const authorization = `Bearer ${made.token}`;
  const refused: [Record<string, string>, string, number][] = [
    [{}, '', 401],
    [{ authorization }, '', 403],
    [{ authorization, cookie }, '', 403],
    [{ authorization: 'Bearer svc_nonsense' }, '', 401],
    [{ cookie: 'svc_session=forged' }, '', 401],
    [{ cookie, origin: 'https://evil.example' }, '', 403],
    // Listed for bearers, and still no page that may use the cookie.
    [{ cookie, origin: `http://localhost:${port}` }, '', 403],
    [{ cookie }, '?level=LOUD', 422],
    [{ cookie }, '?source=elsewhere', 422],
    [{ cookie }, '?since=yesterday', 422],
    [{ cookie }, '?nonsense=1', 422],
  ];
  for (const [headers, query, status] of refused) {
    for (const answer of [await upgrade(headers, query), await fetch(`${s.url}${PATH}${query}`, { headers })]) {
      const body = (await answer.json()) as Record<string, unknown>;
      expect([query, headers['origin'], answer.status, Object.keys(body)]).toEqual([
        query,
        headers['origin'],
        status,
        ['detail'],
      ]);
    }
  }
});

test('a reader hears hello, the last 500 lines in their order, then each line as it is written', async () => {
  for (let n = 0; n < 700; n++) s.log.from('deploy').info(`line ${n}`);
  const { frames } = await follow();
  await until(() => lines(frames).length === 500);
  expect(frames[0]).toMatchObject({ type: 'hello' });
  expect(lines(frames).map(({ message }) => message)).toEqual(Array.from({ length: 500 }, (_, n) => `line ${n + 200}`));
  const numbers = lines(frames).map(({ seq }) => seq ?? 0);
  expect(numbers.every((seq, n) => n === 0 || seq > (numbers[n - 1] ?? 0))).toBe(true);
  s.log.from('tls').warning('late', { domain: 'example.com' });
  await until(() => lines(frames).length === 501);
  const { seq: _, timestamp: __, ...frame } = frames.at(-1) as Frame & { timestamp: string };
  expect(frame).toEqual({ type: 'log', level: 'WARNING', source: 'tls', message: 'late', fields: { domain: 'example.com' } });
});

test('level, source and since choose the lines; a reader that comes back misses and repeats none', async () => {
  const [errors, tls, first] = await Promise.all([follow('?level=warning'), follow('?source=tls'), follow()]);
  s.log.from('tls').info('one');
  s.log.from('deploy').error('two');
  s.log.from('tls').warning('three');
  const ends = (frames: readonly Frame[]) => lines(frames).at(-1)?.message === 'three';
  await until(() => [errors, tls, first].every(({ frames }) => ends(frames)));
  expect(
    lines(errors.frames)
      .slice(-2)
      .map(({ message }) => message),
  ).toEqual(['two', 'three']);
  expect(
    lines(tls.frames)
      .slice(-2)
      .map(({ message }) => message),
  ).toEqual(['one', 'three']);
  const known = lines(first.frames).at(-3)?.seq;
  const again = await follow(`?since=${known}`);
  await until(() => ends(again.frames));
  expect(lines(again.frames).map(({ message }) => message)).toEqual(['two', 'three']);
  const none = await follow(`?since=${new Date(Date.now() + 60_000).toISOString()}`);
  expect(lines(none.frames)).toEqual([]);
});

test('lines of hosts and one line for each call are shown, without values, credentials or a driver’s words', async () => {
  const { frames } = await follow('?since=9999999999999999');
  const after = await follow();
  const before = lines(after.frames).length;
  await usage({
    lines: [
      { timestamp: time, level: 'INFO', message: 'snapshot_loaded', fields: { version: 3, load_ms: 1.5 } },
      { timestamp: time, level: 'ERROR', message: 'call_failed', fields: { name: 'orders', error: 'invalid input: "canary-1"' } },
      {
        timestamp: time,
        level: 'WARNING',
        message: 'lost Bearer canary-2',
        fields: { url: 'postgres://u:canary-3@db/x', token: `svc_mcp_${'canary4x'.repeat(5)}` },
      },
    ],
    items: [
      {
        timestamp: time,
        kind: 'tool',
        name: 'orders',
        duration_ms: 4,
        wait_ms: 0,
        rows: 3,
        bytes: 9,
        client: 'c/1',
      },
      {
        timestamp: time,
        kind: 'tool',
        name: 'orders',
        duration_ms: 4,
        wait_ms: 0,
        rows: 0,
        bytes: 0,
        error: 'timeout',
      },
    ],
  });
  await until(() => lines(after.frames).length === before + 5);
  const shown = lines(after.frames).slice(before);
  expect(shown.map(({ source, level }) => [source, level])).toEqual([
    ['host', 'INFO'],
    ['host', 'ERROR'],
    ['host', 'WARNING'],
    ['tool', 'INFO'],
    ['tool', 'WARNING'],
  ]);
  expect(shown[0]).toMatchObject({ message: 'snapshot_loaded', fields: { version: 3, host: 'h1' } });
  expect(shown[3]).toMatchObject({ fields: { name: 'orders', rows: 3, client: 'c/1' } });
  expect(shown[4]).toMatchObject({ fields: { code: 'timeout' } });
  expect(JSON.stringify(shown)).not.toContain('canary');
  expect(lines(frames)).toEqual([]);
});

test('a flood of calls leaves room for other lines', async () => {
  const { frames } = await follow();
  const before = lines(frames).length;
  const item = { timestamp: time, kind: 'tool', name: 'busy', duration_ms: 4, wait_ms: 0, rows: 3, bytes: 9 } as const;
  await usage({ items: Array.from({ length: 1_000 }, () => item) });
  await until(() => lines(frames).at(-1)?.message === 'more calls');
  expect(lines(frames).length - before).toBe(101);
  expect(lines(frames).at(-1)?.fields).toEqual({ count: 900 });
});

test('the same frames come as Server-Sent Events, from where the reader was', async () => {
  const stop = new AbortController();
  const read = async (headers: Record<string, string>, count: number) => {
    const response = await fetch(`${s.url}${PATH}?source=tls`, { headers: { cookie, ...headers }, signal: stop.signal });
    expect(response.headers.get('content-type')).toBe('text/event-stream');
    let text = '';
    for await (const chunk of response.body ?? []) {
      text += Buffer.from(chunk).toString();
      if (text.split('\n\n').length > count) break;
    }
    return text.split('\n\n').slice(0, count);
  };
  s.log.from('tls').info('before');
  const known = (await follow('?source=tls')).frames;
  await until(() => lines(known).at(-1)?.message === 'before');
  const seq = lines(known).at(-1)?.seq ?? 0;
  const reading = read({ 'last-event-id': String(seq) }, 2);
  await Bun.sleep(50);
  s.log.from('tls').info('after');
  const [hello, line] = await reading;
  expect(JSON.parse(hello?.slice('data: '.length) ?? '')).toMatchObject({ type: 'hello' });
  const [id, data] = (line ?? '').split('\n');
  expect(id).toBe(`id: ${JSON.parse(data?.slice('data: '.length) ?? '').seq}`);
  expect(data).toContain('"message":"after"');
  stop.abort();
});

describe('a reader that does not read', () => {
  const LINES = 2_000;
  const ROUNDS = 6;
  const flood = () => {
    const fields = Object.fromEntries(Array.from({ length: 18 }, (_, n) => [`f${n}`, 'x'.repeat(490)]));
    for (let n = 0; n < LINES; n++) s.log.from('tls').info(n === LINES - 1 ? 'the end' : `flood ${n}`, fields);
  };
  /** A connection that asks and then takes nothing. */
  const stalled = (headers: string): Promise<net.Socket> =>
    new Promise((resolve, reject) => {
      const { hostname, port } = new URL(s.url);
      const socket = net.connect(Number(port), hostname, () => {
        socket.write(
          `GET ${PATH}?since=${new Date(Date.now() + 1).toISOString()} HTTP/1.1\r\nHost: ${hostname}:${port}\r\nCookie: ${cookie}\r\n${headers}\r\n`,
        );
        socket.pause();
        resolve(socket);
      });
      socket.once('error', reject);
    });

  test.each([
    [
      'a WebSocket',
      'Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n',
    ],
    ['an event stream', 'Accept: text/event-stream\r\n'],
  ])(
    'of %s loses lines that are counted, and never costs memory',
    async (_, headers) => {
      const socket = await stalled(headers);
      await Bun.sleep(100);
      const heap: number[] = [];
      for (let round = 0; round < ROUNDS; round++) {
        flood();
        await Bun.sleep(50);
        Bun.gc(true);
        heap.push(process.memoryUsage().rss / 1e6);
      }
      // 72 MB of lines were written since the second round.
      expect((heap.at(-1) ?? 0) - (heap[1] ?? 0)).toBeLessThan(30);
      let text = '';
      socket.on('data', (chunk) => {
        text += chunk.toString('latin1');
      });
      socket.resume();
      s.log.from('tls').info('afterwards');
      await until(() => text.includes('"message":"afterwards"'));
      const dropped = [...text.matchAll(/\{"type":"dropped","count":(\d+)\}/g)].reduce(
        (sum, [, count]) => sum + Number(count),
        0,
      );
      const seen = text.match(/"source":"tls"/g)?.length ?? 0;
      expect(dropped).toBeGreaterThan(1_000);
      expect(seen + dropped).toBe(ROUNDS * LINES + 1);
      socket.destroy();
    },
    60_000,
  );
});

test('a quiet line is pinged, and ends when the session does', async () => {
  const router = new Hono<ServerEnv>();
  createLiveLogs(s.server.app, 50).addRoutes(router);
  const listener = Bun.serve({
    hostname: '127.0.0.1',
    port: 0,
    websocket: socketHandler,
    fetch: (request, self) =>
      router.fetch(request, { address: null, upgrade: (owner: SocketOwner) => self.upgrade(request, { data: owner }) }),
  });
  const url = `http://127.0.0.1:${listener.port}`;
  const { frames, socket } = await follow('', url);
  const events = await fetch(`${url}${PATH}`, { headers: { cookie } });
  const text = events.text();
  const closed = new Promise<number>((resolve) => socket.addEventListener('close', ({ code }) => resolve(code)));
  await until(() => frames.filter(({ type }) => type === 'ping').length >= 2);
  await s.call('auth.logout', {});
  expect(await closed).toBe(4_401);
  expect(await text).toContain('{"type":"ping"}');
  cookie = await s.signIn();
  await listener.stop(true);
});
