import { afterEach, describe, expect, test } from 'bun:test';
import net from 'node:net';
import { createListener, type Listener } from '#mcp-host/transports/listener.ts';
import { streamProgress } from '#mcp-host/protocol/progress.ts';
import type { HostFetch } from '#mcp-host/transports/http.ts';
import { connectionOf, controlServer, snapshotOf, sqliteFolder, testHost, toolOf, until } from '../support.ts';

let listener: Listener | null = null;
afterEach(() => listener?.close(0));

const encoder = new TextEncoder();
const slowly: HostFetch = async (request, peer) => {
  if (request.headers.has('x-told')) {
    peer.hold();
    return streamProgress({ progress_token: 1, log_level: null }, 'tool', async () => {
      await Bun.sleep(2_000);
      peer.release();
      return '{}';
    });
  }
  if (request.method === 'GET') {
    peer.hold();
    const body = new ReadableStream<Uint8Array>({
      async start(controller) {
        controller.enqueue(encoder.encode(':\n\n'));
        await Bun.sleep(6_000);
        controller.enqueue(encoder.encode('data: late\n\n'));
        controller.close();
      },
    });
    return new Response(body, { headers: { 'content-type': 'text/event-stream' } });
  }
  await request.text();
  if (request.headers.has('x-slow')) {
    peer.hold();
    // Each of two, as the calls of a batch.
    peer.hold();
    peer.release();
    await Bun.sleep(6_000);
    peer.release();
  }
  return new Response('done');
};

async function open(): Promise<{ url: string; port: number }> {
  listener = createListener({ fetch: slowly, endStreams: () => undefined, idle_seconds: 1 });
  await listener.use({ host: '127.0.0.1', port: 0 });
  const url = listener.current()?.url ?? '';
  return { url, port: Number(new URL(url).port) };
}

/** Milliseconds until the other side closes. */
const closedAfter = (port: number, ...texts: string[]): Promise<number> =>
  new Promise((resolve) => {
    const began = performance.now();
    const socket = net.connect(port, '127.0.0.1', () => socket.write(texts[0] ?? ''));
    let next = 1;
    socket.on('data', () => {
      const text = texts[next++];
      if (text !== undefined) socket.write(text);
    });
    socket.on('error', () => undefined);
    socket.on('close', () => resolve(performance.now() - began));
  });

const half = 'POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 10\r\n\r\nabc';
const whole = 'POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc';

describe('a connection that says nothing', () => {
  test('in the middle of a request is closed, the first one or a later one', async () => {
    const { port } = await open();
    const times = await Promise.all([closedAfter(port, half), closedAfter(port, whole, half)]);
    expect(Math.max(...times)).toBeLessThan(12_000);
  }, 15_000);

  test('after a stream that answered a call is closed', async () => {
    const { port } = await open();
    const told = 'POST /mcp HTTP/1.1\r\nHost: localhost\r\nX-Told: 1\r\nContent-Length: 0\r\n\r\n';
    const time = await Promise.race([closedAfter(port, told), Bun.sleep(20_000)]);
    expect(time).toBeGreaterThan(1_900);
  }, 30_000);

  test('lives while a call runs, and while a stream is quiet', async () => {
    const { url } = await open();
    const [call, stream] = await Promise.all([
      fetch(`${url}/mcp`, { method: 'POST', body: '{}', headers: { 'x-slow': '1' } }).then((response) => response.text()),
      fetch(`${url}/mcp`).then((response) => response.text()),
    ]);
    expect(call).toBe('done');
    expect(stream).toBe(':\n\ndata: late\n\n');
  }, 15_000);
});

describe('a client that waits for a tool', () => {
  const ENDLESS = 'with recursive c(n) as (select 1 union all select n + 1 from c) select count(*) as n from c';
  const call = (id: number, name: string) => ({ jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: {} } });

  test.each([
    ['alone', call(1, 'slow')],
    ['in a batch whose other call has ended', [call(1, 'slow'), call(2, 'less_slow')]],
  ])(
    'in silence, %s, is answered',
    async (_, body) => {
      const folder = sqliteFolder();
      const control = controlServer();
      const host = await testHost(folder.directory, control.url);
      try {
        await until(() => host.host.health().control.connected);
        const connection = connectionOf({});
        const tools = [
          toolOf(connection, 'slow', ENDLESS, { timeout_ms: 6_000 }),
          toolOf(connection, 'less_slow', ENDLESS, { timeout_ms: 200 }),
        ];
        await control.deploy(snapshotOf(1, { connections: [connection], tools }));
        listener = createListener({ fetch: host.host.fetch, endStreams: () => undefined, idle_seconds: 1 });
        await listener.use({ host: '127.0.0.1', port: 0 });
        const answer = await fetch(`${listener.current()?.url}/mcp`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify(body),
        });
        expect([await answer.json()].flat()[0]).toMatchObject({ id: 1, result: { isError: true } });
      } finally {
        await host.stop();
        await control.stop();
        folder.remove();
      }
    },
    20_000,
  );
});
