import { AppError } from '#core/errors.ts';
import { reply } from '../dispatch.ts';
import { errorText, RPC, RpcError } from '../protocol.ts';

/** Bytes of an MCP request body (contract section 13). */
export const BODY_LIMIT = 4 * 1024 * 1024;

/** The parsed JSON of a POST, or the refusal. */
export async function readMessage(request: Request): Promise<{ readonly body: unknown } | Response> {
  const type = request.headers.get('content-type')?.split(';', 1)[0]?.trim().toLowerCase();
  if (type !== 'application/json') {
    return reply(errorText(null, new RpcError(RPC.server, 'Content-Type must be application/json.')), 415);
  }
  try {
    return { body: JSON.parse(await readText(request)) as unknown };
  } catch (error) {
    if (error instanceof AppError) return reply(errorText(null, new RpcError(RPC.server, error.detail)), error.status);
    return reply(errorText(null, new RpcError(RPC.parse_error, 'The body is not valid JSON.')), 400);
  }
}

const tooLarge = () => new AppError('too_large', `The body is larger than ${BODY_LIMIT / 1024 / 1024} MiB.`);

async function readText(request: Request): Promise<string> {
  if (Number(request.headers.get('content-length')) > BODY_LIMIT) throw tooLarge();
  const text = await request.text();
  if (text.length * 3 > BODY_LIMIT && Buffer.byteLength(text) > BODY_LIMIT) throw tooLarge();
  return text;
}
