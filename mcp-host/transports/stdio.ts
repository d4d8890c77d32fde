import { oneLine } from '#core/lib/text/wire-text.ts';
import { repeatedKey, repeatedKeySentence } from '#core/lib/text/repeated-key.ts';
import type { Log } from '#core/process/log.ts';
import { errorText, RPC, RpcError } from '#mcp-host/protocol/messages.ts';
import { idOf, toRpcError } from '#mcp-host/protocol/replies.ts';
import type { Bridge } from './bridge.ts';
import { BODY_LIMIT } from './body.ts';

export interface StdioOptions {
  readonly input: ReadableStream<Uint8Array>;
  /** Creates the bridge. @param send writes a message. */
  readonly connect: (send: (text: string) => void) => Bridge;
  /** Writes one line. */
  readonly write: (line: string) => void;
  readonly log: Log;
}

/** Serves one peer over lines of JSON. Settles when the input has ended and every request is answered. */
export async function serveStdio({ input, connect, write, log }: StdioOptions): Promise<void> {
  const send = (text: string) => write(`${oneLine(text)}\n`);
  const bridge = connect(send);
  const open = new Set<Promise<void>>();
  const take = (line: string) => {
    if (line.trim() === '') return;
    let message: unknown;
    try {
      message = JSON.parse(line);
    } catch {
      send(errorText(null, new RpcError(RPC.parse_error, 'The line is not valid JSON.')));
      return;
    }
    const repeated = repeatedKey(line);
    if (repeated !== null) {
      send(errorText(null, new RpcError(RPC.parse_error, repeatedKeySentence(repeated, 'The line'))));
      return;
    }
    const failed = (error: unknown) => {
      const id = idOf(message);
      const fault = toRpcError(error, log, undefined);
      if (id !== null) send(errorText(id, fault));
    };
    const taken = bridge
      .take(message)
      .catch(failed)
      .finally(() => open.delete(taken));
    open.add(taken);
  };
  await readLines(input, take, () => {
    send(errorText(null, new RpcError(RPC.server, `The line is longer than ${BODY_LIMIT / 1024 / 1024} MiB.`)));
  });
  await Promise.allSettled(open);
  bridge.close();
}

/** Passes on each line; a line that is too long is skipped and reported. */
async function readLines(input: ReadableStream<Uint8Array>, take: (line: string) => void, tooLong: () => void): Promise<void> {
  const decoder = new TextDecoder();
  let text = '';
  let skipping = false;
  for await (const chunk of input) {
    text += decoder.decode(chunk, { stream: true });
    let start = 0;
    for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', start)) {
      if (!skipping) take(text.slice(start, end));
      skipping = false;
      start = end + 1;
    }
    text = text.slice(start);
    if (text.length <= BODY_LIMIT) continue;
    if (!skipping) tooLong();
    skipping = true;
    text = '';
  }
  if (!skipping) take(text);
}
