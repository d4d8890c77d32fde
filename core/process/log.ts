import { withTimeout } from '#core/lib/with-timeout.ts';
import { beginning } from '#core/lib/text/shorten.ts';
import { AsyncLocalStorage } from 'node:async_hooks';
import { LOG_LEVELS, type LogLevel } from '#core/contract/log-levels.ts';

export type LogSource = 'server' | 'deploy' | 'host' | 'tool' | 'agent' | 'tls';

export interface LogLine {
  readonly timestamp: string;
  readonly level: LogLevel;
  readonly source: LogSource;
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

const LONGEST_TEXT = 500;

/** A line as another program shows it: of bounded length, and of its fields those that are plain values. */
export function toShortLine({ timestamp, level, message, fields }: LogLine) {
  const shown: Record<string, string | number | boolean | null> = {};
  for (const [name, value] of Object.entries(fields)) {
    if (typeof value === 'string') shown[name] = beginning(value, LONGEST_TEXT);
    else if (value === null || typeof value === 'number' || typeof value === 'boolean') shown[name] = value;
  }
  return { timestamp, level, message: beginning(message, LONGEST_TEXT), fields: shown };
}

/** Structured log: an event's name as `message` and fields; never SQL values, tokens or secrets. */
export interface Log {
  readonly debug: (message: string, fields?: Record<string, unknown>) => void;
  readonly info: (message: string, fields?: Record<string, unknown>) => void;
  readonly warning: (message: string, fields?: Record<string, unknown>) => void;
  readonly error: (message: string, fields?: Record<string, unknown>) => void;
  /** Every line that this work writes, here or under another source, has these fields too. */
  during<T>(fields: Readonly<Record<string, unknown>>, work: () => T): T;
  /** The same sink under another source. */
  readonly from: (source: LogSource) => Log;
  setLevel(level: LogLevel): void;
  /** Hands every line that is written from now on to one more reader. */
  tap(listener: (line: LogLine) => void): void;
}

/** @param sink takes every line at or above the level, e.g. `toStream(process.stdout)`. */
export function createLog(
  level: LogLevel,
  sink: (line: LogLine) => void,
  source: LogSource = 'server',
  now = () => new Date(),
): Log {
  const state = { level, sinks: [sink] };
  const around = new AsyncLocalStorage<Readonly<Record<string, unknown>>>();
  const make = (from: LogSource): Log => {
    const write =
      (at: LogLevel) =>
      (message: string, fields: Record<string, unknown> = {}) => {
        if (LOG_LEVELS.indexOf(at) < LOG_LEVELS.indexOf(state.level)) return;
        const line = {
          timestamp: now().toISOString(),
          level: at,
          source: from,
          message,
          fields: { ...around.getStore(), ...fields },
        };
        for (const each of state.sinks) each(line);
      };
    return {
      debug: write('DEBUG'),
      info: write('INFO'),
      warning: write('WARNING'),
      error: write('ERROR'),
      from: make,
      during: (fields, work) => around.run({ ...around.getStore(), ...fields }, work),
      setLevel: (next) => {
        state.level = next;
      },
      tap: (listener) => void state.sinks.push(listener),
    };
  };
  return make(source);
}

/** What a fault is, and what caused it: the driver's words, without the values of a statement. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const [own = ''] = error.message.split('\nparams:');
  return error.cause instanceof Error ? `${own}: ${reasonOf(error.cause)}` : own;
}

/**
 * The last resort. A promise that nobody waited for is logged, and the program goes on: requests are independent of each other. After an
 * exception that nobody caught nothing is known of the program's state, so it ends with its log line, and whatever started it starts it
 * anew.
 */
export function logUnhandled(log: Log): void {
  const write = (message: string, error: unknown) =>
    log.error(message, {
      reason: error instanceof Error ? (error.stack ?? error.message).split('\nparams:')[0] : String(error),
    });
  process.on('unhandledRejection', (error) => write('unhandled fault', error));
  process.on('uncaughtException', (error) => {
    write('the program ends after a fault', error);
    void written([process.stdout, process.stderr]).finally(() => process.exit(1));
  });
  // Whoever read the log has gone: lines are lost, and the program serves on.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
}

/** A reader that is stuck holds a program up for so long. */
const LAST_LINES_MS = 1_000;

/** A pipe takes a log later than the program writes it, and what was not taken ends with the program. */
const written = (streams: readonly NodeJS.WritableStream[]): Promise<unknown> =>
  withTimeout(
    Promise.all(streams.map((stream) => new Promise<void>((resolve) => void stream.write('', () => resolve())))),
    LAST_LINES_MS,
    () => undefined,
  );

const COLOURS: Readonly<Record<LogLevel, string>> = { DEBUG: '90', INFO: '36', WARNING: '33', ERROR: '31' };

/** One JSON line each, or a coloured line on a terminal. */
export function toStream(stream: { write(text: string): unknown; isTTY?: boolean }): (line: LogLine) => void {
  return (line) => {
    if (stream.isTTY !== true) {
      const { fields, ...rest } = line;
      stream.write(`${JSON.stringify({ ...rest, ...fields })}\n`);
      return;
    }
    const fields = Object.entries(line.fields).map(([key, value]) => ` ${key}=${JSON.stringify(value)}`);
    stream.write(
      `\u001b[${COLOURS[line.level]}m${line.timestamp.slice(11, 19)} ${line.level.padEnd(7)}\u001b[0m ${line.source} ${line.message}${fields.join('')}\n`,
    );
  };
}
