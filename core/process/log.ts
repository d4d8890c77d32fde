import { exitAfterLog } from './exit.ts';
import { beginning, cut } from '#core/lib/text/shorten.ts';
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

/** A log line for display in another program: limited in length, with primitive fields only. */
export function toShortLine({ timestamp, level, message, fields }: LogLine) {
  const shown: Record<string, string | number | boolean | null> = {};
  for (const [name, value] of Object.entries(fields)) {
    if (typeof value === 'string') shown[name] = beginning(value, LONGEST_TEXT);
    else if (value === null || typeof value === 'number' || typeof value === 'boolean') shown[name] = value;
  }
  return { timestamp, level, message: beginning(message, LONGEST_TEXT), fields: shown };
}

/** Structured log: `message` is the name of an event. Fields never contain SQL values, tokens or secrets. */
export interface Log {
  readonly debug: (message: string, fields?: Record<string, unknown>) => void;
  readonly info: (message: string, fields?: Record<string, unknown>) => void;
  readonly warning: (message: string, fields?: Record<string, unknown>) => void;
  readonly error: (message: string, fields?: Record<string, unknown>) => void;
  /** Adds these fields to every line that `work` logs, under any source. */
  during<T>(fields: Readonly<Record<string, unknown>>, work: () => T): T;
  /** The same sink under another source. */
  readonly from: (source: LogSource) => Log;
  setLevel(level: LogLevel): void;
  /** Passes all further lines to another listener too. */
  tap(listener: (line: LogLine) => void): void;
}

/** @param sink receives every line at or above the level, such as `toStream(process.stdout)`. */
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

/** How much of a failed statement is logged; its cause follows. */
const LONGEST_STATEMENT = 120;
const STATEMENT = 'Failed query: ';

/** The message of an error. Of a statement that failed, only the beginning is shown, and none of its values. */
function messageOf(error: Error): string {
  const [message = ''] = error.message.split('\nparams:');
  return message.startsWith(STATEMENT) ? cut(message.replaceAll(/\s+/g, ' '), STATEMENT.length + LONGEST_STATEMENT) : message;
}

/** The messages of an error and its causes, without the values of a statement. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const message = messageOf(error);
  if (!(error.cause instanceof Error)) return message;
  return message.endsWith('.') ? `${message} (${reasonOf(error.cause)})` : `${message}: ${reasonOf(error.cause)}`;
}

/** The names and messages of an error and its causes, without the values of a statement, and where the error was thrown. */
export function traceOf(error: unknown, frames = 3): string {
  if (!(error instanceof Error)) return String(error);
  const parts: string[] = [];
  for (let fault: unknown = error; fault instanceof Error && parts.length < 5; fault = fault.cause)
    parts.push(`${fault.name}: ${beginning(messageOf(fault), LONGEST_TEXT)}`);
  // The stack repeats the message, which may have several lines.
  const lines = (error.stack ?? '').split('\n').map((line) => line.trim());
  const thrown_at = lines.filter((line) => line.startsWith('at ')).slice(0, frames);
  return [parts.join(' ← '), ...thrown_at].join(' ');
}

/** Frames of an error that no code expected. */
const MOST_FRAMES = 10;

/**
 * The last error handler. An unhandled rejection is logged and the program continues, because requests are independent. After an
 * uncaught exception the state of the program is unknown, so it logs the exception and exits, and its supervisor restarts it.
 */
export function logUnhandled(log: Log): void {
  const write = (message: string, error: unknown) => log.error(message, { reason: traceOf(error, MOST_FRAMES) });
  process.on('unhandledRejection', (error) => write('unhandled fault', error));
  process.on('uncaughtException', (error) => {
    write('the program ends after a fault', error);
    void exitAfterLog(1);
  });
  // The reader of the log closed the pipe: further lines are lost and the program continues.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
}

const COLOURS: Readonly<Record<LogLevel, string>> = { DEBUG: '90', INFO: '36', WARNING: '33', ERROR: '31' };

/** Writes JSON lines, or coloured lines on a terminal. */
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
