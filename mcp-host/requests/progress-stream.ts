import type { Execution, Slot } from '#core/query/query.ts';
import { isMcpLogLevel, isUrgent, type McpLogLevel } from '#mcp-host/protocol/messages.ts';
import { ECHO_LENGTH, isMembers, type Members, META, RPC, RpcError } from '#mcp-host/protocol/messages.ts';

/** The messages that a caller requests while its call runs. */
export interface ProgressRequest {
  readonly progress_token: string | number | null;
  readonly log_level: McpLogLevel | null;
}

/** A call's access to its connection. */
interface Access {
  readonly source: Execution['source'];
  /** Absent: every step of the call is reported, so no step may be skipped. */
  readonly opened?: NonNullable<Execution['opened']>;
  readonly queue: Slot;
}

/** Messages to a caller while its call runs. */
export interface ProgressStream {
  /** Aborted when the reader has left. */
  readonly left: AbortSignal;
  /** The same access, with reports of the wait in the queue and of the statement. */
  follow(access: Access, timeout_ms: number): Access;
  /** Sends one message, such as a question of the host. */
  send(message: string): void;
  done(rows: number): void;
  failed(code: string): void;
}

/** Methods that take long enough to report on. */
const REPORTED: ReadonlySet<string> = new Set(['tools/call', 'resources/read']);

/**
 * The messages that a request asks for; null: none, or the caller does not read event streams. Throws for a token that is too
 * long. @param log_level the level of the session.
 */
export function requestedProgress(
  method: string,
  params: Members,
  headers: Headers,
  log_level: McpLogLevel | null,
): ProgressRequest | null {
  const meta = params['_meta'];
  if ((meta === undefined && log_level === null) || !REPORTED.has(method)) return null;
  const { progressToken: token = null, [META.log_level]: requested_level } = isMembers(meta) ? meta : {};
  if (typeof token === 'string' && token.length > ECHO_LENGTH) {
    const message = `_meta.progressToken must be a number or a string of at most ${ECHO_LENGTH} characters.`;
    throw new RpcError(RPC.invalid_params, message, { http_status: 400 });
  }
  const request: ProgressRequest = {
    progress_token: typeof token === 'string' || typeof token === 'number' ? token : null,
    log_level: isMcpLogLevel(requested_level) ? requested_level : log_level,
  };
  if (request.progress_token === null && request.log_level === null) return null;
  return readsEvents(headers) ? request : null;
}

export const readsEvents = (headers: Headers): boolean => headers.get('accept')?.includes('text/event-stream') === true;

/** Values of the progress: 0 accepted, 1 the statement runs, 2 done. Between 1 and 2: the used part of the time limit. */
const STEPS = 2;
const BEAT_MS = 1_000;

/** @param send takes one notification. `close` stops the reports. */
export function createProgressStream(
  { progress_token, log_level }: ProgressRequest,
  name: string,
  send: (message: string) => void,
  left: AbortSignal,
): ProgressStream & { close(): void } {
  const began = performance.now();
  let last = -1;
  let beat: Timer | undefined;
  const notify = (method: string, params: object) => send(JSON.stringify({ jsonrpc: '2.0', method, params }));
  const progress = (value: number, message: string) => {
    if (progress_token === null || value <= last) return;
    last = value;
    notify('notifications/progress', { progressToken: progress_token, progress: value, total: STEPS, message });
  };
  const log = (level: McpLogLevel, event: string, fields: object = {}) => {
    if (log_level === null || !isUrgent(level, log_level)) return;
    notify('notifications/message', { level, logger: name, data: { event, ...fields } });
  };
  const since = (start: number) => Math.round(performance.now() - start);

  const waits = () => {
    progress(0.5, 'Waiting for a slot: other calls of this connection are running.');
    log('info', 'waiting');
  };
  const runs = (timeout_ms: number) => {
    const start = performance.now();
    clearInterval(beat);
    progress(1, 'The statement is running.');
    log('debug', 'running');
    beat = setInterval(() => {
      const passed = since(start);
      progress(1 + Math.min(passed / timeout_ms, 0.99), `The statement has been running for ${Math.round(passed / 1_000)} s.`);
    }, BEAT_MS);
  };

  progress(0, 'Accepted.');
  log('debug', 'accepted');
  return {
    left,
    send,
    follow: ({ source, queue }, timeout_ms) => ({
      source() {
        runs(timeout_ms);
        return source();
      },
      queue: {
        enter(signal, _, holder) {
          const entry = queue.enter(signal, undefined, holder);
          if (entry !== undefined) waits();
          return entry;
        },
        again: (signal) => queue.again(signal),
        leave: () => queue.leave(),
        slots: () => queue.slots(),
      },
    }),
    done(rows) {
      clearInterval(beat);
      progress(STEPS, rows === 1 ? '1 row.' : `${rows} rows.`);
      log('info', 'finished', { rows, duration_ms: since(began) });
    },
    failed(code) {
      clearInterval(beat);
      log('error', 'failed', { code, duration_ms: since(began) });
    },
    close: () => clearInterval(beat),
  };
}
