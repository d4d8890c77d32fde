import { reply } from '../dispatch.ts';
import { errorText, RPC, RpcError } from '../protocol.ts';

/** Bytes of an MCP request body (contract section 13). */
export const BODY_LIMIT = 4 * 1024 * 1024;

/** The parsed JSON of a POST, or the refusal. */
export async function readMessage(request: Request): Promise<Message | Response> {
  const type = request.headers.get('content-type');
  if (type !== JSON_TYPE && type?.split(';', 1)[0]?.trim().toLowerCase() !== JSON_TYPE) {
    return reply(errorText(null, new RpcError(RPC.server, 'Content-Type must be application/json.')), 415);
  }
  try {
    const text = await request.text();
    if (text.length * 3 > BODY_LIMIT && Buffer.byteLength(text) > BODY_LIMIT) return tooLarge();
    return { body: JSON.parse(text) as unknown };
  } catch {
    return reply(errorText(null, new RpcError(RPC.parse_error, 'The body is not valid JSON.')), 400);
  }
}

export interface Message {
  readonly body: unknown;
}

const JSON_TYPE = 'application/json';
const tooLarge = () =>
  reply(errorText(null, new RpcError(RPC.server, `The body is larger than ${BODY_LIMIT / 1024 / 1024} MiB.`)), 413);
