import { LOG_LEVELS, type LogLevel } from '#core/contract/log-levels.ts';
import type { LogLine, LogSource } from '#core/process/log.ts';

/** Sources of the live log; the control plane's own lines count as those of deploys. */
export const LIVE_SOURCES = ['deploy', 'host', 'tool', 'agent', 'tls'] as const;
export type LiveSource = (typeof LIVE_SOURCES)[number];

export interface LogFilter {
  /** This level and what weighs more. */
  readonly level?: LogLevel;
  readonly source?: LiveSource;
  /** Lines after this sequence, or from this time on (ISO 8601). */
  readonly since?: number | string;
}

/** The last lines of the log, and those who follow it. */
export interface LogRing {
  add(line: LogLine): void;
  /** Sequence of the newest line. */
  newest(): number;
  /** @param wake is called whenever there may be something to read. */
  follow(filter: LogFilter, wake: () => void): LogReader;
  readers(): number;
}

/** A place in the ring: nothing is kept for a reader, and what it did not read in time is counted. */
export interface LogReader {
  /** The next frame, or null when there is none now. */
  next(): LogFrame | null;
  close(): void;
}

export interface LogFrame {
  /** Absent in frames that are no line. */
  readonly seq?: number;
  /** JSON. */
  readonly text: string;
}

interface Entry {
  readonly seq: number;
  readonly timestamp: string;
  readonly level: LogLevel;
  readonly source: LiveSource;
  /** JSON, made when somebody reads it: nobody reads most calls. */
  readonly text: string;
}

interface Reader {
  readonly matches: (entry: Entry) => boolean;
  readonly wake: () => void;
  /** Number of the next line to look at, counted from the first one ever. */
  cursor: number;
  dropped: number;
}

/** Contract section 13. */
export const RING_LINES = 500;
const LONGEST_TEXT = 500;
const MOST_FIELDS = 20;

/**
 * Sequences follow the time, so that `since` survives a restart and counts on another server: a thousand lines a millisecond would
 * have to be written for them to run ahead. @param now in ms.
 */
export function createLogRing(now: () => number): LogRing {
  const entries: Entry[] = [];
  const readers = new Set<Reader>();
  let seq = now() * 1_000;
  /** Lines that have left the ring. */
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
  // Lines of calls are short; what else there is may be long, and is kept only as it is shown.
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

/** Of a call or request that failed unexpectedly: in a driver's own words there may be values. They stay in the program's own log. */
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

/** One line of bounded length, without what looks like a credential. */
const clean = (text: string): string =>
  (text.slice(0, LONGEST_TEXT * 2).split('\n')[0] ?? '')
    .replaceAll(/svc_[a-z_]*[A-Za-z0-9]{20,}/g, 'svc_…')
    .replaceAll(/\/\/[^\s/@]*@/g, '//…@')
    .replaceAll(/\b(Bearer|Basic) \S+/gi, '$1 …')
    .slice(0, LONGEST_TEXT);
