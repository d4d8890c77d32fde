import type { FrozenQuery } from './frozen-query.ts';
import { AppError } from '#core/errors.ts';

/** SQLSTATE classes whose messages describe the statement or the server. All other messages may quote values of a row. */
const OF_STATEMENT = /^(?:08|0A|25|42|53|54|57)/;
/** The same as error types, for engines without SQLSTATE. */
const KINDS_OF_STATEMENT = /^(?:Parser|Syntax|Binder|Catalog)$/;
/** A name or syntax error can also come from text in a row: such an error has no position in the statement. */
const IN_A_TEXT = /^42(?!501)/;

/** Reads the SQLSTATE from the reason that drivers report: the code alone, or after the error number. */
export function sqlstateOf(error: unknown): string | null {
  if (!(error instanceof AppError) || (error.code !== 'sql_error' && error.code !== 'not_read_only')) return null;
  return /(?:^|\/)([0-9A-Z]{5})$/.exec(error.reason ?? '')?.[1] ?? null;
}

/** Returns the message of an error, without the database's text if that may quote a value of a masked column. */
export function maskedDetail(error: AppError, { masks }: Pick<FrozenQuery, 'masks'>): string {
  if (masks === undefined || error.code !== 'sql_error') return error.detail;
  const sqlstate = sqlstateOf(error);
  if (isOfStatement(error, sqlstate)) return error.detail;
  return `${reported(sqlstate)} Its message can contain masked values, so it is not shown.`;
}

const reported = (sqlstate: string | null): string =>
  `The database reported an error${sqlstate === null ? '' : ` (SQLSTATE ${sqlstate})`}.`;

/** The error fields of a failed call in the request log. */
export interface LoggedError {
  readonly error: string | null;
  readonly error_message: string | null;
  readonly sqlstate: string | null;
}

/** Error codes whose message is the database's or contains it. */
const OF_DATABASE: ReadonlySet<string | null> = new Set(['sql_error', 'not_read_only']);
export const isOfDatabase = (code: string | null): boolean => OF_DATABASE.has(code);

/**
 * Returns the error message that tokens of programs and agents can read. It omits the database's text, which can quote a row: an
 * agent could propose a statement that fails in order to read one.
 */
export function tokenMessage({ error, error_message, sqlstate }: LoggedError): string | null {
  if (error_message === null || !isOfDatabase(error)) return error_message;
  return `${reported(sqlstate)} Only signed-in people can read its message.`;
}

function isOfStatement({ position, reason }: AppError, sqlstate: string | null): boolean {
  if (sqlstate === null) return position !== undefined && (reason === undefined || KINDS_OF_STATEMENT.test(reason));
  // MySQL's numbered errors have no position.
  if (reason === sqlstate && position === undefined && IN_A_TEXT.test(sqlstate)) return false;
  return OF_STATEMENT.test(sqlstate);
}
