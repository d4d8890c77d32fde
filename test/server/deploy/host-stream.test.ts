import { afterEach, expect, test } from 'bun:test';
import { connect, type Socket } from 'node:net';
import type { HostEvent } from '#core/contract/deploy/control.ts';
import { createHostStream, type HostStream } from '#server/hosts/host-stream.ts';
import { until } from '#test/support/until.ts';

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

interface Reader {
  readonly stream: HostStream;
  readonly socket: Socket;
  readonly ends: (string | null)[];
  readonly text: () => string;
  readonly isClosed: () => boolean;
}

/** A stream as a host gets it, over a socket that reads only when it is told to. */
async function openReader(limits: { stall_ms?: number; ping_ms?: number } = {}): Promise<Reader> {
  const ends: (string | null)[] = [];
  const stream = createHostStream((reason) => ends.push(reason), limits);
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    idleTimeout: 0,
    development: false,
    error: () => new Response(null, { status: 500 }),
    fetch: () => new Response(stream.body),
  });
  const socket = connect(server.port ?? 0, '127.0.0.1');
  let text = '';
  let closed = false;
  socket.on('data', (data) => {
    text += data.toString();
  });
  socket.on('error', () => undefined);
  socket.on('close', () => {
    closed = true;
  });
  await new Promise((resolve) => socket.once('connect', resolve));
  socket.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n');
  closing.push(
    () => socket.destroy(),
    () => server.stop(true),
  );
  return { stream, socket, ends, text: () => text, isClosed: () => closed };
}

const MIB = 1024 * 1024;
const snapshot = (version: number, mib = 8): HostEvent => ({
  event: 'snapshot',
  data: JSON.stringify({ version, content: 'x'.repeat(mib * MIB) }),
});
const versionsIn = (text: string): number[] => [...text.matchAll(/"version":(\d+)/g)].map(([, version]) => Number(version));

test('a reader that is slow is sent the latest of what it has missed', async () => {
  const { stream, socket, text } = await openReader();
  stream.send({ event: 'names', data: { names: ['first'] } });
  await until(() => text().includes('first'));
  socket.pause();
  for (let version = 1; version <= 20; version++) {
    stream.send(snapshot(version));
    stream.send({ event: 'names', data: { names: [`names ${version}.`] } });
    await Bun.sleep(5);
  }
  socket.resume();
  await until(() => text().includes('names 20.'));
  const versions = versionsIn(text());
  expect(versions.at(-1)).toBe(20);
  expect(versions.length).toBeLessThan(6);
  expect(
    text()
      .match(/names \d+\./g)
      ?.at(-1),
  ).toBe('names 20.');
});

test('a stop takes the place of a snapshot that was not read, and the other way round', async () => {
  const { stream, socket, text } = await openReader();
  socket.pause();
  stream.send(snapshot(1, 32));
  await Bun.sleep(50);
  stream.send({ event: 'stop', data: {} });
  stream.send(snapshot(2));
  stream.send({ event: 'stop', data: {} });
  socket.resume();
  await until(() => text().includes('event: stop'));
  expect(versionsIn(text())).toEqual([1]);
});

test('a reader that reads nothing is dropped, and one that only reads slowly is not', async () => {
  const stalled = await openReader({ stall_ms: 400, ping_ms: 50 });
  const quiet = await openReader({ stall_ms: 400, ping_ms: 50 });
  stalled.socket.pause();
  stalled.stream.send(snapshot(1, 32));
  await until(() => stalled.ends.length > 0);
  expect(stalled.ends).toEqual(['it has read nothing for 0.4 s']);
  stalled.socket.resume();
  await until(stalled.isClosed);
  stalled.stream.send(snapshot(2));
  expect(quiet.ends).toEqual([]);
  expect(quiet.text()).toContain('event: ping');
  quiet.socket.destroy();
  await until(() => quiet.ends.length > 0);
  expect(quiet.ends).toEqual([null]);
});
