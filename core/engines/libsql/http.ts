import { AppError } from '#core/errors.ts';
import { boundedText, messageStart } from '../shared/bounded-text.ts';
import { addressOf, fetchTls, type Send } from '../shared/network.ts';
import type { ConnectionSettings } from '#core/engines/shared/connection-settings.ts';

export type ServerSettings = Pick<
  ConnectionSettings,
  'host' | 'port' | 'password' | 'ssl_mode' | 'ssl_ca' | 'ssl_cert' | 'ssl_key'
>;

/** Sends requests to a libSQL server. The address never changes, whatever the server answers. */
export interface LibsqlServer {
  readonly hostname: string;
  /**
   * Rejects with `database_unreachable`, with `sql_error` when the server reports an error of the statement, or with the reason
   * of `signal`.
   */
  post(path: string, body: object, signal: AbortSignal): Promise<Response>;
}

/** Maximum characters of an error answer, which can quote the statement. */
const FAULT_CHARACTERS = 64 * 1024;
/** Only these characters are allowed in a header. */
const TOKEN = /^[\x21-\x7e]+$/;

/** Whether a token can be sent in a header. */
export const isToken = (text: string): boolean => TOKEN.test(text);

export function openLibsqlServer(settings: ServerSettings, send: Send): LibsqlServer {
  const { password } = settings;
  if (password !== null && !isToken(password)) {
    throw new AppError('database_unreachable', 'The token contains invalid characters; enter it again as the password.', {
      reason: 'auth_failed',
    });
  }
  const address = addressOf(settings);
  const tls = fetchTls(settings);
  const headers = {
    'Content-Type': 'application/json',
    ...(password === null ? {} : { Authorization: `Bearer ${password}` }),
  };

  return {
    hostname: address.hostname,
    async post(path, body, signal) {
      const url = new URL(address);
      url.pathname = path;
      const request = { method: 'POST', headers, body: JSON.stringify(body), signal, tls };
      const response = await send(url, request).catch((error: unknown) => {
        signal.throwIfAborted();
        throw error;
      });
      if (response.ok) return response;
      throw await refusalOf(response);
    },
  };
}

/** The server answers a cursor request with status 500 and this sentence when its parser fails. */
const PARSER = /^Internal Error: `(SQL (?:string|input).*)`$/s;

async function refusalOf(response: Response): Promise<AppError> {
  const { status } = response;
  const message = PARSER.exec(await faultOf(response))?.[1];
  if (message !== undefined)
    return new AppError('sql_error', messageStart(message.replace('SQL string could not be parsed: ', '')));
  const [reason, detail] =
    status === 401 || status === 403
      ? ['auth_failed', 'The token is wrong, has expired or does not allow this; enter another one as the password.']
      : status === 404
        ? ['database_missing', 'There is no libSQL database with Hrana 3 at this address; check the host.']
        : ['failed', `The server answered with the HTTP status ${status}; check the host and the port.`];
  return new AppError('database_unreachable', detail, { reason });
}

async function faultOf(response: Response): Promise<string> {
  try {
    const body: unknown = JSON.parse(await boundedText(response, FAULT_CHARACTERS));
    if (typeof body !== 'object' || body === null || !('error' in body)) return '';
    return typeof body.error === 'string' ? body.error : '';
  } catch {
    return '';
  }
}
