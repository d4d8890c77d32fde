import { createSignal } from 'solid-js';
import type { LogLevel } from '#core/contract/log-levels.ts';
import { isFound } from '#core/lib/text/search.ts';
import { parseJson } from '#ui/src/kernel/json.ts';

export const SOURCES = ['deploy', 'host', 'tool', 'agent', 'tls'] as const;
export type Source = (typeof SOURCES)[number];

/** A line as the server tells it. */
export interface Line {
  readonly seq: number;
  readonly timestamp: string;
  readonly level: LogLevel;
  readonly source: Source;
  readonly message: string;
  readonly fields?: Readonly<Record<string, string | number | boolean | null>>;
}

/** What stands in the list: a line, or how many were lost at this place. */
export type Entry = { readonly id: string; readonly line: Line } | { readonly id: string; readonly dropped: number };

interface Filter {
  readonly level?: LogLevel | undefined;
  readonly source?: Source | undefined;
}

interface LiveLog {
  /** The newest last; held still while it is paused. */
  readonly entries: () => readonly Entry[];
  readonly paused: () => boolean;
  /** Lines that came while it is paused. */
  readonly waiting: () => number;
  readonly filter: () => Filter;
  pause(): void;
  resume(): void;
  clear(): void;
  /** Another selection begins with what the server still has of it. */
  select(filter: Filter): void;
  /** Address of the stream now: after a lost line it asks for what came since. */
  url(): string;
  /** A frame of the server, as JSON. */
  take(text: string): void;
}

export const KEPT_LINES = 5_000;
/** Lines that come closer together are shown at once. */
const PUBLISH_MS = 80;
const PATH = '/api/v1/deploy/logs';

/**
 * The live log of the server in this page. It holds no connection: the stream asks it for the address and hands it frames.
 * @param origin such as `wss://example.com`. @param onSelect opens the stream anew. @param later shows what came.
 */
export function createLiveLog(
  origin: string,
  onSelect: () => void = () => {},
  later: (publish: () => void) => void = (publish) => void setTimeout(publish, PUBLISH_MS),
): LiveLog {
  /** Appended to without a copy; readers get one copy for all lines of a moment. */
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
      lines = lines.slice(-KEPT_LINES);
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
    lines.splice(placeFor(entry, lines), 0, entry);
    if (lines.length >= 2 * KEPT_LINES) lines = lines.slice(-KEPT_LINES);
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
    select(wanted) {
      if (wanted.level === filter().level && wanted.source === filter().source) return;
      newest = undefined;
      forget();
      setFilter(wanted);
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
      // A stream that was opened anew may tell a line again.
      if (newest !== undefined && line.seq <= newest) return;
      newest = line.seq;
      add({ id: String(line.seq), line });
    },
  };
}

/** By time: a host tells its lines a moment later than the server. What was lost stays where it was noticed. */
function placeFor(entry: Entry, lines: readonly Entry[]): number {
  let place = lines.length;
  if (!('line' in entry)) return place;
  for (let before = lines[place - 1]; before !== undefined; before = lines[place - 1]) {
    if (!('line' in before) || before.line.timestamp <= entry.line.timestamp) break;
    place -= 1;
  }
  return place;
}

type Frame = ({ readonly type: 'log' } & Line) | { readonly type: 'dropped'; readonly count: number };

function toFrame(text: string): Frame | undefined {
  const frame = parseJson(text) as Frame | { readonly type: 'hello' | 'ping' } | undefined;
  return frame?.type === 'log' || frame?.type === 'dropped' ? frame : undefined;
}

/** Whether every word stands somewhere in the line. */
export const matches = (entry: Entry, wanted: string): boolean =>
  wanted === '' || ('line' in entry && isFound(wanted, lineText(entry.line)));

/** A line as one would paste it somewhere. */
export const lineText = ({ timestamp, level, source, message, fields = {} }: Line): string =>
  [timestamp, level, source, message, ...Object.entries(fields).map(([name, value]) => `${name}=${String(value)}`)].join(' ');
