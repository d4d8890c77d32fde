import { createHash } from 'node:crypto';
import { AppError } from '#core/errors.ts';
import { Stop, type StopSignal } from '#core/engines/shared/stop.ts';
import type { ParameterValues } from '#core/query/values.ts';
import type { FrozenConnection } from '#snapshots/format/format.ts';
import type { FrozenQuery } from '#core/query/frozen-query.ts';
import type { Registry } from '#mcp-host/registry/registry.ts';
import type { CallContext } from './context.ts';

/** What one run of a definition gave: the members of its result, and what the request log says of it. */
export interface CallResult {
  readonly members: string;
  readonly rows: number;
  readonly wait_ms: number;
  readonly truncated: boolean;
}

/** Runs a definition with its checked values. */
export type Run = (values: ParameterValues, signal: StopSignal) => Promise<CallResult>;

/** A tool or a resource; only results of tools are ever kept. */
export interface Cacheable {
  readonly entity: FrozenQuery & { readonly name: string; readonly cache_ttl_seconds?: number };
  readonly connection: FrozenConnection;
}

/** Of a call, all that its result depends on beside the definition and the values. */
export type CacheContext = Pick<CallContext, 'registry' | 'rights' | 'deadline'>;

/** Results of read-only tools for their `cache_ttl_seconds`. Equal calls of equal rights at one moment run once. */
export interface ResultCache {
  /**
   * Null: results of this definition are not kept. @param values those that are bound, whatever source they are from.
   * @param beside what else of the call the result depends on, as JSON.
   */
  through(
    entry: Cacheable,
    context: CacheContext,
    values: ParameterValues,
    run: Run,
    beside?: () => readonly unknown[],
  ): Promise<CallResult> | null;
  /** From now on only results of the tools of these registries, as they are there. */
  use(...registries: readonly Registry[]): void;
  /** Characters held. */
  size(): number;
}

/** A tool as it was at a moment. */
interface Version {
  readonly name: string;
  readonly fingerprint: string;
}

interface CacheEntry {
  readonly tool: Version;
  readonly result: CallResult;
  readonly until: number;
}

/** A run that several callers wait for; it is cancelled when the last of them has left. */
interface InFlight {
  readonly result: Promise<CallResult>;
  readonly end: Stop;
  waiting: number;
}

/** Characters of all results, and of one. */
const CAPACITY = 32 * 1024 * 1024;
const LARGEST = CAPACITY / 8;

export function createResultCache(now: () => number, capacity = CAPACITY, largest = LARGEST): ResultCache {
  /** In order of last use. */
  const kept = new Map<string, CacheEntry>();
  const in_flight = new Map<string, InFlight>();
  /** An entry outlives deploys that change only variables. */
  const fingerprints = new WeakMap<Cacheable, { readonly vars: Registry['vars']; readonly fingerprint: string }>();
  let served: readonly Registry[] = [];
  let size = 0;

  const fingerprintOf = (entry: Cacheable, { vars }: Registry): string => {
    const known = fingerprints.get(entry);
    if (known?.vars === vars) return known.fingerprint;
    const fingerprint = digest([entry.entity, entry.connection.id, entry.connection.pool_key, vars]);
    fingerprints.set(entry, { vars, fingerprint });
    return fingerprint;
  };
  const isServed = ({ name, fingerprint }: Version): boolean =>
    served.some((registry) => {
      const tool = registry.tools.get(name);
      return tool !== undefined && tool.entity.cache_ttl_seconds > 0 && fingerprintOf(tool, registry) === fingerprint;
    });
  const drop = (key: string) => {
    const entry = kept.get(key);
    if (entry === undefined) return;
    kept.delete(key);
    size -= entry.result.members.length + key.length;
  };
  const find = (key: string): CallResult | null => {
    const entry = kept.get(key);
    if (entry === undefined) return null;
    kept.delete(key);
    kept.set(key, entry);
    if (entry.until > now()) return entry.result;
    drop(key);
    return null;
  };
  const keep = (key: string, entry: CacheEntry) => {
    // A call that outlived its tool leaves nothing behind.
    if (!isServed(entry.tool) || entry.result.members.length > largest) return;
    drop(key);
    kept.set(key, entry);
    size += entry.result.members.length + key.length;
    for (const oldest of kept.keys()) {
      if (size <= capacity) break;
      drop(oldest);
    }
  };

  const startRun = (key: string, tool: Version, ttl_ms: number, values: ParameterValues, run: Run): InFlight => {
    const end = new Stop();
    const result = run(values, end)
      .then((ended) => {
        keep(key, { tool, result: ended, until: now() + ttl_ms });
        return ended;
      })
      .finally(() => {
        if (in_flight.get(key) === started) in_flight.delete(key);
      });
    const started: InFlight = { result, end, waiting: 0 };
    in_flight.set(key, started);
    return started;
  };
  /** Waits with the others until the result is there, or the caller leaves. */
  const join = async (key: string, running: InFlight, signal: StopSignal): Promise<CallResult> => {
    const { promise, reject } = Promise.withResolvers<never>();
    const leave = () =>
      reject(signal.reason instanceof AppError ? signal.reason : new AppError('cancelled', 'The call was cancelled.'));
    running.waiting++;
    signal.addEventListener('abort', leave);
    if (signal.aborted) leave();
    try {
      return await Promise.race([running.result, promise]);
    } finally {
      signal.removeEventListener('abort', leave);
      running.waiting--;
      if (running.waiting === 0 && in_flight.get(key) === running) {
        in_flight.delete(key);
        running.end.abort(signal.reason);
      }
    }
  };

  return {
    through(entry, { registry, rights, deadline }, values, run, beside) {
      const { name, cache_ttl_seconds = 0, mode } = entry.entity;
      if (cache_ttl_seconds === 0 || mode === 'write') return null;
      const fingerprint = fingerprintOf(entry, registry);
      const key = digest([fingerprint, rights.key, values, ...(beside?.() ?? [])]);
      const found = find(key);
      if (found !== null) return Promise.resolve({ ...found, wait_ms: 0 });
      const running = in_flight.get(key) ?? startRun(key, { name, fingerprint }, cache_ttl_seconds * 1_000, values, run);
      return join(key, running, deadline);
    },
    use(...registries) {
      served = registries;
      for (const [key, { tool }] of kept) if (!isServed(tool)) drop(key);
    },
    size: () => size,
  };
}

const digest = (value: unknown): string => createHash('sha256').update(JSON.stringify(value)).digest('base64url');
