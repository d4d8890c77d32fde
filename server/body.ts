import { AppError, invalidField } from '#core/errors.ts';
import { isReservedName } from '#core/issues.ts';

const MAX_DEPTH = 64;
/** More than any export of 10 000 tools holds; each costs memory many times its text. */
const MAX_VALUES = 1_000_000;
/** Somebody who sends a byte now and then holds a request open no longer. */
const LONGEST_MS = 120_000;

/** The JSON object of a request within the limits of contract section 1; an empty body is an empty object. */
export async function readJson(request: Request, max_bytes: number, within_ms = LONGEST_MS): Promise<Record<string, unknown>> {
  const text = await readText(request, max_bytes, within_ms);
  if (text.trim() === '') return {};
  const type = request.headers.get('content-type')?.split(';')[0]?.trim().toLowerCase() ?? '';
  if (type !== 'application/json' && !type.endsWith('+json')) {
    throw new AppError('unsupported_media_type', 'Send the body as JSON, with the header Content-Type: application/json.');
  }
  refuseManyValues(text);
  const value = parse(text);
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new AppError('invalid', 'The body must be a JSON object.');
  checkShape(value, 0);
  return value as Record<string, unknown>;
}

async function readText(request: Request, max_bytes: number, within_ms: number): Promise<string> {
  const refusal = () => new AppError('too_large', `The body is larger than ${Math.round(max_bytes / 1_048_576)} MiB.`);
  if (Number(request.headers.get('content-length') ?? 0) > max_bytes) throw refusal();
  if (request.body === null) return '';
  const reader = request.body.getReader();
  let late = false;
  const timer = setTimeout(() => {
    late = true;
    void reader.cancel().catch(() => undefined);
  }, within_ms);
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read().catch((cause: unknown) => {
        throw new AppError('cancelled', 'The caller went away before the body was there.', { cause });
      });
      if (late) throw new AppError('bad_request', `The body did not arrive within ${within_ms / 1_000} seconds.`);
      if (done) break;
      size += value.byteLength;
      if (size > max_bytes) throw refusal();
      chunks.push(value);
    }
  } finally {
    clearTimeout(timer);
    // What is left of a refused body is not waited for.
    void reader.cancel().catch(() => undefined);
  }
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks));
  } catch (cause) {
    throw new AppError('bad_request', 'The body is not valid UTF-8.', { cause });
  }
}

/** Counted in the text: parsed, they would already be in memory. */
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
  if (values > MAX_VALUES) throw new AppError('too_large', 'The body holds more than a million values. Send it in parts.');
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
