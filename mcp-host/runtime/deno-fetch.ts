import { type IncomingMessage, request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { Readable } from 'node:stream';
import type { DialledFetch } from '#core/engines/shared/network.ts';

const NO_BODY: ReadonlySet<number> = new Set([101, 204, 205, 304]);

/**
 * Uses `node:http`, because Deno's `fetch` sets the Host header itself and cannot check a certificate for another name. Follows
 * no redirect.
 */
export const dialledFetch: DialledFetch = async (url, { method = 'GET', headers, body, signal, tls = {} }) => {
  const { protocol } = new URL(url);
  const { serverName: servername, ...trust } = tls;
  const send = protocol === 'https:' ? requestHttps : requestHttp;
  // A Response gives the content type of a body, and its bytes.
  const sent = new Response(body);
  const bytes = new Uint8Array(await sent.arrayBuffer());
  const named = sent.headers;
  for (const [name, value] of new Headers(headers)) named.set(name, value);
  if (bytes.byteLength > 0) named.set('content-length', String(bytes.byteLength));
  return new Promise((resolve, reject) => {
    // The signal is handled here, because callers expect its reason as the error.
    const outgoing = send(url, {
      method,
      headers: Object.fromEntries(named),
      agent: false,
      ...trust,
      ...(servername && { servername }),
    });
    const abort = () => {
      reject(signal?.reason);
      outgoing.destroy(signal?.reason instanceof Error ? signal.reason : undefined);
    };
    outgoing.on('error', reject);
    if (signal?.aborted === true) return abort();
    signal?.addEventListener('abort', abort, { once: true });
    outgoing.once('response', (incoming) => {
      incoming.once('close', () => signal?.removeEventListener('abort', abort));
      resolve(toResponse(incoming));
    });
    outgoing.end(bytes);
  });
};

function toResponse(incoming: IncomingMessage): Response {
  const headers = new Headers();
  const { rawHeaders, statusCode: status = 500 } = incoming;
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) headers.append(rawHeaders[at] ?? '', rawHeaders[at + 1] ?? '');
  if (NO_BODY.has(status)) incoming.on('error', () => undefined).resume();
  const body = NO_BODY.has(status) ? null : (Readable.toWeb(incoming) as unknown as ReadableStream<Uint8Array<ArrayBuffer>>);
  return new Response(body, { status, headers });
}
