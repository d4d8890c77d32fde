import { AppError } from '#core/errors.ts';
import { boundedText, messageStart } from '../shared/bounded-text.ts';
import { addressOf, fetchTls, type Send } from '../shared/network.ts';
import type { ConnectionSettings } from '#core/engines/shared/connection-settings.ts';

export type ServerSettings = Pick<
  ConnectionSettings,
  'host' | 'port' | 'password' | 'ssl_mode' | 'ssl_ca' | 'ssl_cert' | 'ssl_key'
>;

/** How a libSQL server is asked: always the same address, whatever it answers. */
export interface LibsqlServer {
  readonly hostname: string;
  /** Rejects with `database_unreachable`, with `sql_error` when the server names a fault of the statement, or as `signal` says. */
  post(path: string, body: object, signal: AbortSignal): Promise<Response>;
}

/** What the server says of a fault, such as the text of a statement that its parser refuses. */
const FAULT_CHARACTERS = 64 * 1024;
/** Nothing else may stand in a header. */
const TOKEN = /^[\x21-\x7e]+$/;

/** A token that can be sent at all. */
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

/** The server's parser answers a cursor with 500 and a sentence of its own. */
const PARSER = /^Internal Error: `(SQL (?:string|input).*)`$/s;

async function refusalOf(response: Response): Promise<AppError> {
  const { status } = response;
  const said = PARSER.exec(await faultOf(response))?.[1];
  if (said !== undefined) return new AppError('sql_error', messageStart(said.replace('SQL string could not be parsed: ', '')));
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
