import { beginning } from '#core/lib/text/shorten.ts';
import { AppError } from '#core/errors.ts';
import { messageStart, onOneLine } from '../shared/bounded-text.ts';
import { HTTP_PORTS } from './http.ts';

/** An error message of the server. The newer form ends with the name of the code, the older one with further details. */
const SERVER_MESSAGE = /Code: (\d+)(?:\.|, e\.displayText\(\) =) (?:DB::Exception: )?([\s\S]*)/;
const TAIL =
  /(?:\. Expected one of: [\s\S]*|, e\.what\(\) = [\s\S]*|\.? ?\(([A-Z_0-9]+)\)(?: \((?:query|version)[\s\S]*| *$)|,? ?Stack trace[\s\S]*| \(version [^)]*\)+[\s\S]*|: While executing [A-Z]\w*\.?[\s\S]*)/;
const SCOPE = /:? in scope [\s\S]*?(\. Maybe you meant[\s\S]*)?$/i;
/** A message can have several tails in a row. */
const MAX_TAILS = 8;
const LENGTH = 2_000;

/** Reads the code and the sentence of an error from an answer. Null: it contains none. */
function faultIn(text: string): { readonly code: number; readonly sentence: string } | null {
  const [, code, message = ''] = SERVER_MESSAGE.exec(text) ?? [];
  if (code === undefined) return null;
  // The message quotes the author's SQL, which may be long, before a hint.
  let sentence = messageStart(message.trim().replace(SCOPE, '$1'));
  for (let n = 0; n < MAX_TAILS; n++) sentence = sentence.slice(0, TAIL.exec(sentence)?.index).trim();
  return { code: Number(code), sentence: beginning(onOneLine(sentence), LENGTH) };
}

const CODES = {
  syntax: 62,
  missing_database: 81,
  unknown_setting: 115,
  timeout: 159,
  readonly: 164,
  too_many: 202,
  cancelled: 394,
} as const;
const AUTHENTICATION: ReadonlySet<number> = new Set([192, 193, 194, 195, 516]);

/** @param sent the statement as it was sent, and the bytes that Sluice put before the author's SQL. */
export function toClickhouseError(body: string, sent: { readonly text: string; readonly before: number }): AppError {
  const fault = faultIn(body);
  if (fault === null) {
    const detail = `The server at this host and port does not answer like ClickHouse; check the host and the port. ${HTTP_PORTS}`;
    return new AppError('database_unreachable', detail, { reason: 'failed', cause: body.slice(0, LENGTH) });
  }
  const { code, sentence } = fault;
  const cause = { code, message: sentence };
  if (AUTHENTICATION.has(code)) {
    const detail = 'The username or the password is wrong, or this account cannot sign in from here; check both.';
    return new AppError('database_unreachable', detail, { reason: 'auth_failed', cause });
  }
  if (code === CODES.missing_database) {
    const detail = 'The server has no database of this name; check its spelling.';
    return new AppError('database_unreachable', detail, { reason: 'database_missing', cause });
  }
  if (code === CODES.readonly) {
    return new AppError('not_read_only', 'The statement writes or changes settings, but this session is read-only.', { cause });
  }
  if (code === CODES.unknown_setting) {
    const detail = 'The server does not know a setting that it knew before, as after an upgrade; try again.';
    return new AppError('unavailable', detail, { cause, retry_after: 1 });
  }
  if (code === CODES.timeout)
    return new AppError('timeout', 'The server stopped the statement at its own time limit.', { cause });
  if (code === CODES.too_many) {
    return new AppError('unavailable', 'The server runs as many queries as it is allowed to; try again.', {
      cause,
      retry_after: 1,
    });
  }
  if (code === CODES.cancelled) return new AppError('sql_error', 'The statement was cancelled on the server.', { cause });
  const position = code === CODES.syntax ? positionIn(sentence, sent) : positionOfName(sentence, sent);
  const detail = code === CODES.syntax ? syntaxOf(sentence, position, sent) : sentence;
  return new AppError('sql_error', /[.!?]$/.test(detail) ? detail : `${detail}.`, {
    cause,
    ...(position === undefined ? {} : { position }),
  });
}

/** The server counts lines in the sent text, not in the author's SQL. */
function syntaxOf(sentence: string, position: number | undefined, { text, before }: SentText): string {
  const rest = /failed at position \d+ *(?:\([^)]*\))?(?: *\(line \d+, col \d+\))?:? *([\s\S]*)$/.exec(sentence)?.[1];
  if (rest === undefined || position === undefined) return sentence;
  // DESCRIBE puts the statement into parentheses.
  const author_sql = before === 0 ? text : text.slice(before).replace(/\n\)$/, '');
  if (position >= author_sql.trimEnd().length) return 'Syntax error at the end of the statement';
  return `Syntax error near '${author_sql.slice(position, position + 40).split('\n')[0]}'`;
}

type SentText = { readonly text: string; readonly before: number };

/** The server counts bytes, from one. */
function positionIn(sentence: string, { text, before }: SentText): number | undefined {
  const found = /position (\d+)/.exec(sentence)?.[1];
  if (found === undefined) return undefined;
  const bytes = Buffer.from(text);
  return Math.max(bytes.toString('utf8', 0, Math.min(Number(found) - 1, bytes.length)).length - before, 0);
}

/** Other errors contain a name. Its position is known when the name occurs once in the text. */
function positionOfName(sentence: string, { text, before }: SentText): number | undefined {
  const name = /(?:[Uu]nknown|[Mm]issing|There is no|doesn't exist|Function with name)[^`']*[`']([^`']+)[`']/.exec(sentence)?.[1];
  if (name === undefined) return undefined;
  const index = text.indexOf(name);
  return index >= before && text.indexOf(name, index + 1) < 0 ? index - before : undefined;
}
