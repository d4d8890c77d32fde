import http from 'node:http';
import https from 'node:https';
import { Readable } from 'node:stream';
import { openClickhouseServer, type Send } from '#core/engines/clickhouse/http.ts';
import { list, placeholder } from '#core/engines/clickhouse/parameters.ts';
import { createReader } from '#core/engines/clickhouse/run.ts';
import { withDeadline } from '#core/engines/shared/deadline.ts';
import { AppError } from '#core/errors.ts';
import type { Database, NetworkSettings } from '../definitions.ts';

/** A ClickHouse server over HTTP. Every statement is sent with `readonly = 1`. */
export function openClickhouse(settings: NetworkSettings): Database {
  const extras = Object.entries(settings.session).flatMap(([name, value]) => (value === null ? [] : [[name, value] as const]));
  const reader = createReader(openClickhouseServer(settings, send), Object.fromEntries(extras));
  return {
    placeholder,
    list,
    async query({ text, values, types }, limits) {
      if (limits.writes) throw new AppError('not_read_only', 'ClickHouse connections are read-only.');
      return withDeadline(limits.timeout_ms, limits.signal, (stop) => reader.read({ text, values, types }, limits, stop));
    },
    close: () => reader.close(),
  };
}

/** Not every `fetch` takes certificates. */
const send: Send = (url, { method, headers, body, signal, tls }) =>
  new Promise((resolve, reject) => {
    const secure = url.protocol === 'https:';
    const options = { method, headers: headers as Record<string, string>, ...(signal ? { signal } : {}), ...(secure ? tls : {}) };
    const request = (secure ? https : http).request(url, options as https.RequestOptions, (answer) => {
      resolve(new Response(Readable.toWeb(answer) as unknown as BodyInit, { status: answer.statusCode ?? 500 }));
    });
    request.on('error', reject);
    request.end(body);
  });
