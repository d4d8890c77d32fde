import { createSignal } from 'solid-js';
import type { LogLevel } from '#core/contract/log-levels.ts';
import { compileSearch } from '#core/lib/text/search.ts';
import { parseJson } from '#ui/src/kernel/json.ts';

export const SOURCES = ['deploy', 'host', 'tool', 'agent', 'tls'] as const;
export type Source = (typeof SOURCES)[number];

/** A log line as the server sends it. */
export interface Line {
  readonly seq: number;
  readonly timestamp: string;
  readonly level: LogLevel;
  readonly source: Source;
  readonly message: string;
  readonly fields?: Readonly<Record<string, string | number | boolean | null>>;
}

/** An entry of the list: a line, or the number of lines lost at this point. */
export type Entry = { readonly id: string; readonly line: Line } | { readonly id: string; readonly dropped: number };

interface Filter {
  readonly level?: LogLevel | undefined;
  readonly source?: Source | undefined;
}

interface LiveLog {
  /** Newest last; unchanged while paused. */
  readonly entries: () => readonly Entry[];
  readonly paused: () => boolean;
  /** Number of lines received while paused. */
  readonly waiting: () => number;
  readonly filter: () => Filter;
  pause(): void;
  resume(): void;
  clear(): void;
  /** A new filter starts with the lines that the server still has in memory. */
  select(filter: Filter): void;
  /** The stream address; after a lost line it requests what came since. */
  url(): string;
  /** Receives a frame of the server, as JSON. */
  take(text: string): void;
}

export const MOST_LINES = 5_000;
/** Lines within this time are shown together. */
const PUBLISH_MS = 80;
const PATH = '/api/v1/deploy/logs';

/**
 * The live log of the server. It holds no connection: the stream calls `url` and `take`.
 * @param origin such as `wss://example.com`.
 * @param onSelect reopens the stream.
 * @param later schedules the publication of new lines.
 */
export function createLiveLog(
  origin: string,
  onSelect: () => void = () => {},
  later: (publish: () => void) => void = (publish) => void setTimeout(publish, PUBLISH_MS),
): LiveLog {
  /** Lines are appended without a copy; readers get one copy per publication. */
  let lines: Entry[] = [];
  let copied: readonly Entry[] = [];
  let is_copied = true;
  let is_announced = false;
  const [published, setPublished] = createSignal(0);
  const [held, setHeld] = createSignal<readonly Entry[]>();
  const [filter, setFilter] = createSignal<Filter>({});
  const [waiting, setWaiting] = createSignal(0);
  let newest: number | undefined;
  let losses = 0;

  const entries = (): readonly Entry[] => {
    published();
    if (!is_copied) {
      lines = lines.slice(-MOST_LINES);
      copied = [...lines];
      is_copied = true;
    }
    return copied;
  };
  const publish = () => {
    is_announced = false;
    setPublished(published() + 1);
  };
  const forget = () => {
    lines = [];
    is_copied = false;
    publish();
    setWaiting(0);
    if (held() !== undefined) setHeld([]);
  };
  const add = (entry: Entry) => {
    lines.splice(indexFor(entry, lines), 0, entry);
    if (lines.length >= 2 * MOST_LINES) lines = lines.slice(-MOST_LINES);
    is_copied = false;
    if (!is_announced) {
      is_announced = true;
      later(publish);
    }
    if (held() !== undefined) setWaiting(waiting() + 1);
  };

  return {
    entries: () => held() ?? entries(),
    paused: () => held() !== undefined,
    waiting,
    filter,
    pause: () => void setHeld(entries()),
    resume() {
      setHeld(undefined);
      setWaiting(0);
    },
    clear: forget,
    select(next) {
      if (next.level === filter().level && next.source === filter().source) return;
      newest = undefined;
      forget();
      setFilter(next);
      onSelect();
    },
    url() {
      const { level, source } = filter();
      const query = new URLSearchParams();
      if (level !== undefined) query.set('level', level);
      if (source !== undefined) query.set('source', source);
      if (newest !== undefined) query.set('since', String(newest));
      return `${origin}${PATH}${query.size > 0 ? `?${query}` : ''}`;
    },
    take(text) {
      const frame = toFrame(text);
      if (frame === undefined) return;
      if (frame.type === 'dropped') {
        losses += 1;
        add({ id: `lost-${losses}`, dropped: frame.count });
        return;
      }
      const { type: _, ...line } = frame;
      // A reopened stream may repeat lines.
      if (newest !== undefined && line.seq <= newest) return;
      newest = line.seq;
      add({ id: String(line.seq), line });
    },
  };
}

/** Ordered by time, since a host's lines arrive later than the server's. Gaps stay where they were noticed. */
function indexFor(entry: Entry, lines: readonly Entry[]): number {
  let index = lines.length;
  if (!('line' in entry)) return index;
  for (let before = lines[index - 1]; before !== undefined; before = lines[index - 1]) {
    if (!('line' in before) || before.line.timestamp <= entry.line.timestamp) break;
    index -= 1;
  }
  return index;
}

type Frame = ({ readonly type: 'log' } & Line) | { readonly type: 'dropped'; readonly count: number };

function toFrame(text: string): Frame | undefined {
  const frame = parseJson(text) as Frame | { readonly type: 'hello' | 'ping' } | undefined;
  return frame?.type === 'log' || frame?.type === 'dropped' ? frame : undefined;
}

/** The entries whose line contains every word of a search. */
export function searchEntries(entries: readonly Entry[], search: string): readonly Entry[] {
  if (search === '') return entries;
  const matches = compileSearch(search);
  return entries.filter((entry) => 'line' in entry && matches(lineText(entry.line)));
}

/** A line as plain text, for the clipboard. */
export const lineText = ({ timestamp, level, source, message, fields = {} }: Line): string =>
  [timestamp, level, source, message, ...Object.entries(fields).map(([name, value]) => `${name}=${String(value)}`)].join(' ');
