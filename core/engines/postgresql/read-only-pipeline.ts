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
 * Runs the statements of a read-only session after its login, by the extended protocol with text values: each is parsed once
 * and kept, a call is one write, and rows become objects while they arrive. Each statement has a read-only transaction of its own that is rolled back, whatever it did; its messages travel in the same
 * write, so that it costs no round trip.
 */
export interface ReadOnlyPipeline {
  /** One statement at a time. Rejects with the fields of the server's error, or with a code of the connection. */
  fetch(statement: BoundStatement, options: PipelineOptions, memory: Memory): Promise<Fetched>;
  /** The statement as this session keeps it; undefined when it was not prepared here. */
  keeps(statement: BoundStatement): CachedStatement | undefined;
  /** Sends a kept statement behind those that are on their way. They are answered in this order. */
  send(kept: CachedStatement, statement: BoundStatement, exchange: Exchange, session: SessionState | undefined): void;
  /** Prepares the statement anew when it is needed again. */
  forget(statement: BoundStatement): void;
  is_first(exchange: Exchange): boolean;
  /** Tells those behind the first one that they had better go elsewhere. */
  displace(): void;
  /** The first one took so long that the others were sent elsewhere, and it is not done yet. */
  is_stalled(): boolean;
  /** Sets the time limit together with the next statement. */
  setTimeout(timeout_ms: number): void;
  /** The value in the last row of one of our own texts, which brings its own transaction and is never kept. */
  ask(text: string, max_bytes: number): Promise<string>;
  /** Every transaction ended as it had to, no reported setting changed, and the time limit could be set. */
  is_clean(): boolean;
  /** Statements that the session keeps. */
  kept(): number;
}

export type PipelineOptions = Omit<FetchOptions, 'mode'> & Pick<RunOptions, 'session'>;

/** The server's routines that find that a kept statement does not fit any more: it is prepared again. */
const STALE = new Set(['FetchPreparedStatement', 'RevalidateCachedQuery']);
/** SQLSTATEs that say the same: the types that were inferred for its placeholders fit no more, since a column has another one. */
const MISFITS = ['42883', '42725', '42804'];
/** SQLSTATEs of a value that does not fit its placeholder: its type may be too narrow now. */
const REFUSED_VALUES = ['22003', '22P02', '22007'];

/** @param chains the server knows `rollback and chain`. @param names of what each statement is told of its caller. */
export function openReadOnlyPipeline(line: Line, chains: boolean, names: readonly string[]): ReadOnlyPipeline {
  const statements = new Map<string, CachedStatement>();
  let count = 0;
  line.prepareTransactions(chains, names.length === 0 ? undefined : keepSettings(names));
  const settingsFor = (session: SessionState | undefined): Buffer | null =>
    names.length === 0 ? null : sendSettings(settingValues(names, session));

  async function keep(statement: BoundStatement): Promise<CachedStatement> {
    const kept = await prepare(line, statement, `s${++count}`, 'call');
    statements.set(keyOf(statement), kept);
    return kept;
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
      const run = (kept: CachedStatement, asks_types = false) =>
        execute(line, kept, statement, { ...options, mode: 'fixed', kind, settings, asks_types }, memory);
      try {
        if (known === undefined) return await run(await keep(statement));
        // No error says that a column has become wider when the value is cut without one.
        return await run(known, isNarrowed(statement, known.oids));
      } catch (error) {
        if (known === undefined || !isStale(error, statement)) throw error;
        if (isRefusedValue(error) && !(await isRetyped(known, statement))) throw error;
        statements.delete(keyOf(statement));
        return run(await keep(statement));
      }
    },
    keeps: (statement) => statements.get(keyOf(statement)),
    send(kept, statement, sent, session) {
      const settings = settingsFor(session);
      const before = [
        ...(settings === null ? [] : [settings]),
        ...(isNarrowed(statement, kept.oids) ? [askTypes(statement)] : []),
      ];
      const bytes = bindAndExecute(kept.name, valuesOf(statement, kept));
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
    kept: () => count,
  };
}

export const isRefusedValue = (error: unknown): boolean => isCode(error, ...REFUSED_VALUES);

export const isStale = (error: unknown, { values }: BoundStatement): boolean =>
  error === RETYPED ||
  isCode(error, ...MISFITS) ||
  (values.length > 0 && isRefusedValue(error)) ||
  (error instanceof Error && 'routine' in error && STALE.has(String(error.routine)));

/** Two statements of one text with other declared types are two. */
function keyOf({ text, declared }: BoundStatement): string {
  if (declared === undefined) return text;
  const known = keys.get(declared);
  if (known?.text === text) return known.key;
  const key = `${declared.join()} ${text}`;
  keys.set(declared, { text, key });
  return key;
}
/** The list of a text is made once, and a key that is made anew is hashed anew. */
const keys = new WeakMap<readonly (string | null)[], { readonly text: string; readonly key: string }>();
