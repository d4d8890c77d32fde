import { AppError } from '#core/errors.ts';
import { addressOf, fetchTls, type Send } from '../shared/network.ts';
import type { ConnectionSettings } from '#core/engines/shared/connection-settings.ts';

export type ServerSettings = Pick<
  ConnectionSettings,
  'host' | 'port' | 'database' | 'username' | 'password' | 'ssl_mode' | 'ssl_ca' | 'ssl_cert' | 'ssl_key'
>;

/** Sends requests to a ClickHouse server. */
export interface ClickhouseServer {
  /** @param parameters of the URL: settings, values and the query ID. Rejects as `send` does, or with the reason of `signal`. */
  post(text: string, parameters: Iterable<readonly [string, string]>, signal: AbortSignal): Promise<Response>;
}

/** By default servers accept URLs of up to one mebibyte. */
const MAX_URL_CHARACTERS = 1_000_000;
const LONG = 'The arguments of this call are too long for a ClickHouse server, which takes about one megabyte; send less.';
const PORT = 8443;

export function openClickhouseServer(settings: ServerSettings, send: Send): ClickhouseServer {
  const { database, username, password } = settings;
  const tls = fetchTls(settings);
  const account = `${username ?? 'default'}:${password ?? ''}`;
  const headers = {
    'Content-Type': 'text/plain; charset=utf-8',
    ...(username === null && password === null
      ? {}
      : { Authorization: `Basic ${Buffer.from(account, 'utf8').toString('base64')}` }),
  };
  return {
    async post(text, parameters, signal) {
      const url = addressOf({ ...settings, port: settings.port ?? PORT });
      url.search = new URLSearchParams([['database', database], ...[...parameters].map(([...pair]) => pair)]).toString();
      if (url.href.length > MAX_URL_CHARACTERS) throw new AppError('too_large', LONG);
      try {
        return await send(url, { method: 'POST', headers, body: text, signal, tls });
      } catch (error) {
        signal.throwIfAborted();
        throw atOtherPort(settings.ssl_mode === null ? orPlain(error) : error);
      }
    },
  };
}

export const HTTP_PORTS = 'Sluice needs the HTTP port of ClickHouse, usually 8443, or 8123 without TLS; not 9000 or 9440.';

/** An answer that is not HTTP often comes from ClickHouse's native protocol port. */
function atOtherPort(error: unknown): unknown {
  if (!(error instanceof AppError) || error.reason !== 'failed') return error;
  return new AppError('database_unreachable', `${error.detail} ${HTTP_PORTS}`, { reason: 'failed', cause: error });
}

/** Most self-hosted servers speak plain HTTP on another port. */
function orPlain(error: unknown): unknown {
  if (!(error instanceof AppError) || error.reason !== 'tls_failed') return error;
  const detail = `${error.detail} For a server without TLS set ssl_mode to disable; its port is usually 8123.`;
  return new AppError('database_unreachable', detail, { reason: 'tls_failed', cause: error });
}
