import { beginning } from '#core/lib/text/shorten.ts';
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
const UNSAID =
  'The database rejected the statement. Its message is left out, because the call sent too many values to remove from it.';

/**
 * The sentence of the caller without values: a database likes to repeat them.
 * @param values what the call sent, and what the statement and its session had besides.
 */
export function loggedFault({ code, text }: Fault, error: unknown, values: unknown): LoggedFault {
  const message = code === 'sql_error' ? withoutValues(text.slice(0, 4 * LONGEST), values) : text;
  return { code, message: beginning(message ?? UNSAID, LONGEST), sqlstate: sqlstateOf(error) };
}

/** A value that is as short as a word is taken for one unless it stands in quotes. */
const SURELY_A_VALUE = 6;
/** Values that are looked for in one sentence. */
const MOST_VALUES = 1_000;

/** Characters of values that are compared with one message. */
const MOST_COMPARED = 4_000_000;

/** Null: there are too many values to look for. */
function withoutValues(text: string, values: unknown): string | null {
  const words = wordsIn(values);
  return words === null ? null : withoutParts(words.reduce(withoutValue, text), words);
}

/** Every text and number in it, however deep; null: there are too many. */
function wordsIn(values: unknown): string[] | null {
  const words = new Set<string>();
  const rest: unknown[] = [values];
  for (let n = 0; n < rest.length; n++) {
    const value = rest[n];
    const held = Array.isArray(value) ? value : isMembers(value) ? Object.values(value) : [];
    if (rest.length + held.length > 2 * MOST_VALUES) return null;
    for (const one of held) rest.push(one);
    if ((typeof value === 'string' && value !== '') || typeof value === 'number') words.add(String(value));
    if (words.size > MOST_VALUES) return null;
  }
  return [...words];
}

function withoutValue(text: string, word: string): string {
  if (word.length >= SURELY_A_VALUE) return text.replaceAll(word, '…');
  return text.replaceAll(`"${word}"`, '"…"').replaceAll(`'${word}'`, "'…'");
}

/**
 * A database shortens a long value, or names the part of it that it did not understand. What is too much to compare is left out like
 * a part of a value.
 */
function withoutParts(text: string, values: readonly string[]): string {
  const long = values.filter(({ length }) => length > SURELY_A_VALUE);
  const all = long.reduce((sum, { length }) => sum + length, 0);
  let left = MOST_COMPARED;
  return text.replaceAll(QUOTED, (quoted, quote: string, inside: string) => {
    if (inside.length < SURELY_A_VALUE) return quoted;
    // Looking for one text in another is not linear for every pair of texts.
    left -= all * (1 + inside.length / 256);
    const is_part = left < 0 || long.some((value) => inside.length < value.length && value.includes(inside));
    return is_part ? `${quote}…${quote}` : quoted;
  });
}
const QUOTED = /(["'])(.*?)\1/gs;
