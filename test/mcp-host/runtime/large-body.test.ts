import net from 'node:net';
import { describe, expect, test } from 'bun:test';
import { createSending } from '#mcp-host/runtime/sending.ts';
import { largeBody } from '#mcp-host/runtime/bun.ts';

const MIB = 1024 * 1024;

describe('the body of a large answer', () => {
  /** Serves one text, after a moment as every call does. */
  const serve = (text: string) =>
    Bun.serve({
      port: 0,
      async fetch() {
        await Bun.sleep(1);
        return new Response(largeBody(text, createSending(text.length)), { headers: { 'content-type': 'application/json' } });
      },
    });

  /** Bytes of the answer, by a reader that waits in the middle for `gate`. */
  const readSlowly = (port: number, gate: Promise<void>, onBegun: () => void): Promise<string> =>
    new Promise((resolve, reject) => {
      const chunks: Buffer[] = [];
      const socket = net.connect(port, '127.0.0.1', () =>
        socket.write('GET / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n'),
      );
      socket.once('data', () => {
        socket.pause();
        onBegun();
        void gate.then(() => socket.resume());
      });
      socket.on('data', (chunk: Buffer) => chunks.push(chunk));
      socket.once('error', reject);
      socket.once('close', () => resolve(Buffer.concat(chunks).toString()));
    });

  test('is the text, whatever its length and letters are', async () => {
    for (const text of ['', 'small', 'é'.repeat(14_999), 'é'.repeat(15_000), `€${'x'.repeat(3 * MIB)}😀`]) {
      using server = serve(text);
      expect((await (await fetch(server.url)).text()) === text).toBe(true);
      expect((await new Response(largeBody(text, createSending(0))).text()) === text).toBe(true);
    }
  });

  test('reaches whoever reads slowly, also when the server is being stopped', async () => {
    const server = serve('x'.repeat(20 * MIB));
    const begun = Promise.withResolvers<void>();
    const gate = Promise.withResolvers<void>();
    const answer = readSlowly(server.port ?? 0, gate.promise, begun.resolve);
    await begun.promise;
    const stopped = server.stop(false).then(() => server.stop(true));
    gate.resolve();
    expect((await answer).endsWith('\r\n0\r\n\r\n')).toBe(true);
    await stopped;
  });

  test('is forgotten when its reader leaves', async () => {
    using server = serve('x'.repeat(20 * MIB));
    for (let n = 0; n < 5; n++) {
      await new Promise<void>((resolve) => {
        const socket = net.connect(server.port ?? 0, '127.0.0.1', () =>
          socket.write('GET / HTTP/1.1\r\nhost: localhost\r\n\r\n'),
        );
        socket.once('data', () => socket.destroy());
        socket.once('close', () => resolve());
      });
    }
    while (server.pendingRequests > 0) await Bun.sleep(1);
    expect((await (await fetch(server.url)).text()).length).toBe(20 * MIB);
  });
});
