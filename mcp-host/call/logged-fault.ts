import { AppError } from '#core/errors.ts';
import { maskedDetail, sqlstateOf } from '#core/query/masked-errors.ts';
import type { FrozenQuery } from '#core/query/frozen-query.ts';
import type { Fault } from '#mcp-host/protocol/fault.ts';
import { beginning } from '#core/lib/text/shorten.ts';
import { stripValues } from './strip-values.ts';
import type { LoggedFault } from '#mcp-host/requests/usage-item.ts';

/** What a database says of a value in a column that is masked stays unsaid, to the caller and in the log. */
export function withoutMasked(fault: Fault, error: unknown, query: Pick<FrozenQuery, 'masks'>): Fault {
  if (fault.code !== 'sql_error' || !(error instanceof AppError)) return fault;
  const text = maskedDetail(error, query);
  return text === error.detail ? fault : { ...fault, text };
}

const LONGEST = 1_000;

const UNSAID =
  'The database rejected the statement. Its message is left out, because the call sent too many values to remove from it.';

/**
 * The sentence of the caller without values: a database likes to repeat them.
 * @param values what the call sent, and what the statement and its session had besides.
 */
export function loggedFault({ code, text }: Fault, error: unknown, values: unknown): LoggedFault {
  const message = code === 'sql_error' ? stripValues(beginning(text, 4 * LONGEST), values) : text;
  return { code, message: beginning(message ?? UNSAID, LONGEST), sqlstate: sqlstateOf(error) };
}
