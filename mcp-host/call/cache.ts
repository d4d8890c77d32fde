import { createHash } from 'node:crypto';
import { AppError } from '#core/errors.ts';
import { Stop, type StopSignal } from '#core/engines/shared/stop.ts';
import type { Registry, ToolEntry } from '#mcp-host/swap/registry.ts';

/** What one run of a tool gave: the members of its result, and its figures for the log of calls. */
export interface Ran {
  readonly members: string;
  readonly rows: number;
  readonly wait_ms: number;
}

/** Results of read-only tools for their `cache_ttl_seconds`. Calls with equal arguments at one moment run once. */
export interface ResultCache {
  /** Null: this tool's results are not kept. @param values the checked arguments. */
  through(tool: ToolEntry, registry: Registry, values: object, signal: StopSignal, run: Run): Promise<Ran> | null;
  /** From now on only results of the tools of this registry, as they are there. */
  use(registry: Registry): void;
  /** Characters held. */
  size(): number;
}

type Run = (signal: StopSignal) => Promise<Ran>;

interface Kept {
  readonly tool: string;
  readonly ran: Ran;
  readonly until: number;
}

/** A run that several callers wait for; it is cancelled when the last of them has left. */
interface Flight {
  readonly result: Promise<Ran>;
  readonly end: Stop;
  waiting: number;
}

/** Characters of all results, and of one. */
const CAPACITY = 32 * 1024 * 1024;
const LARGEST = CAPACITY / 8;

export function createResultCache(now: () => number, capacity = CAPACITY, largest = LARGEST): ResultCache {
  /** In order of last use. */
  const kept = new Map<string, Kept>();
  const flights = new Map<string, Flight>();
  const editions = new WeakMap<ToolEntry, string>();
  let current = new Set<string>();
  let size = 0;

  const editionOf = (tool: ToolEntry, registry: Registry): string => {
    const known = editions.get(tool);
    if (known !== undefined) return known;
    const edition = digest([tool.entity, tool.connection.id, tool.connection.pool_key, registry.vars]);
    editions.set(tool, edition);
    return edition;
  };
  const drop = (key: string) => {
    const entry = kept.get(key);
    if (entry === undefined) return;
    kept.delete(key);
    size -= entry.ran.members.length + key.length;
  };
  const find = (key: string): Ran | null => {
    const entry = kept.get(key);
    if (entry === undefined) return null;
    kept.delete(key);
    kept.set(key, entry);
    if (entry.until > now()) return entry.ran;
    drop(key);
    return null;
  };
  const keep = (key: string, entry: Kept) => {
    // A call that outlived its tool leaves nothing behind.
    if (!current.has(entry.tool) || entry.ran.members.length > largest) return;
    drop(key);
    kept.set(key, entry);
    size += entry.ran.members.length + key.length;
    for (const oldest of kept.keys()) {
      if (size <= capacity) break;
      drop(oldest);
    }
  };

  const fly = (key: string, tool: string, ttl_ms: number, run: Run): Flight => {
    const end = new Stop();
    const result = run(end)
      .then((ran) => {
        keep(key, { tool, ran, until: now() + ttl_ms });
        return ran;
      })
      .finally(() => {
        if (flights.get(key) === flight) flights.delete(key);
      });
    const flight: Flight = { result, end, waiting: 0 };
    flights.set(key, flight);
    return flight;
  };
  /** Waits with the others until the result is there, or the caller leaves. */
  const board = async (key: string, flight: Flight, signal: StopSignal): Promise<Ran> => {
    const { promise, reject } = Promise.withResolvers<never>();
    const leave = () =>
      reject(signal.reason instanceof AppError ? signal.reason : new AppError('cancelled', 'The call was cancelled.'));
    flight.waiting++;
    signal.addEventListener('abort', leave);
    if (signal.aborted) leave();
    try {
      return await Promise.race([flight.result, promise]);
    } finally {
      signal.removeEventListener('abort', leave);
      flight.waiting--;
      if (flight.waiting === 0 && flights.get(key) === flight) {
        flights.delete(key);
        flight.end.abort(signal.reason);
      }
    }
  };

  return {
    through(tool, registry, values, signal, run) {
      const { cache_ttl_seconds, mode } = tool.entity;
      if (cache_ttl_seconds === 0 || mode === 'write') return null;
      const edition = editionOf(tool, registry);
      const key = digest([edition, values]);
      const found = find(key);
      if (found !== null) return Promise.resolve({ ...found, wait_ms: 0 });
      return board(key, flights.get(key) ?? fly(key, edition, cache_ttl_seconds * 1_000, run), signal);
    },
    use(registry) {
      current = new Set();
      for (const tool of registry.tools.values()) {
        if (tool.entity.cache_ttl_seconds > 0) current.add(editionOf(tool, registry));
      }
      for (const [key, { tool }] of kept) if (!current.has(tool)) drop(key);
    },
    size: () => size,
  };
}

const digest = (value: unknown): string => createHash('sha256').update(JSON.stringify(value)).digest('base64url');
