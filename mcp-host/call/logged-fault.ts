import { AppError } from '#core/errors.ts';
import { maskedDetail, sqlstateOf } from '#core/lib/call/masked-errors.ts';
import type { FrozenQuery } from '#snapshots/format.ts';
import type { Fault } from '#mcp-host/protocol/fault.ts';
import { isMembers } from '#mcp-host/protocol/messages.ts';

/** Why a call failed, in the words that the request log keeps. */
export interface LoggedFault {
  readonly code: string;
  readonly message: string;
  readonly sqlstate: string | null;
}

/** What a database says of a value in a column that is masked stays unsaid, to the caller and in the log. */
export function withoutMasked(fault: Fault, error: unknown, query: Pick<FrozenQuery, 'masks'>): Fault {
  if (fault.code !== 'sql_error' || !(error instanceof AppError)) return fault;
  const text = maskedDetail(error, query);
  return text === error.detail ? fault : { ...fault, text };
}

const LONGEST = 1_000;

/** The sentence of the caller without the values that it sent: a database likes to repeat them. */
export function loggedFault({ code, text }: Fault, error: unknown, args: unknown): LoggedFault {
  const message = code === 'sql_error' ? withoutValues(text.slice(0, 4 * LONGEST), args) : text;
  return { code, message: message.slice(0, LONGEST), sqlstate: sqlstateOf(error) };
}

/** A value that is as short as a word is taken for one unless it stands in quotes. */
const SURELY_A_VALUE = 6;
const DEEPEST = 4;

function withoutValues(text: string, value: unknown, depth = 0): string {
  if (depth > DEEPEST) return text;
  if (Array.isArray(value)) return value.slice(0, 100).reduce((rest: string, item) => withoutValues(rest, item, depth + 1), text);
  if (isMembers(value)) return withoutValues(text, Object.values(value), depth + 1);
  if ((typeof value !== 'string' && typeof value !== 'number') || value === '') return text;
  const word = String(value);
  if (word.length >= SURELY_A_VALUE) return text.replaceAll(word, '…');
  return text.replaceAll(`"${word}"`, '"…"').replaceAll(`'${word}'`, "'…'");
}
