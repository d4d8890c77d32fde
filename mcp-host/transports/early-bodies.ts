import { errorText, isMembers, RPC, RpcError, toMessage } from '#mcp-host/protocol/messages.ts';
import { idOf, refuse, reply } from '#mcp-host/protocol/replies.ts';
import { type ProtocolVersion, protocolVersionOf } from '#mcp-host/protocol/protocol-version.ts';
import { isJson, LARGE, type Message, readMessage } from './body.ts';

/** Most bodies that are read at once before their credentials: 16 MiB together. */
const MOST = 256;
const WITHIN_MS = 10_000;
const LOOK_MS = 1_000;

/**
 * Bodies that are read before their credential, so that headers that repeat the body are compared before anything is decided by them.
 * Their size, number and time are limited; others are read when the caller is known.
 */
export interface EarlyBodies {
  /** Whether the body of a request may be read before its credential. */
  takes(request: Request): boolean;
  /** Reads the body, or refuses it after 10 seconds. Never rejects. */
  read(request: Request): Promise<Message | Response>;
}

interface Reading {
  readonly until: number;
  readonly expire: () => void;
}

export function createEarlyBodies(now: () => number = () => performance.now(), most = MOST): EarlyBodies {
  const open = new Set<Reading>();
  let timer: ReturnType<typeof setInterval> | null = null;
  // One timer for all: a timer for each call would cost more than reading its body.
  const look = (): void => {
    const at = now();
    for (const reading of open) if (reading.until <= at) reading.expire();
    if (open.size > 0 || timer === null) return;
    clearInterval(timer);
    timer = null;
  };
  return {
    takes({ method, headers }) {
      if (method !== 'POST' || open.size >= most || !isJson(headers)) return false;
      const length = headers.get('content-length');
      return length !== null && Number(length) < LARGE;
    },
    read(request) {
      timer ??= setInterval(look, LOOK_MS);
      return new Promise((resolve, reject) => {
        const expire = (): void => {
          open.delete(reading);
          resolve(refuse(408, LATE, { connection: 'close' }));
        };
        const reading: Reading = { until: now() + WITHIN_MS, expire };
        open.add(reading);
        const end = (): void => void open.delete(reading);
        readMessage(request).finally(end).then(resolve, reject);
      });
    },
  };
}

const LATE = `The body did not arrive within ${WITHIN_MS / 1_000} seconds.`;

/**
 * The protocol of a message, or the refusal of a request whose headers say something else than its body (2026-07-28, Server
 * Validation); undefined: the message is wrong in itself.
 */
export function comparedWith({ body }: Message, headers: Headers): ProtocolVersion | Response | undefined {
  if (!isMembers(body)) return undefined;
  try {
    const message = toMessage(body);
    if (message !== null) return protocolVersionOf(message, headers);
  } catch (error) {
    // Other faults of the body are for callers who may send it.
    if (error instanceof RpcError && error.code === RPC.header_mismatch) return reply(errorText(idOf(body), error), 400);
  }
  return undefined;
}
