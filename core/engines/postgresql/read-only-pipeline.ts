import type { Exchange } from '#core/lib/postgres/exchange.ts';
import type { Line } from '#core/lib/postgres/line.ts';
import { bindAndExecute, simpleQuery } from '#core/lib/postgres/messages.ts';
import { lastRow } from '#core/lib/postgres/reader.ts';
import { isCode } from './errors.ts';
import { askTypes, execute, type CachedStatement, prepare, RETYPED, valuesOf } from './fetch.ts';
import type { Fetched, FetchOptions, Memory } from './plan.ts';
import { isNarrowed } from './parameters/types.ts';
import { keepSettings, sendSettings } from '#core/lib/postgres/settings.ts';
import { settingValues } from './session-values.ts';
import type { BoundStatement } from '#core/lib/sql/result.ts';
import type { RunOptions, SessionState } from '#core/engines/shared/source.ts';

/**
 * Runs the statements of a read-only session after its login, with the extended protocol and text values: each statement is
 * parsed once and cached, a call is one write, and rows become objects as they arrive. Each statement has a read-only transaction
 * that is always rolled back; its messages are in the same write, so it costs no round trip.
 */
export interface ReadOnlyPipeline {
  /** Runs one statement at a time. Rejects with the fields of the server's error, or with a code of the connection. */
  fetch(statement: BoundStatement, options: PipelineOptions, memory: Memory): Promise<Fetched>;
  /** The statement as this session has cached it. Undefined when it was not prepared here. */
  cachedStatement(statement: BoundStatement): CachedStatement | undefined;
  /** Sends a cached statement behind the pending ones. Answers arrive in the same order. */
  send(cached: CachedStatement, statement: BoundStatement, exchange: Exchange, session: SessionState | undefined): void;
  /** Removes the statement from the cache, so that it is prepared again. */
  forget(statement: BoundStatement): void;
  is_first(exchange: Exchange): boolean;
  /** Asks the statements behind the first one to run on another session. */
  displace(): void;
  /** True when the others were displaced by a slow first statement that has not ended yet. */
  is_stalled(): boolean;
  /** Sets the time limit together with the next statement. */
  setTimeout(timeout_ms: number): void;
  /** The value in the last row of an internal text, which includes its transaction and is not cached. */
  ask(text: string, max_bytes: number): Promise<string>;
  /** True when every transaction ended as expected, no reported setting changed, and the time limit could be set. */
  is_clean(): boolean;
  /** Number of cached statements. */
  cachedCount(): number;
}

export type PipelineOptions = Omit<FetchOptions, 'mode'> & Pick<RunOptions, 'session'>;

/** Server routines that report a cached statement as outdated; it is prepared again. */
const STALE = new Set(['FetchPreparedStatement', 'RevalidateCachedQuery']);
/** SQLSTATEs with the same meaning: a column has another type, so the inferred types of placeholders no longer match. */
const MISFITS = ['42883', '42725', '42804'];
/** SQLSTATEs for a value that does not fit its placeholder, whose type may now be too narrow. */
const REFUSED_VALUES = ['22003', '22P02', '22007'];

/**
 * @param chains the server supports `rollback and chain`. @param names of the settings that each statement has from its caller.
 */
export function openReadOnlyPipeline(line: Line, chains: boolean, names: readonly string[]): ReadOnlyPipeline {
  const statements = new Map<string, CachedStatement>();
  let count = 0;
  line.prepareTransactions(chains, names.length === 0 ? undefined : keepSettings(names));
  const settingsFor = (session: SessionState | undefined): Buffer | null =>
    names.length === 0 ? null : sendSettings(settingValues(names, session));

  async function keep(statement: BoundStatement): Promise<CachedStatement> {
    const cached = await prepare(line, statement, `s${++count}`, 'call');
    statements.set(keyOf(statement), cached);
    return cached;
  }

  async function isRetyped(known: CachedStatement, statement: BoundStatement): Promise<boolean> {
    const { oids } = await prepare(line, statement, '', 'call');
    return oids.join() !== known.oids.join();
  }

  return {
    async fetch(statement, options, memory) {
      const known = statements.get(keyOf(statement));
      const settings = settingsFor(options.session);
      const kind = options.portal ? 'held' : 'call';
      const run = (cached: CachedStatement, asks_types = false) =>
        execute(line, cached, statement, { ...options, mode: 'fixed', kind, settings, asks_types }, memory);
      try {
        if (known === undefined) return await run(await keep(statement));
        // When a column became wider, the value is silently truncated, without an error.
        return await run(known, isNarrowed(statement, known.oids));
      } catch (error) {
        if (known === undefined || !isStale(error, statement)) throw error;
        if (isRefusedValue(error) && !(await isRetyped(known, statement))) throw error;
        statements.delete(keyOf(statement));
        return run(await keep(statement));
      }
    },
    cachedStatement: (statement) => statements.get(keyOf(statement)),
    send(cached, statement, sent, session) {
      const settings = settingsFor(session);
      const before = [
        ...(settings === null ? [] : [settings]),
        ...(isNarrowed(statement, cached.oids) ? [askTypes(statement)] : []),
      ];
      const bytes = bindAndExecute(cached.name, valuesOf(statement, cached));
      sent.settings = settings !== null;
      line.put({ bytes: before.length === 0 ? bytes : Buffer.concat([...before, bytes]), exchange: sent });
    },
    forget: (statement) => void statements.delete(keyOf(statement)),
    is_first: (exchange) => line.is_first(exchange),
    displace: () => line.displace(),
    is_stalled: () => line.is_stalled(),
    setTimeout(timeout_ms) {
      line.prefix(simpleQuery(`set statement_timeout = ${timeout_ms}`));
    },
    async ask(text, max_bytes) {
      const rows = lastRow();
      await line.exchange(simpleQuery(text), 'alone', { rows, enough: max_bytes });
      return rows.cells[0] ?? '';
    },
    is_clean: () => line.is_clean(),
    cachedCount: () => count,
  };
}

export const isRefusedValue = (error: unknown): boolean => isCode(error, ...REFUSED_VALUES);

export const isStale = (error: unknown, { values }: BoundStatement): boolean =>
  error === RETYPED ||
  isCode(error, ...MISFITS) ||
  (values.length > 0 && isRefusedValue(error)) ||
  (error instanceof Error && 'routine' in error && STALE.has(String(error.routine)));

/** Statements with the same text and different declared types are cached separately. */
function keyOf({ text, declared }: BoundStatement): string {
  if (declared === undefined) return text;
  const known = keys.get(declared);
  if (known?.text === text) return known.key;
  const key = `${declared.join()} ${text}`;
  keys.set(declared, { text, key });
  return key;
}
/** Caches keys by the list of types, because a new string would be hashed again. */
const keys = new WeakMap<readonly (string | null)[], { readonly text: string; readonly key: string }>();
