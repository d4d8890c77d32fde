import { AppError } from '#core/errors.ts';
import { messageStart } from '../shared/bounded-text.ts';

/** An error of the driver: the server's number and message, or a network code. */
interface MysqlError {
  readonly code?: string;
  readonly errno?: number;
  readonly sqlState?: string;
  readonly sqlMessage?: string;
  readonly message: string;
}

const READ_ONLY = 1792;
const TIMEOUTS: ReadonlySet<number> = new Set([1969, 3024]);
/** The server is shutting down, or ended the session before the statement arrived. */
const ENDED: ReadonlySet<number> = new Set([1053, 1927, 4031]);
/** `reason` of an error after which the session is lost and nothing else is known about it. */
export const LOST = 'connection_lost';
const NEAR = / near '([\s\S]*)' at line (\d+)$/;

const CONNECT_REASONS: Readonly<Record<number, readonly [string, string]>> = {
  1044: ['auth_failed', 'The account has no access to this database; grant it access or enter another account.'],
  1045: ['auth_failed', 'The user name or the password is wrong, or the account is not allowed to connect from here.'],
  1049: ['database_missing', 'There is no database with this name on the server.'],
  1130: ['auth_failed', 'The server accepts no connections from this address.'],
  1698: ['auth_failed', 'The account cannot log in with a password; enter another account.'],
  1040: ['failed', 'The server has no free connection left.'],
  1203: ['failed', 'The account has no free connection left.'],
  1226: ['failed', 'The account has used up its connections for now.'],
};

/** Translates a failed connection into `database_unreachable` with its reason. */
export function toConnectError(error: unknown): AppError {
  if (error instanceof AppError) return error;
  const { code = '', errno = 0, message } = asMysqlError(error);
  const known = CONNECT_REASONS[errno];
  if (known) return new AppError('database_unreachable', known[1], { reason: known[0], cause: error });
  if (code === 'HANDSHAKE_NO_SSL_SUPPORT') {
    const detail = 'The server does not offer TLS; turn TLS on there, or set ssl_mode to disable for a network you trust.';
    return new AppError('database_unreachable', detail, { reason: 'tls_failed', cause: error });
  }
  if (code === 'HANDSHAKE_SSL_ERROR' || /CERT|TLS|SSL|SIGNATURE/.test(`${code} ${message}`)) {
    const detail = 'The TLS connection failed; check ssl_mode, the certificate of the server and the certificate authority.';
    return new AppError('database_unreachable', detail, { reason: 'tls_failed', cause: error });
  }
  if (code === 'ETIMEDOUT') {
    const detail = 'The server accepted the connection but sent nothing; check that it is a MySQL or MariaDB server.';
    return new AppError('database_unreachable', detail, { reason: 'timeout', cause: error });
  }
  return new AppError('database_unreachable', 'The server refused the connection or is not a MySQL or MariaDB server.', {
    reason: 'failed',
    cause: error,
  });
}

/** Translates an error of a statement. The server's message is included where it helps. */
export function toStatementError(error: unknown, text: string): AppError {
  if (error instanceof AppError) return error;
  const { errno = 0, sqlMessage: whole, sqlState } = asMysqlError(error);
  if (whole === undefined || ENDED.has(errno)) return lost(error);
  const sqlMessage = messageStart(whole);
  if (errno === READ_ONLY)
    return new AppError('not_read_only', 'The statement writes, but this session is read-only.', { cause: error });
  if (TIMEOUTS.has(errno)) {
    return new AppError('timeout', 'The statement did not finish within its timeout and was stopped.', { cause: error });
  }
  const position = positionOf(sqlMessage, text);
  const reason = `${errno}/${sqlState ?? ''}`;
  return new AppError('sql_error', inShort(sqlMessage), {
    cause: error,
    reason,
    ...(position === undefined ? {} : { position }),
  });
}

const SYNTAX = /^You have an error in your SQL syntax; [\s\S]* to use near '([\s\S]*)' at line \d+$/;

/** Shortens a message: the position is reported separately, and readers do not need a reference to the manual. */
function inShort(message: string): string {
  const near = SYNTAX.exec(message)?.[1];
  if (near === undefined) return message;
  return near === '' ? 'Syntax error at the end of the statement' : `Syntax error near '${near}'`;
}

export function isReadOnlyRefusal(error: unknown): boolean {
  return error instanceof AppError && error.code === 'not_read_only';
}

/** The type of a value does not fit the operation (ER_ILLEGAL_PARAMETER_DATA_TYPES2_FOR_OPERATION of MariaDB). */
export const isMisfit = (error: unknown): boolean => error instanceof AppError && /^40(?:78|79)\//.test(error.reason ?? '');

function lost(cause: unknown): AppError {
  return new AppError('database_unreachable', 'The connection to the server was lost while the statement ran; try again.', {
    reason: LOST,
    cause,
  });
}

function asMysqlError(error: unknown): MysqlError {
  return error instanceof Error ? error : { message: String(error) };
}

/** Finds the position in the message's quote. The server quotes up to 80 characters from the fault on, or the unknown name. */
function positionOf(message: string, text: string): number | undefined {
  const near = NEAR.exec(message);
  if (near) {
    const rest = near[1] ?? '';
    if (text.endsWith(rest)) return text.length - rest.length;
    return onlyIndexOf(rest, text);
  }
  const name = /^Unknown (?:column|table|database) '([^']+)'|^Table '(?:[^']*\.)?([^']+)' doesn't exist/i.exec(message);
  const word = (name?.[1] ?? name?.[2])?.split('.').at(-1);
  return word ? onlyIndexOf(word, text) : undefined;
}

function onlyIndexOf(word: string, text: string): number | undefined {
  const index = text.indexOf(word);
  return index >= 0 && text.indexOf(word, index + 1) < 0 ? index : undefined;
}
