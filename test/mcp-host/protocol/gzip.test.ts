import { beforeAll, describe, expect, test } from 'bun:test';
import { fc } from '#test/support/chance.ts';
import { gunzipSync } from 'node:zlib';
import { acceptsGzip, createPacked } from '#mcp-host/protocol/gzip.ts';
import { connectionOf, snapshotOf, toolOf } from '../support.ts';
import { useHost } from '../use-host.ts';
import { until } from '#test/support/until.ts';

describe('a text that is compressed once', () => {
  test('is the middle of every answer', async () => {
    const text = fc.oneof(fc.string({ unit: 'binary', maxLength: 300 }), fc.constantFrom('', 'x'.repeat(200_000), 'é'));
    await fc.assert(
      fc.asyncProperty(text, fc.array(fc.tuple(text, text), { minLength: 1, maxLength: 5 }), async (middle, around) => {
        const packed = createPacked(Buffer.from(middle));
        await until(() => packed.wrap('', ''));
        for (const [before, after] of around) {
          const answer = packed.wrap(before, after);
          if (Buffer.byteLength(before) > 65_535 || Buffer.byteLength(after) > 65_535) expect(answer).toBeNull();
          else expect(gunzipSync((await answer?.bytes()) ?? '').equals(Buffer.from(before + middle + after))).toBe(true);
        }
      }),
      { numRuns: 60 },
    );
  });

  test('is one stream that the decoders of browsers read to its end', async () => {
    const packed = createPacked(Buffer.from('middle '.repeat(5_000)));
    const answer = await until(() => packed.wrap('before ', 'after'));
    const stream = answer.stream().pipeThrough(new DecompressionStream('gzip'));
    expect(await new Response(stream).text()).toBe(`before ${'middle '.repeat(5_000)}after`);
  });
});

test.each([
  ['gzip', true],
  ['deflate, gzip', true],
  ['br;q=1.0, gzip;q=0.8, *;q=0.1', true],
  ['GZIP ; q=0.001', true],
  ['x-gzip', true],
  ['gzip;q=0', false],
  ['gzip; q=0.000', false],
  ['br', false],
  ['*', false],
  ['notgzip', false],
  ['', false],
  [null, false],
])('Accept-Encoding %j takes gzip: %j', (header, takes) => expect(acceptsGzip(header)).toBe(takes));

describe('a list that is long', () => {
  const { control, host } = useHost('all');
  const connection = connectionOf({});
  beforeAll(async () => {
    const tools = Array.from({ length: 200 }, (_, n) => toolOf(connection, `tool_${n}`, `select ${n} as n`));
    await control.deploy(snapshotOf(1, { connections: [connection], tools }));
  });

  const list = (id: string | number, headers: Record<string, string>, path = host.mcp) =>
    fetch(path, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers },
      body: JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/list' }),
      decompress: false,
    });

  test('comes as gzip to whoever takes it, the same bytes as plain', async () => {
    const plain = await (await list(7, { 'accept-encoding': 'identity' })).text();
    const first = await list(7, { 'accept-encoding': 'gzip, deflate' });
    // Nobody waits for the compression.
    expect([null, 'gzip']).toContain(first.headers.get('content-encoding'));
    const packed = await until(async () => {
      const response = await list(7, { 'accept-encoding': 'gzip, deflate' });
      return response.headers.get('content-encoding') === 'gzip' && response;
    });
    expect(packed.headers.get('vary')).toContain('Accept-Encoding');
    expect(packed.headers.get('content-type')).toBe('application/json');
    const bytes = await packed.bytes();
    expect(bytes.length * 8).toBeLessThan(plain.length);
    expect(gunzipSync(bytes).toString()).toBe(plain);
    expect(JSON.parse(plain).result.tools).toHaveLength(200);
    for (const id of ['"', 'é'.repeat(1_000), 15]) {
      const response = await list(id, { 'accept-encoding': 'gzip' });
      expect(response.headers.get('content-encoding')).toBe('gzip');
      expect(JSON.parse(gunzipSync(await response.bytes()).toString()).id).toBe(id);
    }
  });

  test('comes plain to whoever refuses gzip or reads events', async () => {
    for (const headers of [{ 'accept-encoding': 'gzip;q=0' }, { 'accept-encoding': 'br' }]) {
      const response = await list(1, headers);
      expect(response.headers.get('content-encoding')).toBeNull();
      expect(JSON.parse(await response.text()).result.tools).toHaveLength(200);
    }
    const events = await list(1, { 'accept-encoding': 'gzip', accept: 'text/event-stream' });
    expect(events.headers.get('content-encoding')).toBeNull();
    expect(await events.text()).toStartWith('event: message\ndata: {"jsonrpc":"2.0","id":1');
  });

  test('is read by fetch as if nothing were', async () => {
    for (let n = 0; n < 3; n++) {
      const response = await fetch(host.mcp, {
        method: 'POST',
        headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
        body: JSON.stringify({ jsonrpc: '2.0', id: n, method: 'tools/list' }),
      });
      const body = (await response.json()) as { id: number; result: { tools: object[] } };
      expect([body.id, body.result.tools.length]).toEqual([n, 200]);
    }
  });
});
