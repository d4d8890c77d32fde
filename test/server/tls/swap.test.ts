import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import tls from 'node:tls';
import { type Pebble, pebble_is_here, startPebble } from '#test/support/pebble.ts';
import { freePort } from '#test/support/free-port.ts';
import { type ListeningServer, listeningServer } from '#test/support/server.ts';
import { type HttpsClient, httpsClient } from './client.ts';
import { until } from '#test/support/until.ts';

const SWAPS = 6;
const NAME = 'ui.example.com';
const BODY = 'x'.repeat(300_000);

describe.skipIf(!pebble_is_here)('while the certificate is swapped', () => {
  let pebble: Pebble;
  let s: ListeningServer;
  let client: HttpsClient;
  let root: string;
  let cookie: string;
  /** What stands behind `/agent-mcp` sends back what it gets. */
  const behind = Bun.serve({ hostname: '127.0.0.1', port: 0, fetch: async (request) => new Response(await request.text()) });

  beforeAll(async () => {
    const front = freePort();
    pebble = await startPebble(front);
    const variables = {
      SVC_PORT: String(front),
      SVC_SSL_PORT: '0',
      SVC_ACME_DIRECTORY_URL: pebble.directory,
      SVC_AGENT_MCP_URL: `http://127.0.0.1:${behind.port}`,
    };
    s = await listeningServer(undefined, variables, { certificates: { ask: pebble.ask } });
    cookie = await s.signIn();
    await s.call('config.update', { ssl_enabled: true, ui_domain: NAME, acme_email: 'ada@example.com' });
    await until(() => s.server.httpsPort() !== null);
    root = await pebble.root();
    client = httpsClient(s.server.httpsPort, () => root);
  }, 90_000);
  afterAll(async () => {
    await s.stop();
    await behind.stop(true);
    await pebble.stop();
  });

  /** The session of the plain port, as the cookie of the secure one is called. */
  const secure = () => cookie.replace(/^svc_session/, '__Host-svc_session');

  test(`${SWAPS} times, no request, upload, stream or WebSocket is lost`, async () => {
    const running = new AbortController();
    const lost: string[] = [];
    const answered = { kept: 0, closed: 0, uploaded: 0 };
    const load = async (kind: keyof typeof answered, ask: () => Promise<Response>, wanted: string) => {
      while (!running.signal.aborted) {
        try {
          const response = await ask();
          const text = await response.text();
          if (response.status === 200 && text.includes(wanted)) answered[kind] += 1;
          else lost.push(`${kind}: ${response.status} ${text.slice(0, 100)}`);
        } catch (error) {
          lost.push(`${kind}: ${String(error)}`);
        }
      }
    };
    const health = (connection: string) => () => client.ask(NAME, '/api/health', { headers: { connection } });
    const upload = () => client.ask(NAME, '/agent-mcp/mcp', { method: 'POST', body: BODY });
    const stream = await openEvents();
    const socket = await openSocket();
    const working = [
      ...Array.from({ length: 4 }, () => load('kept', health('keep-alive'), 'ok')),
      ...Array.from({ length: 4 }, () => load('closed', health('close'), 'ok')),
      ...Array.from({ length: 2 }, () => load('uploaded', upload, BODY)),
    ];
    const serials = [(await client.shown(NAME)).serial];
    for (let swap = 0; swap < SWAPS; swap++) {
      expect((await s.send('ssl.issue', { wait: true, force: true })).status).toBe(200);
      await until(async () => !serials.includes((await client.shown(NAME)).serial));
      serials.push((await client.shown(NAME)).serial);
      // Clients that name no host see the new one as well.
      expect((await client.shown(null)).serial).toBe(serials.at(-1) ?? '');
    }
    running.abort();
    await Promise.all(working);

    expect(new Set(serials).size).toBe(SWAPS + 1);
    expect(lost).toEqual([]);
    for (const count of Object.values(answered)) expect(count).toBeGreaterThan(SWAPS);
    // The streams that were opened under the first certificate still tell what happens.
    s.log.from('tls').info('the last line of the test');
    await until(() => stream.text().includes('the last line of the test'));
    await until(() => socket.text().includes('the last line of the test'));
    expect([stream.ended(), socket.ended()]).toEqual([false, false]);
    stream.close();
    socket.close();
  }, 180_000);

  test('who reads slowly gets everything', async () => {
    const answer = await client.ask(NAME, '/api/docs/assets/swagger-ui-bundle.js');
    const reader = answer.body?.getReader();
    let size = 0;
    for (let part = await reader?.read(); part !== undefined && !part.done; part = await reader?.read()) {
      size += part.value.byteLength;
      if (size < 400_000) await Bun.sleep(5);
    }
    expect(size).toBe(Number(answer.headers.get('content-length')));
  }, 60_000);

  test('who goes away is noticed behind the TLS', async () => {
    const ending = new AbortController();
    const headers = { 'x-service-token': s.service_token };
    const stream = await client.ask(NAME, '/api/internal/hosts/stream?id=h1', { headers, signal: ending.signal });
    expect(stream.status).toBe(200);
    await until(() => s.server.app.hosts.list().length === 1);
    ending.abort();
    await until(() => s.server.app.hosts.list().length === 0);
  }, 60_000);

  /** The live log as events. */
  async function openEvents() {
    const ending = new AbortController();
    const response = await client.ask(NAME, '/api/v1/deploy/logs', { headers: { cookie: secure() }, signal: ending.signal });
    expect(response.status).toBe(200);
    let text = '';
    let ended = false;
    void (async () => {
      const decoder = new TextDecoder();
      for await (const part of response.body ?? []) text += decoder.decode(part, { stream: true });
    })()
      .catch(() => undefined)
      .finally(() => (ended = true));
    await until(() => text.includes('hello'));
    return { text: () => text, ended: () => ended, close: () => ending.abort() };
  }

  /** The live log as a WebSocket, spoken by hand: no client lets the name differ from the address. */
  async function openSocket() {
    let text = '';
    let ended = false;
    const socket = tls.connect({ host: '127.0.0.1', port: s.server.httpsPort() ?? 0, servername: NAME, ca: root }, () => {
      const key = btoa('0123456789abcdef');
      const lines = ['Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Version: 13', `Sec-WebSocket-Key: ${key}`];
      socket.write(
        `GET /api/v1/deploy/logs HTTP/1.1\r\nHost: ${NAME}\r\nOrigin: https://${NAME}\r\nCookie: ${secure()}\r\n${lines.join('\r\n')}\r\n\r\n`,
      );
    });
    socket.on('data', (bytes) => (text += bytes.toString('latin1')));
    socket.on('error', () => undefined);
    socket.on('close', () => (ended = true));
    await until(
      () => text.includes('hello'),
      () => text,
    );
    expect(text).toStartWith('HTTP/1.1 101');
    return { text: () => text, ended: () => ended, close: () => socket.destroy() };
  }
});
