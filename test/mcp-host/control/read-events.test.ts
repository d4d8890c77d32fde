import { expect, test } from 'bun:test';
import { createLog } from '#core/process/log.ts';
import { fc } from '#test/support/chance.ts';
import { until } from '#test/support/until.ts';
import { createControl } from '#mcp-host/control/control.ts';
import { readEvents } from '#mcp-host/protocol/events.ts';

/** A body that arrives cut at these places. */
const arriving = (bytes: Uint8Array, cuts: readonly number[]): ReadableStream<Uint8Array> => {
  const places = [0, ...cuts.map((cut) => Math.min(cut, bytes.length)).toSorted((a, b) => a - b), bytes.length];
  return new ReadableStream({
    start(controller) {
      for (let n = 1; n < places.length; n++) controller.enqueue(bytes.slice(places[n - 1], places[n]));
      controller.close();
    },
  });
};

test('events are the same however their bytes arrive', async () => {
  const event = fc.record({ event: fc.stringMatching(/^[a-z]{1,8}$/), data: fc.array(fc.stringMatching(/^[^\r\n]*$/u)) });
  await fc.assert(
    fc.asyncProperty(fc.array(event), fc.array(fc.nat(400)), async (events, cuts) => {
      const text = events
        .map(({ event, data }) => `event: ${event}\n${data.map((line) => `data: ${line}\n`).join('')}\n`)
        .join('');
      const heard: { event: string; data: string }[] = [];
      await readEvents(arriving(Buffer.from(`${text}event: half\ndata: `), cuts), (name, data) =>
        heard.push({ event: name, data }),
      );
      // An event without data is none (HTML, section 9.2.6).
      const whole = events.filter(({ data }) => data.length > 0);
      expect(heard).toEqual(whole.map(({ event, data }) => ({ event, data: data.join('\n') })));
    }),
    { numRuns: 500 },
  );
});

test('an event between two chunks of line breaks is heard when it ends, not before', async () => {
  const heard: string[] = [];
  const stream = new TransformStream<Uint8Array, Uint8Array>();
  const reading = readEvents(stream.readable, (event, data) => heard.push(`${event} ${data}`));
  const writer = stream.writable.getWriter();
  await writer.write(Buffer.from('event: a\ndata: 1\n'));
  await Bun.sleep(1);
  expect(heard).toEqual([]);
  await writer.write(Buffer.from('\nevent: b\ndata: 2'));
  await Bun.sleep(1);
  expect(heard).toEqual(['a 1']);
  await writer.write(Buffer.from('\n\n'));
  await writer.close();
  await reading;
  expect(heard).toEqual(['a 1', 'b 2']);
});

test('what comes slowly comes in one go, however long it takes: only a connection without a byte is lost', async () => {
  const quiet_ms = 250;
  const news = { version: 7, padding: 'x'.repeat(60) };
  /** In twelve pieces, which take longer together than a connection may be quiet. */
  const slowly = (text: string): ReadableStream<Uint8Array> =>
    new ReadableStream({
      async start(controller) {
        const bytes = Buffer.from(text);
        const size = Math.ceil(bytes.length / 12);
        for (let at = 0; at < bytes.length; at += size) {
          await Bun.sleep(quiet_ms / 5);
          controller.enqueue(bytes.subarray(at, at + size));
        }
        // The stream stays open, and quiet.
        if (!text.startsWith('event')) controller.close();
      },
    });
  let streams = 0;
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch({ url }) {
      const is_stream = new URL(url).pathname.endsWith('/stream');
      streams += is_stream ? 1 : 0;
      return new Response(slowly(is_stream ? `event: snapshot\ndata: ${JSON.stringify(news)}\n\n` : JSON.stringify(news)));
    },
  });
  const connections: number[] = [];
  const reasons: unknown[] = [];
  const control = createControl({
    server_url: server.url.origin,
    service_token: 'x',
    id: 'h1',
    log: createLog('DEBUG', ({ message, fields }) => {
      if (message === 'control_lost') reasons.push(fields['reason']);
    }),
    now: () => 0,
    have: () => '',
    quiet_ms,
  });
  control.start({ onEvent: ({ data }) => Promise.resolve(void connections.push('version' in data ? streams : 0)) });
  expect(await control.fetchBeside('candidate', '')).toMatchObject(news);
  await until(() => reasons.length > 0);
  control.close();
  await server.stop(true);
  expect(connections).toEqual([1]);
  expect(String(reasons[0])).toContain(`nothing arrived for ${quiet_ms} ms`);
});

test('a connection is renewed now and then, so that a balancer spreads the hosts over the servers', async () => {
  const lost: string[] = [];
  const streams: string[] = [];
  const server = Bun.serve({
    port: 0,
    hostname: '127.0.0.1',
    fetch({ url }) {
      if (!url.includes('/stream')) return new Response(null, { status: 204 });
      streams.push(new URL(url).searchParams.get('have') ?? '');
      return new Response(new ReadableStream({ start: (open) => open.enqueue(Buffer.from(': hello\n\n')) }));
    },
  });
  const control = createControl({
    server_url: server.url.origin,
    service_token: 'x',
    id: 'h1',
    log: createLog('DEBUG', ({ message }) => void (message === 'control_lost' && lost.push(message))),
    now: () => 0,
    have: () => `7:${streams.length}`,
    renew_ms: 20,
  });
  control.start({ onEvent: async () => undefined });
  await until(() => streams.length >= 4);
  control.close();
  await server.stop(true);
  // The host says what it serves, so nothing is sent again, and nobody is alarmed.
  expect(streams.slice(0, 3)).toEqual(['7:0', '7:1', '7:2']);
  expect(lost).toEqual([]);
});
