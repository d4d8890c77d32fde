import http from 'node:http';
import https from 'node:https';
import { Readable } from 'node:stream';
import { AppError } from '#core/errors.ts';
import type { Send } from '#core/engines/shared/network.ts';

/** Uses Node's HTTP client, because not every `fetch` supports custom certificates. */
export const send: Send = (url, { method, headers, body, signal, tls }) =>
  new Promise((resolve, reject) => {
    const failed = (cause: unknown) => {
      const detail = `The connection to ${url.host} failed; check the address, ssl_mode and that the server is running.`;
      reject(new AppError('database_unreachable', detail, { reason: 'failed', cause }));
    };
    const secure = url.protocol === 'https:';
    const options = { method, headers: headers as Record<string, string>, ...(signal ? { signal } : {}), ...(secure ? tls : {}) };
    const request = (secure ? https : http).request(url, options as https.RequestOptions, (answer) => {
      const status = answer.statusCode ?? 500;
      // Responses with these status codes must not have a body, not even an empty stream.
      const is_empty = [101, 204, 205, 304].includes(status);
      if (is_empty) answer.resume();
      try {
        resolve(new Response(is_empty ? null : (Readable.toWeb(answer) as unknown as BodyInit), { status }));
      } catch (error) {
        request.destroy();
        failed(error);
      }
    });
    request.on('error', failed);
    request.end(body);
  });
