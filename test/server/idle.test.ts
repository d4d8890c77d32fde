import { afterAll, beforeAll, expect, test } from 'bun:test';
import net from 'node:net';
import { reachable, testDatabase } from '#test/support/databases.ts';
import { type ListeningServer, listeningServer } from '#test/support/server.ts';

/** What stands behind `/agent-mcp` thinks for longer than a connection may be idle. */
const behind = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  idleTimeout: 0,
  async fetch(request) {
    const text = await request.text();
    if (text === 'events') return new Response(told(), { headers: { 'content-type': 'text/event-stream' } });
    await Bun.sleep(6_000);
    return new Response(text);
  },
});
const told = (): ReadableStream<Uint8Array> =>
  new ReadableStream({
    async start(controller) {
      controller.enqueue(new TextEncoder().encode('data: one\n\n'));
      await Bun.sleep(2_500);
      controller.enqueue(new TextEncoder().encode('data: two\n\n'));
      controller.close();
    },
  });
let s: ListeningServer;
let cookie: string;
beforeAll(async () => {
  const variables = { SVC_ALLOW_PRIVATE_NETWORKS: 'true', SVC_AGENT_MCP_URL: `http://127.0.0.1:${behind.port}` };
  s = await listeningServer(undefined, variables, { idle_seconds: 1 });
  cookie = await s.signIn();
});
afterAll(async () => {
  await s.stop();
  await behind.stop(true);
});

/** Whether the other side closes within 9 seconds. Each text but the first is sent after something came back. */
const isClosed = (...texts: string[]): Promise<boolean> =>
  new Promise((resolve) => {
    let next = 1;
    const socket = net.connect(s.server.port, '127.0.0.1', () => socket.write(texts[0] ?? ''));
    const timer = setTimeout(() => {
      resolve(false);
      socket.destroy();
    }, 9_000);
    socket.on('data', () => {
      const text = texts[next++];
      if (text !== undefined) socket.write(text);
    });
    socket.on('error', () => undefined);
    socket.on('close', () => {
      clearTimeout(timer);
      resolve(true);
    });
  });

const json = 'Host: localhost\r\nContent-Type: application/json\r\n';
const half = `POST /api/v1/auth/login HTTP/1.1\r\n${json}Content-Length: 50\r\n\r\n{"user`;
const whole = `POST /api/v1/auth/login HTTP/1.1\r\n${json}Content-Length: 40\r\n\r\n{"username":"ada","password":"wrong..."}`;

test.concurrent('a half-sent request is closed, the first of a connection and a later one; quiet streams live on', async () => {
  const live_log = `GET /api/v1/deploy/logs HTTP/1.1\r\nHost: localhost\r\nCookie: ${cookie}\r\n\r\n`;
  const control = `GET /api/internal/hosts/stream?id=h1 HTTP/1.1\r\nHost: localhost\r\nX-Service-Token: ${s.service_token}\r\n\r\n`;
  const closed = await Promise.all([half, [whole, half], live_log, control].map((texts) => isClosed(...[texts].flat())));
  expect(closed).toEqual([true, true, false, false]);
}, 60_000);

test.concurrent('a connection whose stream has ended is closed, and no sooner', async () => {
  const events = 'POST /agent-mcp/mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 6\r\n\r\nevents';
  const [closed, text] = await Promise.all([
    isClosed(events),
    fetch(`${s.url}/agent-mcp/mcp`, { method: 'POST', body: 'events' }).then((response) => response.text()),
  ]);
  expect([closed, text]).toEqual([true, 'data: one\n\ndata: two\n\n']);
}, 60_000);

test.concurrent('what is forwarded may take long', async () => {
  const [posted, read] = await Promise.all([
    fetch(`${s.url}/agent-mcp/mcp`, { method: 'POST', body: 'a question' }).then((response) => response.text()),
    fetch(`${s.url}/agent-mcp/mcp`).then((response) => response.status),
  ]);
  expect([posted, read]).toEqual(['a question', 200]);
}, 60_000);

test.concurrent.skipIf(!reachable.postgres)(
  'a statement may take long',
  async () => {
    const database = await testDatabase('postgresql');
    try {
      const { host, port, username, database: name } = database.settings;
      const connection = { name: 'slow', db_type: 'postgresql', host, port, username, database: name, password: null };
      const { body } = await s.send('connections.create', connection);
      const answer = await s.send('preview.execute', {
        connection_id: body.id,
        sql_query: 'select 1 as one from pg_sleep(6)',
      });
      expect(answer).toMatchObject({ status: 200, body: { rows: [{ one: 1 }] } });
    } finally {
      await database.drop();
    }
  },
  60_000,
);
