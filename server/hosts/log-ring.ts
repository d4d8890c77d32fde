import { LOG_LEVELS, type LogLevel } from '#core/contract/log-levels.ts';
import type { LogLine, LogSource } from '#core/process/log.ts';

/** Sources of the live log. Lines of the control plane count as `deploy`. */
export const LIVE_SOURCES = ['deploy', 'host', 'tool', 'agent', 'tls'] as const;
export type LiveSource = (typeof LIVE_SOURCES)[number];

export interface LogFilter {
  /** The minimum level. */
  readonly level?: LogLevel;
  readonly source?: LiveSource;
  /** Lines after this sequence, or from this time on (ISO 8601). */
  readonly since?: number | string;
}

/** The last lines of the log, and the readers that follow it. */
export interface LogRing {
  add(line: LogLine): void;
  /** Sequence of the newest line. */
  newest(): number;
  /** @param wake is called whenever there may be something to read. */
  follow(filter: LogFilter, wake: () => void): LogReader;
  readers(): number;
}

/** A position in the ring. Nothing is buffered per reader; lines that it did not read in time are counted. */
export interface LogReader {
  /** The next frame, or null when there is none now. */
  next(): LogFrame | null;
  close(): void;
}

export interface LogFrame {
  /** Absent in frames without a line. */
  readonly seq?: number;
  /** JSON. */
  readonly text: string;
}

interface Entry {
  readonly seq: number;
  readonly timestamp: string;
  readonly level: LogLevel;
  readonly source: LiveSource;
  /** JSON, created on the first read, as most lines are never read. */
  readonly text: string;
}

interface Reader {
  readonly matches: (entry: Entry) => boolean;
  readonly wake: () => void;
  /** Number of the next line to read, counted from the first line of the log. */
  cursor: number;
  dropped: number;
}

export const RING_LINES = 500;
const LONGEST_TEXT = 500;
const MOST_FIELDS = 20;

/**
 * Sequences are derived from the time, so that `since` stays valid after a restart and on another server. They run ahead of the
 * time only above a thousand lines per millisecond. @param now in ms.
 */
export function createLogRing(now: () => number): LogRing {
  const entries: Entry[] = [];
  const readers = new Set<Reader>();
  let seq = now() * 1_000;
  /** Number of lines that have left the ring. */
  let gone = 0;
  return {
    add(line) {
      seq = Math.max(seq + 1, now() * 1_000);
      const entry = toEntry(line, seq);
      entries.push(entry);
      const oldest = entries.length > RING_LINES ? entries.shift() : undefined;
      if (oldest !== undefined) gone += 1;
      for (const reader of readers) {
        if (oldest !== undefined && reader.cursor < gone) {
          reader.cursor = gone;
          if (reader.matches(oldest)) reader.dropped += 1;
        }
        if (reader.matches(entry)) reader.wake();
      }
    },
    newest: () => seq,
    readers: () => readers.size,
    follow(filter, wake) {
      const reader: Reader = { matches: toMatcher(filter), wake, cursor: gone, dropped: 0 };
      readers.add(reader);
      return {
        next() {
          if (reader.dropped > 0) {
            const text = JSON.stringify({ type: 'dropped', count: reader.dropped });
            reader.dropped = 0;
            return { text };
          }
          while (reader.cursor < gone + entries.length) {
            const entry = entries[reader.cursor - gone];
            reader.cursor += 1;
            if (entry !== undefined && reader.matches(entry)) return entry;
          }
          return null;
        },
        close: () => void readers.delete(reader),
      };
    },
  };
}

function toMatcher({ level, source, since }: LogFilter): (entry: Entry) => boolean {
  const least = level === undefined ? 0 : LOG_LEVELS.indexOf(level);
  return (entry) =>
    LOG_LEVELS.indexOf(entry.level) >= least &&
    (source === undefined || entry.source === source) &&
    (since === undefined || (typeof since === 'number' ? entry.seq > since : entry.timestamp >= since));
}

function toEntry(line: LogLine, seq: number): Entry {
  const { timestamp, level } = line;
  const source = LIVE[line.source] ?? 'deploy';
  let unread: LogLine | null = line;
  let text = '';
  const read = (): string => {
    if (unread !== null) text = toText(unread, seq, source);
    unread = null;
    return text;
  };
  // Lines of calls are short. Other lines may be long, so only the shown text is stored.
  if (line.source !== 'tool') read();
  return {
    seq,
    timestamp,
    level,
    source,
    get text() {
      return read();
    },
  };
}

function toText({ timestamp, level, message, fields }: LogLine, seq: number, source: LiveSource): string {
  const shown = toFields(message, fields);
  return JSON.stringify({
    type: 'log',
    seq,
    timestamp,
    level,
    source,
    message: clean(message),
    ...(Object.keys(shown).length === 0 ? {} : { fields: shown }),
  });
}

const LIVE: Partial<Record<LogSource, LiveSource>> = Object.fromEntries(LIVE_SOURCES.map((source) => [source, source]));

/** Events of unexpected failures. Messages of drivers may contain values, so they stay in the log of the program. */
const UNTOLD_OF: ReadonlySet<string> = new Set(['call_failed', 'request_failed', 'request failed']);
const UNTOLD: ReadonlySet<string> = new Set(['error', 'reason', 'stack']);

function toFields(message: string, fields: LogLine['fields']): Record<string, unknown> {
  const shown = Object.entries(fields).filter(
    ([name, value]) => !(UNTOLD_OF.has(message) && UNTOLD.has(name)) && (value === null || typeof value !== 'object'),
  );
  return Object.fromEntries(
    shown.slice(0, MOST_FIELDS).map(([name, value]) => [clean(name), typeof value === 'string' ? clean(value) : value]),
  );
}

/** The first line of a text, shortened and without credentials. */
const clean = (text: string): string =>
  (text.slice(0, LONGEST_TEXT * 2).split('\n')[0] ?? '')
    .replaceAll(/svc_[a-z_]*[A-Za-z0-9]{20,}/g, 'svc_…')
    .replaceAll(/\/\/[^\s/@]*@/g, '//…@')
    .replaceAll(/\b(Bearer|Basic) \S+/gi, '$1 …')
    .slice(0, LONGEST_TEXT);
