import { readText } from '#core/edge/body.ts';
import { AppError, invalidField } from '#core/errors.ts';
import { repeatedKey, repeatedKeySentence } from '#core/lib/text/repeated-key.ts';
import { isReservedName } from '#core/process/issues.ts';

const MAX_DEPTH = 64;
const WITHIN_MS = 30_000;
/** From this size in bytes on, a body gets more time, for slow connections. */
const LARGE = 2 * 1024 * 1024;
const LARGE_WITHIN_MS = 120_000;
/** More than any export of 10 000 tools has. A parsed value takes many times the memory of its text. */
const MAX_VALUES = 1_000_000;

/** The JSON object of a request within the size limits. An empty body is an empty object. */
export async function readJson(
  request: Request,
  max_bytes: number,
  within_ms = max_bytes > LARGE ? LARGE_WITHIN_MS : WITHIN_MS,
): Promise<Record<string, unknown>> {
  const text = await readText(request, { max_bytes, within_ms });
  if (text.trim() === '') return {};
  const type = request.headers.get('content-type')?.split(';')[0]?.trim().toLowerCase() ?? '';
  if (type !== 'application/json' && !type.endsWith('+json')) {
    throw new AppError('unsupported_media_type', 'Send the body as JSON, with the header Content-Type: application/json.');
  }
  refuseManyValues(text);
  const value = parse(text);
  const repeated = repeatedKey(text);
  if (repeated !== null) throw new AppError('bad_request', repeatedKeySentence(repeated));
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new AppError('invalid', 'The body must be a JSON object.');
  checkShape(value, 0);
  return value as Record<string, unknown>;
}

/** Counts values in the text, because parsed values would already be in memory. */
function refuseManyValues(text: string): void {
  if (text.length < MAX_VALUES) return;
  let values = 0;
  let in_text = false;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) in_text = !in_text;
    else if (code === BACKSLASH) at += 1;
    else if (!in_text && (code === COMMA || code === BRACE || code === BRACKET)) values += 1;
  }
  if (values > MAX_VALUES) throw new AppError('too_large', 'The body has more than a million values. Send it in parts.');
}
const [QUOTE, BACKSLASH, COMMA, BRACE, BRACKET] = Array.from('"\\,{[').map((sign) => sign.charCodeAt(0));

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new AppError('bad_request', 'The body is not valid JSON.', { cause });
  }
}

function checkShape(value: unknown, depth: number): void {
  if (typeof value !== 'object' || value === null) return;
  if (depth >= MAX_DEPTH) throw new AppError('invalid', `The body is nested more than ${MAX_DEPTH} levels deep.`);
  if (Array.isArray(value)) {
    for (const item of value) checkShape(item, depth + 1);
    return;
  }
  for (const [key, item] of Object.entries(value)) {
    if (isReservedName(key)) throw invalidField(key, `${key} is not allowed as a field name.`);
    checkShape(item, depth + 1);
  }
}
