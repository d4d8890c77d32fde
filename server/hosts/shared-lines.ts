import type { ControlPlane } from '#core/control-plane/control-plane.ts';
import type { LogLine } from '#core/process/log.ts';
import { onSignal, signal } from '#core/platform/signals.ts';

/** Lines are collected for this time and sent to the other servers together. */
const WAIT_MS = 100;
/** Maximum lines of one message. The others are lost on the other servers, which show their number in a line. */
const MOST_LINES = 500;

interface Message {
  readonly server: string;
  readonly lines: readonly LogLine[];
}

/**
 * Sends lines of the live log to the servers that share a Redis, and passes their lines to `take`. Without Redis nothing is sent.
 */
export function shareLines(app: ControlPlane, take: (line: LogLine) => void): (line: LogLine) => void {
  if (app.env.SVC_KV === 'memory') return () => undefined;
  const server = app.ids();
  let waiting: LogLine[] = [];
  let left_out = 0;
  onSignal(app, 'lines', (text) => {
    const message = JSON.parse(text) as Message;
    if (message.server !== server) for (const line of message.lines) take(line);
  });
  const send = (): void => {
    const lines = left_out === 0 ? waiting : [...waiting, moreLines(app, left_out)];
    waiting = [];
    left_out = 0;
    app.background(signal(app, 'lines', JSON.stringify({ server, lines } satisfies Message)));
  };
  return (line) => {
    if (app.life.ending) return;
    if (waiting.length >= MOST_LINES) {
      left_out += 1;
      return;
    }
    waiting.push(line);
    if (waiting.length === 1) setTimeout(send, WAIT_MS).unref();
  };
}

const moreLines = (app: ControlPlane, count: number): LogLine => ({
  timestamp: app.clock().toISOString(),
  level: 'INFO',
  source: 'server',
  message: 'more lines',
  fields: { count },
});
