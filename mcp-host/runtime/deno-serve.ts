import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { isStreamed, sendingOf } from './sending.ts';
import { isHostlessProbe } from '#core/edge/requests/hostless.ts';
import { hostName } from '#core/edge/origins.ts';
import type { Peer, BoundServer, ServeOptions } from './types.ts';

/** Longest time in which a whole request has to arrive; the host waits less for bodies that it reads. */
const REQUEST_MS = 120_000;
const CHECK_MS = 1_000;

/**
 * Uses `node:http`, because `Deno.serve` never closes a silent connection, neither between requests nor within one. Rejects when
 * the address cannot be opened.
 */
export function serve(options: ServeOptions): Promise<BoundServer> {
  const { host, port, number, idle_seconds, max_body_bytes, usual_path, fetch, fault } = options;
  const idle_ms = idle_seconds * 1_000;
  const sockets = new Set<Socket>();
  const busy = new Map<Socket, ServerResponse>();
  let stopping = false;

  const server = createServer(
    {
      keepAlive: true,
      keepAliveTimeout: idle_ms,
      headersTimeout: idle_ms,
      requestTimeout: REQUEST_MS,
      connectionsCheckingInterval: CHECK_MS,
    },
    (incoming, outgoing) => {
      const { socket } = incoming;
      busy.set(socket, outgoing);
      outgoing.once('close', () => {
        // An answer may close after the next request of its connection has begun.
        if (busy.get(socket) !== outgoing) return;
        busy.delete(socket);
        if (stopping) socket.end();
      });
      outgoing.on('error', () => outgoing.destroy());
      answer(incoming, outgoing).catch(() => outgoing.destroy());
    },
  );
  // Restored for every request of a connection.
  server.timeout = idle_ms;
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.once('close', () => {
      sockets.delete(socket);
      busy.delete(socket);
    });
    socket.on('timeout', () => socket.destroy());
  });

  async function answer(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    if (stopping) outgoing.setHeader('connection', 'close');
    if (Number(incoming.headers['content-length'] ?? 0) > max_body_bytes) return refuse(incoming, outgoing, 413);
    const gone = new AbortController();
    outgoing.once('close', () => {
      if (!outgoing.writableFinished) gone.abort();
    });
    const request = toRequest(incoming, gone.signal);
    if (request === null) return refuse(incoming, outgoing, 400);
    const path = incoming.url === usual_path ? usual_path : undefined;
    try {
      const response = await fetch(request, new SocketPeer(incoming.socket, number, idle_ms), path);
      await send(response, outgoing, incoming.method === 'HEAD');
    } catch (error) {
      // Deno ends a destroyed answer as if it were whole.
      if (outgoing.headersSent) return void incoming.socket.destroy();
      await send(fault(error instanceof Error ? error : new Error(String(error))), outgoing, false);
    } finally {
      // Discards an unread body; otherwise the sender could not finish sending it.
      if (request.body?.locked === false) await request.body.cancel();
    }
  }

  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      // Deno reports this code for an address that is not one of the machine.
      reject(error.code === 'EINVAL' ? Object.assign(error, { code: 'EADDRNOTAVAIL' }) : error);
    });
    server.listen({ host, port }, () => {
      server.removeAllListeners('error');
      // A connection that cannot be accepted, for example without free file descriptors, does not affect others.
      server.on('error', () => undefined);
      resolve({ port: (server.address() as AddressInfo).port, stop });
    });
  });

  function stop(now: boolean): Promise<void> {
    stopping = true;
    const closed = new Promise<void>((done) => server.close(() => done()));
    for (const socket of sockets) {
      if (now) socket.destroy();
      else if (!busy.has(socket)) socket.end();
    }
    return sockets.size === 0 ? Promise.resolve() : closed;
  }
}

function toRequest(incoming: IncomingMessage, signal: AbortSignal): Request | null {
  const { method = 'GET', url = '/', headers, rawHeaders } = incoming;
  try {
    const sent = new Headers();
    for (let at = 0; at + 1 < rawHeaders.length; at += 2) sent.append(rawHeaders[at] ?? '', rawHeaders[at + 1] ?? '');
    const host = hostName(headers.host ?? '') === null ? null : headers.host;
    if (host === null && ((headers.host ?? '') !== '' || !isHostlessProbe(method, url))) return null;
    const address = url.startsWith('/') ? `http://${host ?? 'localhost'}${url}` : url;
    const has_body = method !== 'GET' && method !== 'HEAD';
    return new Request(address, { method, headers: sent, signal, ...(has_body && { body: bodyOf(incoming), duplex: 'half' }) });
  } catch {
    return null;
  }
}

/** Reads the body on demand; a premature end is an error for the reader. */
function bodyOf(incoming: IncomingMessage): ReadableStream<Uint8Array<ArrayBuffer>> {
  incoming.pause();
  let open = true;
  return new ReadableStream(
    {
      start(controller) {
        const end = (how: () => void) => {
          if (open) how();
          open = false;
        };
        incoming.on('data', (chunk: Buffer<ArrayBuffer>) => {
          if (!open) return;
          controller.enqueue(new Uint8Array(chunk));
          incoming.pause();
        });
        incoming.once('end', () => end(() => controller.close()));
        incoming.on('error', (error) => end(() => controller.error(error)));
        incoming.once('close', () => end(() => controller.error(new Error('The connection was closed.'))));
      },
      pull: () => void incoming.resume(),
      // The rest is read and discarded, so that the connection can be used again.
      cancel: () => {
        open = false;
        incoming.resume();
      },
    },
    { highWaterMark: 0 },
  );
}

const EVENT_STREAM = 'text/event-stream';

async function send(response: Response, outgoing: ServerResponse, head_only: boolean): Promise<void> {
  const { status, headers, body } = response;
  outgoing.statusCode = status;
  for (const [name, value] of headers) outgoing.appendHeader(name, value);
  if (body === null || head_only) return void outgoing.end();
  const sending = sendingOf(response);
  outgoing.once('close', () => sending?.end());
  sending?.onDrop(() => outgoing.destroy());
  sending?.hold();
  const is_stream = isStreamed(response) || (headers.get('content-type') === EVENT_STREAM && (sending?.bytes ?? 0) === 0);
  if (!is_stream || headers.has('content-length')) {
    const bytes = new Uint8Array(await response.arrayBuffer());
    outgoing.setHeader('content-length', bytes.byteLength);
    return void outgoing.end(bytes);
  }
  outgoing.flushHeaders();
  const reader = body.getReader();
  outgoing.once('close', () => void reader.cancel().catch(() => undefined));
  for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
    if (outgoing.write(piece.value) || outgoing.closed) continue;
    await new Promise<void>((resume) => {
      const go = () => {
        outgoing.off('drain', go);
        outgoing.off('close', go);
        resume();
      };
      outgoing.once('drain', go);
      outgoing.once('close', go);
    });
  }
  outgoing.end();
}

function refuse(incoming: IncomingMessage, outgoing: ServerResponse, status: number): void {
  outgoing.writeHead(status, { connection: 'close' });
  outgoing.end();
  incoming.resume();
}

/** A timeout belongs to the connection, so it is restored for the next request. */
class SocketPeer implements Peer {
  readonly listener: number;
  readonly #socket: Socket;
  readonly #idle_ms: number;
  #holds = 0;

  constructor(socket: Socket, listener: number, idle_ms: number) {
    this.listener = listener;
    this.#socket = socket;
    this.#idle_ms = idle_ms;
  }

  address(): string {
    return this.#socket.remoteAddress ?? '';
  }

  hold(): void {
    if (this.#holds++ === 0) this.#socket.setTimeout(0);
  }

  release(): void {
    if (--this.#holds === 0) this.#socket.setTimeout(this.#idle_ms);
  }
}
