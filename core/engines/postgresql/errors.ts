import { AppError } from '#core/errors.ts';
import { messageStart } from '../shared/bounded-text.ts';

export interface ErrorContext {
  readonly database: string;
  /** The statement that failed; the position of the error refers to it. */
  readonly text?: string;
}

/** `reason` of an error after which the session is lost and nothing else is known about it. */
export const LOST = 'connection_lost';

interface ServerError {
  readonly code: string;
  readonly message: string;
  readonly hint?: string;
  readonly position?: string;
  readonly severity_local?: string;
}

type Translate = (error: ServerError, context: ErrorContext) => AppError;

const lost: Translate = () =>
  unreachable('The database closed the connection during the statement (it may be restarting); try again.', LOST);

const refusedAccount: Translate = (error) =>
  /pg_hba\.conf/.test(error.message)
    ? unreachable(
        'The database does not allow this account to log in from here (pg_hba.conf), perhaps because of ssl_mode; ask its administrator.',
        'auth_failed',
      )
    : unreachable('The database refused the user name or the password; check both.', 'auth_failed');

/** SQLSTATEs that are not an ordinary error of the statement. */
const TRANSLATIONS: Readonly<Record<string, Translate>> = {
  '28P01': refusedAccount,
  '28000': refusedAccount,
  '3D000': (_, { database }) =>
    unreachable(`There is no database named ${database} on this server; check the name of the database.`, 'database_missing'),
  '53300': () => unreachable('The database has no free connection; raise its limit or lower pool_size.', 'failed'),
  '57P01': lost,
  '57P02': lost,
  '57P03': () => unreachable('The database is starting up or shutting down; try again in a moment.', 'failed'),
  '57P05': lost,
  '25P04': () =>
    new AppError('timeout', 'The statement reached the time limit that the server has for a transaction (transaction_timeout).'),
  // transaction control within a procedure
  '2D000': () =>
    new AppError(
      'sql_error',
      'The procedure ends its transaction (COMMIT or ROLLBACK), which it cannot do here: every call runs in a transaction of Sluice. Take COMMIT and ROLLBACK out of the procedure; what it wrote is committed when the call ends.',
      { reason: '2D000' },
    ),
  '25006': (error) =>
    new AppError(
      'not_read_only',
      `This session is read-only, and the database refused the statement: ${messageStart(error.message)}`,
      {
        reason: '25006',
      },
    ),
};

/** Errors of the connection or its socket, not of the server. */
const LOST_CODES = new Set([
  'CONNECTION_CLOSED',
  'CONNECTION_ENDED',
  'CONNECTION_DESTROYED',
  'ECONNRESET',
  'EPIPE',
  'ECONNABORTED',
  'ETIMEDOUT',
  'ERR_STREAM_DESTROYED',
  'ERR_SOCKET_CLOSED',
]);

/** Translates an error of a session: the database's message for a faulty statement, a sentence of Sluice for all others. */
export function translateError(error: unknown, context: ErrorContext): AppError {
  if (error instanceof AppError) return error;
  if (!(error instanceof Error) || !('code' in error) || typeof error.code !== 'string') {
    return new AppError('internal', 'The database sent something that cannot be read; the log has the details.', {
      cause: error,
    });
  }
  if (isServerError(error)) return TRANSLATIONS[error.code]?.(error, context) ?? sqlError(error, context.text);
  if (LOST_CODES.has(error.code)) return lost({ code: error.code, message: '' }, context);
  if (error.code === 'CONNECT_TIMEOUT') {
    return unreachable('The database did not finish the login in time; check the host and the port.', 'timeout');
  }
  if (/SSL|TLS/.test(error.code)) {
    return unreachable(
      'The server closed the encrypted connection; it may require another client certificate. Check ssl_cert and ssl_key.',
      'tls_failed',
    );
  }
  return unreachable('The connection to the database failed; check the host and the port.', 'failed');
}

export function isCode(error: unknown, ...codes: readonly string[]): boolean {
  return error instanceof Error && 'code' in error && codes.some((code) => code === error.code);
}

/** True for errors that neither the server nor Sluice raised. The rest of the answer cannot be assigned to a statement then. */
export const isSessionFault = (error: unknown): boolean =>
  !(error instanceof AppError) && !(error instanceof Error && isServerError(error));

export function isServerError(error: Error): error is Error & ServerError {
  return 'severity_local' in error;
}

function sqlError(error: ServerError, text: string | undefined): AppError {
  const sentence = messageStart(error.message);
  const hint = error.hint === undefined ? '' : ` Hint: ${messageStart(error.hint)}`;
  const message = hint === '' || /[.!?]$/.test(sentence) ? sentence : `${sentence}.`;
  const position = error.position === undefined || text === undefined ? undefined : offsetOf(Number(error.position), text);
  return new AppError('sql_error', message + hint, { reason: error.code, ...(position === undefined ? {} : { position }) });
}

/** PostgreSQL counts characters from 1, JavaScript counts UTF-16 units from 0. */
function offsetOf(position: number, text: string): number {
  let offset = 0;
  for (let i = 1; i < position && offset < text.length; i++) offset += (text.codePointAt(offset) ?? 0) > 0xffff ? 2 : 1;
  return offset;
}

function unreachable(detail: string, reason: string): AppError {
  return new AppError('database_unreachable', detail, { reason });
}

export function notPostgres(): AppError {
  return unreachable(
    'The server at this host and port does not speak the PostgreSQL protocol; check the host and the port.',
    'failed',
  );
}
