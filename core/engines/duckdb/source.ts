import { DUCKDB_PLANS } from './explain.ts';
import { estimateBy } from '../shared/plans/estimate.ts';
import { createHash } from 'node:crypto';
import { AppError } from '#core/errors.ts';
import { retryLostChild } from '../shared/files/child.ts';
import { withDeadline } from '../shared/deadline.ts';
import { CATALOGUE_LIMITS, textOf } from '../shared/rows.ts';
import { createSessionPool } from '../shared/session-pool.ts';
import type { BoundStatement, BoundType, Json, QueryResult, Row } from '#core/lib/sql/result.ts';
import type { ConnectionSettings } from '#core/engines/shared/connection-settings.ts';
import type { Description, DialPolicy, RowReceiver, RunOptions, Source, StreamOptions } from '#core/engines/shared/source.ts';
import type { StopSignal } from '../shared/stop.ts';
import { createCatalogue } from './catalogue.ts';
import { openFolder, refuseUnread } from './files/folder.ts';
import { isDuckdbFile, type ServedFile, serveFile } from './path.ts';
import { type DuckdbSession, openDuckdbSession } from './process.ts';
import type { DuckdbText } from './requests.ts';
import { declaredText } from './typed.ts';

/** Maximum child processes per connection; each takes about 40 MB while idle. */
const MAX_SESSIONS = 4;
/** A program can only write a `.duckdb` file while no session has it open. Only Sluice opens the cache of a folder. */
const IDLE_MS = { file: 5_000, folder: 30_000 };
/** Milliseconds for internal statements: describe, tables, columns, test. */
const { timeout_ms: INTERNAL_TIMEOUT_MS, ...INTERNAL } = CATALOGUE_LIMITS;
const WRITES = 'DuckDB connections are read-only; a tool that writes cannot use one.';

const SCHEMA_SQL = `SELECT list((schema_name, table_name, column_name, data_type) ORDER BY schema_name, table_name, column_index)::VARCHAR AS schema
  FROM duckdb_columns() WHERE database_name = current_database() AND NOT internal`;

/** A `.duckdb` file, or a folder whose files are its tables. Child processes open it; they cannot write and can be killed. */
export function openDuckdb(settings: ConnectionSettings, policy: DialPolicy): Source {
  const is_file = isDuckdbFile(settings.database);
  const served: ServedFile = is_file ? serveFile(settings, policy) : openFolder(settings, policy);
  const pool = createSessionPool<'read', DuckdbSession>({
    limit: Math.min(settings.pool_size, MAX_SESSIONS),
    idle_ms: is_file ? IDLE_MS.file : IDLE_MS.folder,
    async open(_kind, signal) {
      const { path, isCurrent } = await served.current(signal);
      return openDuckdbSession(path, isCurrent, signal);
    },
  });

  async function query(statement: BoundStatement, options: RunOptions, prefix?: string): Promise<QueryResult> {
    if (options.mode === 'write') throw new AppError('not_read_only', WRITES);
    const { types, values } = statement;
    const text = declaredText(statement);
    const { max_rows, max_bytes } = options;
    const found = await using(options, (session, signal) =>
      session.run({ text, types, values, policy: 'read', prefix, max_rows, max_bytes }, signal),
    );
    return { ...found, rows: JSON.parse(found.rows) as Row[], affected_rows: null };
  }

  function stream(statement: BoundStatement, options: StreamOptions, receiver: RowReceiver): Promise<void> {
    const { types, values } = statement;
    const request = { text: declaredText(statement), types, values, policy: 'read', max_rows: 0, max_bytes: 0 } as const;
    return using(options, (session, signal) => session.stream(request, receiver, signal));
  }

  async function using<Result>(
    { timeout_ms, signal: caller }: Pick<RunOptions, 'timeout_ms' | 'signal'>,
    work: (session: DuckdbSession, signal: AbortSignal) => Promise<Result>,
  ): Promise<Result> {
    try {
      return await withDeadline(timeout_ms, caller, async (signal) => {
        await served.refresh(signal);
        return retryLostChild(() => pool.use('read', signal, (session) => work(session, signal)));
      });
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== 'timeout' || served.isBuilt()) throw error;
      return refuseUnread();
    }
  }

  const runInternal = <Result>(
    work: (session: DuckdbSession, signal: AbortSignal) => Promise<Result>,
    signal?: StopSignal,
  ): Promise<Result> => using({ timeout_ms: INTERNAL_TIMEOUT_MS, signal }, work);

  async function look(text: string, values: readonly Json[], types: readonly BoundType[]): Promise<Row[]> {
    const found = await runInternal((session, signal) =>
      session.run({ text, values, types, policy: 'trusted', ...INTERNAL }, signal),
    );
    return JSON.parse(found.rows) as Row[];
  }

  const describeAll = (statements: readonly DuckdbText[], caller?: StopSignal): Promise<(Description | AppError)[]> =>
    runInternal((session, signal) => session.describe(statements, signal), caller);

  const explain: NonNullable<Source['explain']> = (statement, prefix, options) => query(statement, options, prefix);

  return {
    query: (statement, options) => query(statement, options),
    stream,
    explain,
    estimate: estimateBy(DUCKDB_PLANS, explain),
    async describe(text, types, signal) {
      const [described] = await describeAll([{ text, types }], signal);
      if (described === undefined || described instanceof AppError)
        throw described ?? new AppError('internal', 'Nothing was described.');
      return described;
    },
    describeAll,
    async schemaMark() {
      const [row] = await look(SCHEMA_SQL, [], []);
      return createHash('sha256').update(textOf(row?.['schema'])).digest('hex');
    },
    ...createCatalogue(look),
    async test() {
      const version = await runInternal(async (session) => session.version);
      return { server_version: `DuckDB ${version.replace(/^v/, '')}`, warnings: [], superuser: false };
    },
    filesChanged: () => served.filesChanged(),
    sessions: () => pool.sessions(),
    async close() {
      await Promise.all([pool.close(), served.isBuilt() ? undefined : served.close()]);
      await served.close();
    },
  };
}
