import type { AgentLine } from '#core/contract/identity/agent-channel.ts';
import { AppError } from '#core/errors.ts';
import { type Log, toShortLine } from '#core/process/log.ts';
import type { ServerLink } from './server-link.ts';

const CAPACITY = 500;
const SEND_EVERY_MS = 1_000;

/**
 * Sends the log lines of this program to the live log of the server. While it is unreachable, the newest are buffered. `stop`
 * ends it.
 */
export function sendLines(log: Log, link: Pick<ServerLink, 'lines'>, every_ms = SEND_EVERY_MS): { stop(): Promise<void> } {
  let waiting: AgentLine[] = [];
  let sending: Promise<void> | null = null;
  log.tap((line) => {
    waiting.push(toShortLine(line));
    if (waiting.length > CAPACITY) waiting.shift();
  });
  const send = async (): Promise<void> => {
    const taken = waiting;
    waiting = [];
    // Failures are not logged, because each log line would have to be sent too.
    await link.lines(taken).catch((error: unknown) => {
      // The server would refuse the same lines again.
      if (error instanceof AppError && error.status < 500) return;
      waiting = [...taken, ...waiting].slice(-CAPACITY);
    });
  };
  const flush = (): Promise<void> => {
    if (waiting.length === 0) return sending ?? Promise.resolve();
    return (sending ??= send().finally(() => {
      sending = null;
    }));
  };
  const timer = setInterval(() => void flush(), every_ms);
  return {
    async stop() {
      clearInterval(timer);
      await sending;
      await flush();
    },
  };
}
