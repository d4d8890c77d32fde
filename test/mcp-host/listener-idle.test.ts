import { afterEach, describe, expect, test } from 'bun:test';
import net from 'node:net';
import { createListener, type Listener } from '#mcp-host/listener.ts';
import { tell } from '#mcp-host/tell.ts';
import type { HostFetch } from '#mcp-host/transports/http.ts';

let listener: Listener | null = null;
afterEach(() => listener?.close(0));

const encoder = new TextEncoder();
const slowly: HostFetch = async (request, _listener, _address, received, ending) => {
  if (request.headers.has('x-told')) {
    received?.();
    return tell({ progress_token: 1, log_level: null }, 'tool', () => Bun.sleep(2_000).then(() => '{}'), ending);
  }
  if (request.method === 'GET') {
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
  received?.();
  if (request.headers.has('x-slow')) await Bun.sleep(6_000);
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
