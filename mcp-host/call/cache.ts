import { createHash } from 'node:crypto';
import { AppError } from '#core/errors.ts';
import { Stop, type StopSignal } from '#core/engines/shared/stop.ts';
import type { ParameterValues } from '#core/query/values.ts';
import type { FrozenConnection } from '#snapshots/format/format.ts';
import type { FrozenQuery } from '#core/query/frozen-query.ts';
import type { Registry } from '#mcp-host/registry/registry.ts';
import type { CallContext } from './context.ts';

/** The result of one run: its members, and the fields for the request log. */
export interface CallResult {
  readonly members: string;
  readonly rows: number;
  readonly wait_ms: number;
  readonly truncated: boolean;
}

/** Runs a definition with its checked values. */
export type Run = (values: ParameterValues, signal: StopSignal) => Promise<CallResult>;

/** A tool or a resource; only results of tools are cached. */
export interface Cacheable {
  readonly entity: FrozenQuery & { readonly name: string; readonly cache_ttl_seconds?: number };
  readonly connection: FrozenConnection;
}

/** The facts that the result of a call depends on, besides its definition and values. */
export type CacheContext = Pick<CallContext, 'registry' | 'rights' | 'deadline'>;

/** Caches results of read-only tools for their `cache_ttl_seconds`. Equal calls with equal rights that overlap run once. */
export interface ResultCache {
  /**
   * Null: results of this definition are not cached. @param values all bound values, from any source.
   * @param beside everything else that the result depends on, as JSON.
   */
  through(
    entry: Cacheable,
    context: CacheContext,
    values: ParameterValues,
    run: Run,
    beside?: () => readonly unknown[],
  ): Promise<CallResult> | null;
  /** Keeps only results of tools that are unchanged in these registries. */
  use(...registries: readonly Registry[]): void;
  /** Cached characters. */
  size(): number;
}

/** A tool with its definition at the time of the run. */
interface Version {
  readonly name: string;
  readonly fingerprint: string;
}

interface CacheEntry {
  readonly tool: Version;
  readonly result: CallResult;
  readonly until: number;
}

/** A run that several callers wait for. It is cancelled when the last of them leaves. */
interface InFlight {
  readonly result: Promise<CallResult>;
  readonly end: Stop;
  waiting: number;
}

/** @param capacity most characters of all results. @param largest of one. */
export const createResultCache = (now: () => number, capacity = 32 * 1024 * 1024, largest = capacity / 8): ResultCache =>
  new CachedResults(now, capacity, largest);

class CachedResults implements ResultCache {
  readonly #now: () => number;
  readonly #capacity: number;
  readonly #largest: number;
  /** In order of last use, oldest first. */
  readonly #entries_by_key = new Map<string, CacheEntry>();
  readonly #in_flight = new Map<string, InFlight>();
  /** A deploy reuses the objects of unchanged entries, but may change the variables. */
  readonly #fingerprints = new WeakMap<Cacheable, { readonly vars: Registry['vars']; readonly fingerprint: string }>();
  #served: readonly Registry[] = [];
  #size = 0;

  constructor(now: () => number, capacity: number, largest: number) {
    this.#now = now;
    this.#capacity = capacity;
    this.#largest = largest;
  }

  through(
    entry: Cacheable,
    { registry, rights, deadline }: CacheContext,
    values: ParameterValues,
    run: Run,
    beside?: () => readonly unknown[],
  ): Promise<CallResult> | null {
    const { name, cache_ttl_seconds = 0, mode } = entry.entity;
    if (cache_ttl_seconds === 0 || mode === 'write') return null;
    const fingerprint = this.#fingerprintOf(entry, registry);
    const key = digest([fingerprint, rights.key, values, ...(beside?.() ?? [])]);
    const found = this.#find(key);
    if (found !== null) return Promise.resolve({ ...found, wait_ms: 0 });
    const running =
      this.#in_flight.get(key) ?? this.#startRun(key, { name, fingerprint }, cache_ttl_seconds * 1_000, values, run);
    return this.#join(key, running, deadline);
  }

  use(...registries: readonly Registry[]): void {
    this.#served = registries;
    for (const [key, { tool }] of this.#entries_by_key) if (!this.#isServed(tool)) this.#drop(key);
  }

  size(): number {
    return this.#size;
  }

  #fingerprintOf(entry: Cacheable, { vars }: Registry): string {
    const known = this.#fingerprints.get(entry);
    if (known?.vars === vars) return known.fingerprint;
    const fingerprint = digest([entry.entity, entry.connection.id, entry.connection.pool_key, vars]);
    this.#fingerprints.set(entry, { vars, fingerprint });
    return fingerprint;
  }

  #isServed({ name, fingerprint }: Version): boolean {
    return this.#served.some((registry) => {
      const tool = registry.tools.get(name);
      return tool !== undefined && tool.entity.cache_ttl_seconds > 0 && this.#fingerprintOf(tool, registry) === fingerprint;
    });
  }

  #drop(key: string) {
    const entry = this.#entries_by_key.get(key);
    if (entry === undefined) return;
    this.#entries_by_key.delete(key);
    this.#size -= entry.result.members.length + key.length;
  }

  #find(key: string): CallResult | null {
    const entry = this.#entries_by_key.get(key);
    if (entry === undefined) return null;
    this.#entries_by_key.delete(key);
    this.#entries_by_key.set(key, entry);
    if (entry.until > this.#now()) return entry.result;
    this.#drop(key);
    return null;
  }

  #keep(key: string, entry: CacheEntry) {
    // The tool was replaced while the call ran.
    if (!this.#isServed(entry.tool) || entry.result.members.length > this.#largest) return;
    this.#drop(key);
    this.#entries_by_key.set(key, entry);
    this.#size += entry.result.members.length + key.length;
    for (const oldest of this.#entries_by_key.keys()) {
      if (this.#size <= this.#capacity) break;
      this.#drop(oldest);
    }
  }

  #startRun(key: string, tool: Version, ttl_ms: number, values: ParameterValues, run: Run): InFlight {
    const end = new Stop();
    const result = run(values, end)
      .then((ended) => {
        this.#keep(key, { tool, result: ended, until: this.#now() + ttl_ms });
        return ended;
      })
      .finally(() => {
        if (this.#in_flight.get(key) === started) this.#in_flight.delete(key);
      });
    const started: InFlight = { result, end, waiting: 0 };
    this.#in_flight.set(key, started);
    return started;
  }

  /** Waits for the shared run until it ends or the caller leaves. */
  async #join(key: string, running: InFlight, signal: StopSignal): Promise<CallResult> {
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
      if (running.waiting === 0 && this.#in_flight.get(key) === running) {
        this.#in_flight.delete(key);
        running.end.abort(signal.reason);
      }
    }
  }
}

const digest = (value: unknown): string => createHash('sha256').update(JSON.stringify(value)).digest('base64url');
