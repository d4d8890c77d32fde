import { createHash, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { Readable, Transform } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { createMcpHandler } from '@modelcontextprotocol/server';
import { serveStdio, StdioServerTransport } from '@modelcontextprotocol/server/stdio';
import { preflight, setCors } from '#core/edge/cors.ts';
import { isHostAllowed, isOriginAllowed } from '#core/edge/origins.ts';
import { oneLine, withWholeEvents } from '#core/lib/text/wire-text.ts';
import { createCatalogue } from './catalogue.ts';
import type { Project } from './definitions.ts';
import { demandSecrets, secret, setting } from './settings.ts';

const PATH = '/mcp';
/** Maximum time for running calls during shutdown, in milliseconds. */
const GRACE_MS = 8_000;
const LOOPBACK = ['127.0.0.1', '::1', 'localhost'];

/** Serves over HTTP on HOST and PORT at /mcp, or over stdin and stdout with `--stdio`. */
export function serve(project: Project): void {
  const stdio = process.argv.includes('--stdio');
  const token = project.needs_token && !stdio ? secret('MCP_TOKEN') : setting('MCP_TOKEN', '');
  demandSecrets();
  const factory = createCatalogue(project);
  const close = () => Promise.all(Object.values(project.connections).map((database) => database.close()));
  if (stdio) {
    serveStdio(factory, { transport: new StdioServerTransport(process.stdin, wholeLines()) });
    endWith(close);
    return;
  }

  const host = setting('HOST', project.host);
  const port = Number(setting('PORT', String(project.port)));
  const handler = createMcpHandler(factory, { onerror: (error) => console.error(error.message) });
  const hosts = new Set([host, ...setting('ALLOWED_HOSTS', '').split(',')].map((name) => name.trim().toLowerCase()));

  const answerMcp = async (request: Request): Promise<Response> => {
    if (token !== '' && !sameText(request.headers.get('authorization') ?? '', `Bearer ${token}`)) {
      return new Response('Send the token as Authorization: Bearer …', {
        status: 401,
        headers: { 'WWW-Authenticate': 'Bearer' },
      });
    }
    return withWholeEvents(await handler.fetch(request));
  };
  let ending = false;
  const answer = async (request: Request): Promise<Response> => {
    // Open connections can still send requests during shutdown.
    if (ending) return new Response('The server is shutting down.', { status: 503, headers: { 'Retry-After': '5' } });
    const { pathname } = new URL(request.url);
    if (pathname === '/health') return Response.json({ status: 'ok' });
    if (pathname !== PATH) return new Response('Not found', { status: 404 });
    const named = request.headers.get('host') ?? '';
    // Another host name means that a web page was pointed at this machine (DNS rebinding).
    if (!isHostAllowed(named, hosts)) return new Response('Add this host to ALLOWED_HOSTS.', { status: 403 });
    const origin = request.headers.get('origin');
    if (origin === null) return answerMcp(request);
    if (!isOriginAllowed(origin, named, false, project.allowed_origins))
      return new Response('Add this origin to allowed_origins in main.ts.', { status: 403 });
    const asked = request.headers.get('access-control-request-headers');
    const response = request.method === 'OPTIONS' ? preflight(asked) : await answerMcp(request);
    const headers = new Headers(response.headers);
    setCors(headers, origin);
    return new Response(response.body, { status: response.status, headers });
  };
  /** Requests that end without the client closing them. */
  const open = new Set<Promise<void>>();
  const server = createServer((incoming, outgoing) => {
    const relayed = relay(incoming, outgoing, answer);
    if (incoming.method !== 'POST' || incoming.headers['mcp-method'] === 'subscriptions/listen') return;
    open.add(relayed);
    void relayed.finally(() => open.delete(relayed));
  });
  server.listen(port, host, () => {
    const address = server.address();
    const shown = typeof address === 'object' && address !== null ? address.port : port;
    console.log(`${project.name} serves MCP on http://${host.includes(':') ? `[${host}]` : host}:${shown}${PATH}`);
    if (token === '' && !LOOPBACK.includes(host))
      console.error('Anyone who can reach this address can call the tools. Set MCP_TOKEN to require a token.');
  });
  endWith(async () => {
    ending = true;
    server.close();
    await Promise.race([Promise.all(open), sleep(GRACE_MS)]);
    await handler.close();
    server.closeAllConnections();
    await close();
  });
}

/** Standard output with each message on exactly one line, even for readers that split at other line separators. */
function wholeLines(): Transform {
  const lines = new Transform({ transform: (chunk, _, done) => done(null, oneLine(String(chunk))) });
  lines.pipe(process.stdout);
  return lines;
}

/** Passes a Node request to a web request handler and sends its response. */
async function relay(
  incoming: IncomingMessage,
  outgoing: ServerResponse,
  answer: (request: Request) => Promise<Response>,
): Promise<void> {
  const gone = new AbortController();
  outgoing.on('close', () => gone.abort());
  try {
    const { method = 'GET', headers, url = '/' } = incoming;
    const body = method === 'GET' || method === 'HEAD' ? null : (Readable.toWeb(incoming) as unknown as BodyInit);
    const request = new Request(new URL(url, `http://${headers.host ?? 'localhost'}`), {
      method,
      headers: Object.entries(headers).flatMap(([name, value]): [string, string][] =>
        typeof value === 'string' ? [[name, value]] : [],
      ),
      body,
      duplex: 'half',
      signal: gone.signal,
    } as RequestInit);
    const response = await answer(request);
    outgoing.writeHead(response.status, Object.fromEntries(response.headers));
    outgoing.flushHeaders();
    if (response.body !== null) for await (const chunk of response.body) outgoing.write(chunk);
  } catch (error) {
    if (!gone.signal.aborted) console.error(error);
    if (!outgoing.headersSent) outgoing.writeHead(400);
  }
  const sent = new Promise<void>((resolve) => {
    outgoing.once('finish', resolve);
    outgoing.once('close', resolve);
  });
  outgoing.end();
  if (!gone.signal.aborted) await sent;
}

function sameText(a: string, b: string): boolean {
  return timingSafeEqual(hash(a), hash(b));
}

function hash(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

function endWith(close: () => Promise<unknown>): void {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      setTimeout(() => process.exit(1), GRACE_MS + 1_500).unref();
      void close().then(() => process.exit(0));
    });
  }
}
