import type { FrozenQuery } from './frozen-query.ts';
import { AppError } from '#core/errors.ts';

/** SQLSTATE classes whose messages speak of the statement and the server. All others may quote what stands in a row. */
const OF_STATEMENT = /^(?:08|0A|25|42|53|54|57)/;
/** The same in words of an engine that has no SQLSTATE. */
const KINDS_OF_STATEMENT = /^(?:Parser|Syntax|Binder|Catalog)$/;
/** A name or a syntax can also be wrong in a text that is read from a row: such a fault has no place in the statement. */
const IN_A_TEXT = /^42(?!501)/;

/** As drivers tell it: by itself, or behind the number of the error. */
export function sqlstateOf(error: unknown): string | null {
  if (!(error instanceof AppError) || (error.code !== 'sql_error' && error.code !== 'not_read_only')) return null;
  return /(?:^|\/)([0-9A-Z]{5})$/.exec(error.reason ?? '')?.[1] ?? null;
}

/** What an error says, without what a database says of a value in a column that is masked. */
export function maskedDetail(error: AppError, { masks }: Pick<FrozenQuery, 'masks'>): string {
  if (masks === undefined || error.code !== 'sql_error') return error.detail;
  const sqlstate = sqlstateOf(error);
  if (isOfStatement(error, sqlstate)) return error.detail;
  return `${reported(sqlstate)} Its message can contain masked values, so it is not shown.`;
}

const reported = (sqlstate: string | null): string =>
  `The database reported an error${sqlstate === null ? '' : ` (SQLSTATE ${sqlstate})`}.`;

/** A failed call as the request log has it. */
export interface LoggedError {
  readonly error: string | null;
  readonly error_message: string | null;
  readonly sqlstate: string | null;
}

/** Codes whose sentence is the database's own, or holds it. */
const OF_DATABASE: ReadonlySet<string | null> = new Set(['sql_error', 'not_read_only']);
export const isOfDatabase = (code: string | null): boolean => OF_DATABASE.has(code);

/**
 * Why a call failed, for the credential of a program or an agent: what a database says can quote a row, and a statement that only was
 * proposed could fail in order to read one.
 */
export function tokenMessage({ error, error_message, sqlstate }: LoggedError): string | null {
  if (error_message === null || !isOfDatabase(error)) return error_message;
  return `${reported(sqlstate)} Only signed-in people can read its message.`;
}

function isOfStatement({ position, reason }: AppError, sqlstate: string | null): boolean {
  if (sqlstate === null) return position !== undefined && (reason === undefined || KINDS_OF_STATEMENT.test(reason));
  // The numbered errors of MySQL have no such place.
  if (reason === sqlstate && position === undefined && IN_A_TEXT.test(sqlstate)) return false;
  return OF_STATEMENT.test(sqlstate);
}
