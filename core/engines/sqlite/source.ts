import { createHash } from 'node:crypto';
import { AppError } from '#core/errors.ts';
import { retryLostChild } from '../shared/files/child.ts';
import { withDeadline } from '../shared/deadline.ts';
import { CATALOGUE_LIMITS, textOf } from '../shared/rows.ts';
import { createSessionPool } from '../shared/session-pool.ts';
import type { BoundStatement, QueryResult, Row } from '#core/lib/sql/result.ts';
import type { ConnectionSettings } from '#core/engines/shared/connection-settings.ts';
import type { Description, DialPolicy, RowReceiver, RunOptions, Source, StreamOptions } from '#core/engines/shared/source.ts';
import type { StopSignal } from '../shared/stop.ts';
import { createCatalogue, SCHEMA_SQL } from './catalogue.ts';
import { replacesRows } from './count.ts';
import { NEEDS_RECOVERY } from './errors.ts';
import { resolveSqliteFile } from './file.ts';
import { openSqliteSession, type SqliteSession } from './process.ts';
import { type SqliteValue, toSqliteValue } from './values.ts';

const IDLE_MS = 60_000;
/** Milliseconds for internal statements: describe, tables, columns, test. */
const { timeout_ms: INTERNAL_TIMEOUT_MS, ...INTERNAL } = CATALOGUE_LIMITS;

/**
 * A SQLite file, opened by child processes that can be killed: one read-only handle for `fixed` and `read`, another for `write`.
 */
export function openSqlite(settings: ConnectionSettings, policy: DialPolicy): Source {
  const pool = createSessionPool<'read' | 'write', SqliteSession>({
    limit: settings.pool_size,
    idle_ms: IDLE_MS,
    open: async (kind, signal) => openSqliteSession(resolveSqliteFile(settings.database, policy), kind === 'write', signal),
  });

  async function query(statement: BoundStatement, options: RunOptions): Promise<QueryResult> {
    const kind = options.mode === 'write' ? 'write' : 'read';
    const values = statement.values.map((value, i) => toSqliteValue(value, statement.types[i] ?? 'string'));
    const { max_rows, max_bytes, rollback = false, review } = options;
    const counts = kind === 'write' && review !== undefined;
    const { changes: _, ...found } = await withDeadline(options.timeout_ms, options.signal, (signal) =>
      using(kind, signal, (session) =>
        session.run(
          { text: statement.text, values, policy: kind, max_rows, max_bytes, counts },
          signal,
          ({ changes }) => !rollback && (review === undefined || (changes !== undefined && review(changes))),
        ),
      ),
    );
    return { ...found, rows: JSON.parse(found.rows) as Row[] };
  }

  function stream(
    statement: BoundStatement,
    { timeout_ms, signal: caller }: StreamOptions,
    receiver: RowReceiver,
  ): Promise<void> {
    const values = statement.values.map((value, i) => toSqliteValue(value, statement.types[i] ?? 'string'));
    const request = { text: statement.text, values, policy: 'read', max_rows: 0, max_bytes: 0 } as const;
    return withDeadline(timeout_ms, caller, (signal) =>
      using('read', signal, (session) => session.stream(request, receiver, signal)),
    );
  }

  /** A killed write leaves its journal behind, and a read-only handle cannot roll it back. */
  async function using<Result>(
    kind: 'read' | 'write',
    signal: AbortSignal,
    work: (session: SqliteSession) => Promise<Result>,
  ): Promise<Result> {
    const once = (): Promise<Result> => pool.use(kind, signal, work);
    try {
      return await (kind === 'read' ? retryLostChild(once) : once());
    } catch (error) {
      if (!(error instanceof AppError) || error.reason !== NEEDS_RECOVERY) throw error;
      const touch = { text: 'SELECT count(*) FROM sqlite_schema', values: [], policy: 'trusted', ...INTERNAL } as const;
      await pool.use('write', signal, (session) => session.run(touch, signal));
      return pool.use(kind, signal, work);
    }
  }

  const runInternal = <Result>(
    work: (session: SqliteSession, signal: AbortSignal) => Promise<Result>,
    caller?: StopSignal,
  ): Promise<Result> =>
    withDeadline(INTERNAL_TIMEOUT_MS, caller, (signal) => using('read', signal, (session) => work(session, signal)));

  async function look(text: string, values: readonly SqliteValue[]): Promise<Row[]> {
    const found = await runInternal((session, signal) => session.run({ text, values, policy: 'trusted', ...INTERNAL }, signal));
    return JSON.parse(found.rows) as Row[];
  }

  async function describeNow(
    statements: readonly { readonly text: string }[],
    caller?: StopSignal,
  ): Promise<(Description | AppError)[]> {
    const texts = statements.map(({ text }) => text);
    const answers = await runInternal((session, signal) => session.describe(texts, signal), caller);
    return answers.map((columns) => (columns instanceof AppError ? columns : { columns }));
  }

  return {
    query,
    stream,
    async describe(text, _, caller) {
      const [columns] = await runInternal((session, signal) => session.describe([text], signal), caller);
      if (!Array.isArray(columns)) throw columns;
      return { columns };
    },
    describeAll: describeNow,
    /** The schema itself, not its change counter: the file may have been replaced by another one. */
    async schemaMark() {
      const [row] = await look(SCHEMA_SQL, []);
      return createHash('sha256').update(textOf(row?.['schema'])).digest('hex');
    },
    ...createCatalogue(look),
    cannotRollBack: async () => null,
    cannotCount: (text) => replacesRows(text, look),
    async test() {
      const [row] = await look('SELECT sqlite_version() AS version, (SELECT count(*) FROM sqlite_schema) AS objects', []);
      return { server_version: `SQLite ${textOf(row?.['version'])}`, warnings: [], superuser: false };
    },
    sessions: () => pool.sessions(),
    close: () => pool.close(),
  };
}
