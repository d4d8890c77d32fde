import { readText } from '#core/edge/body.ts';
import { AppError } from '#core/errors.ts';
import { repeatedKey, repeatedKeySentence } from '#core/lib/text/repeated-key.ts';
import { RPC } from '#mcp-host/protocol/messages.ts';
import { refuse } from '#mcp-host/protocol/replies.ts';

/** Largest body of an MCP request, in bytes. */
export const BODY_LIMIT = 4 * 1024 * 1024;
const LIMITS = { max_bytes: BODY_LIMIT, within_ms: 30_000 };
/** Smaller bodies take no more memory than their connection, and are read in the fastest way. */
export const LARGE = 64 * 1024;

/** The parsed JSON of a POST, or the refusal. */
export async function readMessage(request: Request): Promise<Message | Response> {
  if (!isJson(request.headers)) return refuse(415, 'Content-Type must be application/json.');
  try {
    const is_small = Number(request.headers.get('content-length') ?? LARGE) < LARGE;
    const text = is_small ? await request.text() : await readText(request, LIMITS);
    const body = JSON.parse(text) as unknown;
    const repeated = repeatedKey(text);
    if (repeated === null) return { body };
    return refuse(400, repeatedKeySentence(repeated), undefined, { code: RPC.parse_error });
  } catch (error) {
    if (error instanceof AppError) return refuse(error.status, error.detail);
    return refuse(400, 'The body is not valid JSON.', undefined, { code: RPC.parse_error });
  }
}

export interface Message {
  readonly body: unknown;
}

const JSON_TYPE = 'application/json';

export function isJson(headers: Headers): boolean {
  const type = headers.get('content-type');
  return type === JSON_TYPE || type?.split(';', 1)[0]?.trim().toLowerCase() === JSON_TYPE;
}
