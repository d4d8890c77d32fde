import { afterAll, describe, expect, test } from 'bun:test';
import net from 'node:net';
import { join } from 'node:path';
import { IDLE_SECONDS } from '#core/edge/body.ts';
import { denoCommand, on_deno } from '#test/support/deno.ts';
import { slowListener } from './slow-listener.ts';

const ends: (() => Promise<unknown>)[] = [];
afterAll(() => Promise.all(ends.map((end) => end())));

async function open(): Promise<{ url: string; port: number }> {
  const url = on_deno ? await openProgram() : await openSlowListener();
  return { url, port: Number(new URL(url).port) };
}

async function openSlowListener(): Promise<string> {
  const listener = slowListener();
  ends.push(() => listener.close(0));
  await listener.use({ host: '127.0.0.1', port: 0 });
  return listener.current()?.url ?? '';
}

async function openProgram(): Promise<string> {
  const program = Bun.spawn(denoCommand(join(import.meta.dir, 'slow-listener-program.ts')), { stdout: 'pipe' });
  ends.push(() => {
    program.kill();
    return program.exited;
  });
  const { value } = await program.stdout.getReader().read();
  return new TextDecoder().decode(value).trim();
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
  test.concurrent('lives longer than load balancers keep it', () => {
    // AWS and nginx: 60 s. Bun takes 255 s at most.
    expect(IDLE_SECONDS).toBeGreaterThan(65);
    expect(IDLE_SECONDS).toBeLessThan(256);
  });

  test.concurrent('in the middle of a request is closed, the first one or a later one', async () => {
    const { port } = await open();
    const times = await Promise.all([closedAfter(port, half), closedAfter(port, whole, half)]);
    expect(Math.max(...times)).toBeLessThan(30_000);
  }, 60_000);

  test.concurrent('after a stream that answered a call is closed', async () => {
    const { port } = await open();
    const told = 'POST /mcp HTTP/1.1\r\nHost: localhost\r\nX-Told: 1\r\nContent-Length: 0\r\n\r\n';
    const time = await Promise.race([closedAfter(port, told), Bun.sleep(20_000)]);
    expect(time).toBeGreaterThan(1_900);
  }, 60_000);

  test.concurrent('lives while a call runs, and while a stream is quiet', async () => {
    const { url } = await open();
    const [call, stream] = await Promise.all([
      fetch(`${url}/mcp`, { method: 'POST', body: '{}', headers: { 'x-slow': '1' } }).then((response) => response.text()),
      fetch(`${url}/mcp`).then((response) => response.text()),
    ]);
    expect(call).toBe('done');
    expect(stream).toBe(':\n\ndata: late\n\n');
  }, 60_000);
});
