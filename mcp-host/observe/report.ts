import type { Run, Slot } from '#core/lib/call/query.ts';
import { isMembers, type Members, META } from '#mcp-host/protocol/messages.ts';

/** Levels of the protocol, the least urgent first (RFC 5424). */
export const MCP_LOG_LEVELS = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'] as const;
export type McpLogLevel = (typeof MCP_LOG_LEVELS)[number];
export const isMcpLogLevel = (value: unknown): value is McpLogLevel => MCP_LOG_LEVELS.some((level) => level === value);

/** What a caller wants to hear of its call while it runs. */
export interface Wishes {
  readonly progress_token: string | number | null;
  readonly log_level: McpLogLevel | null;
}

/** How a call gets at its connection. */
interface Way {
  readonly source: Run['source'];
  /** Absent: each step of the call is told, so it takes every one of them. */
  readonly opened?: NonNullable<Run['opened']>;
  readonly queue: Slot;
}

/** Tells the caller how its call goes on. */
export interface Report {
  /** The same way, told about: its wait in the queue, and its statement. */
  follow(way: Way, timeout_ms: number): Way;
  done(rows: number): void;
  failed(code: string): void;
}

/** Methods that take long enough to be told about. */
const TOLD: ReadonlySet<string> = new Set(['tools/call', 'resources/read']);

/** Null when nothing was asked for, or when the caller does not read event streams. @param log_level of the session. */
export function wishesOf(method: string, params: Members, headers: Headers, log_level: McpLogLevel | null): Wishes | null {
  const meta = params['_meta'];
  if ((meta === undefined && log_level === null) || !TOLD.has(method)) return null;
  const { progressToken: token = null, [META.log_level]: own_level } = isMembers(meta) ? meta : {};
  const wishes: Wishes = {
    progress_token: typeof token === 'string' || typeof token === 'number' ? token : null,
    log_level: isMcpLogLevel(own_level) ? own_level : log_level,
  };
  if (wishes.progress_token === null && wishes.log_level === null) return null;
  return headers.get('accept')?.includes('text/event-stream') === true ? wishes : null;
}

/** Steps of a call: accepted 0, its statement runs 1, done 2. Between, the part of its time limit that has passed. */
const STEPS = 2;
const BEAT_MS = 1_000;

/** @param send takes one notification. `close` ends it for good. */
export function createReport(
  { progress_token, log_level }: Wishes,
  name: string,
  send: (message: string) => void,
): Report & { close(): void } {
  const began = performance.now();
  let last = -1;
  let beat: Timer | undefined;
  const notify = (method: string, params: object) => send(JSON.stringify({ jsonrpc: '2.0', method, params }));
  const progress = (value: number, message: string) => {
    if (progress_token === null || value <= last) return;
    last = value;
    notify('notifications/progress', { progressToken: progress_token, progress: value, total: STEPS, message });
  };
  const say = (level: McpLogLevel, event: string, fields: object = {}) => {
    if (log_level === null || MCP_LOG_LEVELS.indexOf(level) < MCP_LOG_LEVELS.indexOf(log_level)) return;
    notify('notifications/message', { level, logger: name, data: { event, ...fields } });
  };
  const since = (start: number) => Math.round(performance.now() - start);

  const waits = () => {
    progress(0.5, 'Waiting for a slot: other calls of this connection are running.');
    say('info', 'waiting');
  };
  const runs = (timeout_ms: number) => {
    const start = performance.now();
    progress(1, 'The statement is running.');
    say('debug', 'running');
    beat = setInterval(() => {
      const passed = since(start);
      progress(1 + Math.min(passed / timeout_ms, 0.99), `The statement has been running for ${Math.round(passed / 1_000)} s.`);
    }, BEAT_MS);
  };

  progress(0, 'Accepted.');
  say('debug', 'accepted');
  return {
    follow: ({ source, queue }, timeout_ms) => ({
      source() {
        runs(timeout_ms);
        return source();
      },
      queue: {
        enter(signal) {
          const entry = queue.enter(signal);
          if (entry !== undefined) waits();
          return entry;
        },
        again: (signal) => queue.again(signal),
        leave: () => queue.leave(),
        places: () => queue.places(),
      },
    }),
    done(rows) {
      clearInterval(beat);
      progress(STEPS, rows === 1 ? '1 row.' : `${rows} rows.`);
      say('info', 'finished', { rows, duration_ms: since(began) });
    },
    failed(code) {
      clearInterval(beat);
      say('error', 'failed', { code, duration_ms: since(began) });
    },
    close: () => clearInterval(beat),
  };
}
