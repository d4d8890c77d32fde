import net from 'node:net';
import { beforeAll, describe, expect, test } from 'bun:test';
import { PRODUCT_VERSION } from '#core/process/version.ts';
import { createSessions } from '#mcp-host/requests/sessions.ts';
import { connection, rpc, snapshotOf, toolOf } from '../support.ts';
import { useHost } from '../use-host.ts';
import { until } from '#test/support/until.ts';

const { control, host } = useHost('all');

beforeAll(() =>
  control.deploy(snapshotOf(1, { connections: [connection], tools: [toolOf(connection, 'one', 'select 1 as one')] })),
);

const initialize = (protocolVersion: string) =>
  rpc(host.mcp, {
    id: 1,
    method: 'initialize',
    params: { protocolVersion, capabilities: {}, clientInfo: { name: 'raw', version: '1' } },
  });

describe('legacy sessions', () => {
  test.each([
    ['2025-11-25', '2025-11-25'],
    ['2025-06-18', '2025-06-18'],
    ['2025-03-26', '2025-03-26'],
    ['2024-11-05', '2024-11-05'],
    ['2099-01-01', '2025-11-25'],
  ])('asking for %s agrees on %s', async (asked, agreed) => {
    const { status, headers, body } = await initialize(asked);
    expect(status).toBe(200);
    expect(headers.get('mcp-session-id')).toMatch(/^[\x21-\x7e]{32,}$/);
    expect(body.result).toMatchObject({ protocolVersion: agreed, serverInfo: { name: 'Shop', version: PRODUCT_VERSION } });
    expect(body.result?.['_meta']).toEqual({ 'sluice/snapshot': 1 });
  });

  test('serve requests, take notifications, and end', async () => {
    const { headers } = await initialize('2025-11-25');
    const session = { 'mcp-session-id': headers.get('mcp-session-id') ?? '', 'mcp-protocol-version': '2025-11-25' };
    expect((await rpc(host.mcp, { method: 'notifications/initialized' }, session)).status).toBe(202);
    expect((await rpc(host.mcp, { id: 2, method: 'ping' }, session)).body).toMatchObject({ id: 2, result: {} });
    const called = await rpc(host.mcp, { id: 'a', method: 'tools/call', params: { name: 'one' } }, session);
    expect(called.body).toMatchObject({ id: 'a', result: { structuredContent: { rows: [{ one: 1 }] } } });
    expect(called.body.result).not.toHaveProperty('resultType');
    expect(await rpc(host.mcp, { id: 3, method: 'nonsense' }, session)).toMatchObject({
      status: 200,
      body: { error: { code: -32_601 } },
    });
    expect((await rpc(host.mcp, { id: 4, result: {} }, session)).status).toBe(202);
    expect((await fetch(host.mcp, { method: 'DELETE', headers: session })).status).toBe(204);
    expect((await rpc(host.mcp, { id: 5, method: 'ping' }, session)).status).toBe(404);
  });

  test('an unknown session is 404 everywhere', async () => {
    const headers = { 'mcp-session-id': 'unknown' };
    expect((await rpc(host.mcp, { id: 5, method: 'ping' }, headers)).status).toBe(404);
    expect((await fetch(host.mcp, { headers })).status).toBe(404);
    expect((await fetch(host.mcp, { method: 'DELETE', headers })).status).toBe(404);
  });

  test('a request without a session is served on its own', async () => {
    expect((await rpc(host.mcp, { id: 5, method: 'tools/call', params: { name: 'one' } })).body).toMatchObject({
      result: { content: [{ type: 'text' }] },
    });
  });

  test('a batch is answered as a batch in the revisions that have them, and refused later', async () => {
    const messages = [
      { jsonrpc: '2.0', id: 1, method: 'ping' },
      { jsonrpc: '2.0', method: 'notifications/initialized' },
      { jsonrpc: '2.0', id: 2, method: 'nonsense' },
    ];
    const post = (version: string) =>
      fetch(host.mcp, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'mcp-protocol-version': version },
        body: JSON.stringify(messages),
      });
    for (const version of ['2024-11-05', '2025-03-26']) {
      expect(await (await post(version)).json()).toMatchObject([
        { id: 1, result: {} },
        { id: 2, error: { code: -32_601 } },
      ]);
    }
    expect((await post('2025-11-25')).status).toBe(400);
  });

  test('what is no message in a batch is answered for itself: the others have run, and are answered', async () => {
    const messages = [{ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'one' } }, { bad: 1 }, 7];
    const answered = await fetch(host.mcp, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'mcp-protocol-version': '2025-03-26' },
      body: JSON.stringify(messages),
    });
    expect([answered.status, await answered.json()]).toMatchObject([
      200,
      [
        { id: 1, result: { content: [{ type: 'text' }] } },
        { id: null, error: { code: -32_600 } },
        { id: null, error: { code: -32_600 } },
      ],
    ]);
  });

  test('the newer event stream of a session takes the place of the older', async () => {
    const { headers } = await initialize('2025-11-25');
    const session = { 'mcp-session-id': headers.get('mcp-session-id') ?? '', accept: 'text/event-stream' };
    const first = await fetch(host.mcp, { headers: session });
    expect(first.headers.get('content-type')).toBe('text/event-stream');
    const second = await fetch(host.mcp, { headers: session });
    expect(await first.text()).toBe(':\n\n');
    expect((await host.health()).streams).toBe(1);
    await second.body?.cancel();
    await until(async () => (await host.health()).streams === 0);
  });
});

describe('the session table', () => {
  test('keeps one credential’s sessions from another', () => {
    const sessions = createSessions({ now: () => 0 });
    const session = sessions.open('alice', '2025-11-25', '');
    expect(sessions.find(session?.id ?? '', 'bob')).toBeNull();
    expect(sessions.find(session?.id ?? '', 'alice')).toBe(session);
  });

  test('ends what idled out, but nothing that has a stream or a running call', () => {
    let now = 0;
    const sessions = createSessions({ now: () => now, idle_ms: 1_000 });
    const [idle, streaming, calling] = [1, 2, 3].map(() => sessions.open('', '2025-11-25', ''));
    if (!idle || !streaming || !calling) throw new Error('no session');
    streaming.streaming = true;
    calling.running.set(new AbortController(), 1);
    now = 2_000;
    sessions.sweep();
    expect([...sessions.all()]).toEqual([streaming, calling]);
  });

  test('a full table gives up its longest unused session, never one in use', () => {
    let now = 0;
    const sessions = createSessions({ now: () => ++now, limit: 2 });
    const a = sessions.open('', '2025-11-25', '');
    const b = sessions.open('', '2025-11-25', '');
    sessions.find(a?.id ?? '', '');
    const c = sessions.open('', '2025-11-25', '');
    expect([...sessions.all()].map(({ id }) => id)).toEqual([a?.id ?? '', c?.id ?? '']);
    expect(sessions.find(b?.id ?? '', '')).toBeNull();
    for (const session of sessions.all()) session.streaming = true;
    expect(sessions.open('', '2025-11-25', '')).toBeNull();
  });

  test('a caller that opens too many loses its own, and makes room for those that have fewer', () => {
    let now = 0;
    const sessions = createSessions({ now: () => ++now, limit: 6, limit_each: 4 });
    const open = (owner: string, holder?: string) => sessions.open(owner, '2025-11-25', '', holder);
    const first = open('quiet');
    for (let n = 0; n < 20; n++) open('greedy');
    expect([...sessions.all()].filter(({ owner }) => owner === 'greedy')).toHaveLength(4);
    expect([...sessions.all()].some((session) => session === first)).toBe(true);
    open('third');
    open('fourth');
    expect([...sessions.all()].map(({ owner }) => owner)).toEqual(['quiet', 'greedy', 'greedy', 'greedy', 'third', 'fourth']);
    for (const session of sessions.all()) if (session.owner === 'greedy') session.streaming = true;
    expect(open('fifth')).toBeNull();
    expect(open('quiet')).not.toBeNull();
    // Without credentials an address is a caller.
    const addresses = createSessions({ now: () => ++now, limit: 6, limit_each: 2 });
    for (const holder of ['a', 'a', 'a', 'b']) addresses.open('', '2025-11-25', '', holder);
    expect([...addresses.all()].map(({ holder }) => holder)).toEqual(['a', 'a', 'b']);
  });
});

describe('answers that are large', () => {
  const LARGE = 400_000;
  const MIB = 1024 * 1024;
  /** Twenty-one tools whose list has 8 MB. */
  const many = Array.from({ length: 21 }, (_, n) => {
    const tool = toolOf(connection, `tool_${n}`, 'select 1 as one');
    return { ...tool, listing: { ...tool.listing, description: 'x'.repeat(LARGE) } };
  });
  const list = (id: number) => ({ jsonrpc: '2.0', id, method: 'tools/list' });
  const body = (messages: unknown) => JSON.stringify(messages);
  const headers = { 'content-type': 'application/json', 'mcp-protocol-version': '2025-03-26' };
  const batch = async (messages: object[]) => {
    const text = await (await fetch(host.mcp, { method: 'POST', headers, body: body(messages) })).text();
    return { size: text.length, answers: JSON.parse(text) as { id: number; result?: object; error?: { message: string } }[] };
  };

  beforeAll(() => control.deploy(snapshotOf(2, { connections: [connection], tools: many })));

  test('to a batch have a limit together: what does not fit is said to have run, one alone always fits', async () => {
    const call = { jsonrpc: '2.0', id: 99, method: 'tools/call', params: { name: 'tool_1' } };
    const { size, answers } = await batch([...Array.from({ length: 49 }, (_, n) => list(n)), call]);
    expect(size).toBeLessThan(10 * MIB);
    expect(answers).toHaveLength(50);
    expect(answers.filter(({ result }) => result !== undefined).length).toBeLessThan(3);
    const refused = answers.filter(({ error }) => error !== undefined);
    expect(refused.length).toBeGreaterThan(47);
    for (const { error } of refused) expect(error?.message).toContain('The message was carried out');
    expect((await batch([list(1)])).size).toBeGreaterThan(20 * LARGE);
  });

  test('unread answers of one address have a common limit: the oldest are dropped, others are answered', async () => {
    const { port } = new URL(host.mcp);
    const readers = await Promise.all(Array.from({ length: 20 }, (_, n) => leaveUnread(Number(port), body(list(n)))));
    // 64 MiB hold seven of them.
    const sizes = await Promise.all(readers.map(({ read }) => read()));
    expect(sizes.filter((size) => size >= 20 * LARGE).length).toBe(7);
    expect((await batch([list(1)])).size).toBeGreaterThan(20 * LARGE);
  });

  /** Reads the beginning of an answer. `read` goes on, and gives what came until it was complete or cut off. */
  const leaveUnread = (port: number, sent: string) =>
    new Promise<{ read: () => Promise<number> }>((resolve) => {
      const head = ['POST /mcp HTTP/1.1', 'host: localhost', 'content-type: application/json', `content-length: ${sent.length}`];
      const socket = net.connect(port, '127.0.0.1', () => socket.write([...head, '', sent].join('\r\n')));
      let size = 0;
      const end = Promise.withResolvers<number>();
      const begun = () => resolve({ read: () => (socket.resume(), end.promise) });
      socket.on('data', (chunk: Buffer) => {
        if (size === 0) socket.pause();
        size += chunk.length;
        if (size >= 20 * LARGE) socket.destroy();
        begun();
      });
      socket.once('error', () => undefined);
      socket.once('close', () => {
        end.resolve(size);
        begun();
      });
    });
});
