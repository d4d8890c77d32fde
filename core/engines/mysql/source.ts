import type { Connection } from 'mysql2';
import { AppError } from '#core/errors.ts';
import { untilAborted, withDeadline, within } from '../shared/deadline.ts';
import {
  checksQuestion,
  COLUMNS,
  COUNT_COLUMNS,
  COUNT_TABLES,
  LASTING_TABLE,
  TABLES,
  toTable,
  toTableColumn,
} from './catalogue.ts';
import { callerWarnings } from './caller-warnings.ts';
import { CASCADES, openCounter, RUN_BY_NAME, SCHEMAS, seesTriggers, uncountedCascade } from './count.ts';
import { createMysqlDialer } from './dial.ts';
import { isReadOnlyRefusal } from './errors.ts';
import { mysqlExtras } from './extras.ts';
import {
  askMysql,
  type MysqlDescription,
  type MysqlRun,
  type MysqlServer,
  type MysqlSession,
  openMysqlSession,
} from './session.ts';
import { MYSQL_UNTRUSTED, type MysqlUntrusted, namesMysqlUntrusted } from './untrusted.ts';
import { toMysqlValue } from './values.ts';
import { containsPattern, noTable, OWN_LIMITS, textOf } from '../shared/rows.ts';
import { createSessionPool } from '../shared/session-pool.ts';
import type {
  BoundStatement,
  ConnectionSettings,
  DialPolicy,
  QueryResult,
  Row,
  RunOptions,
  SessionMode,
  Source,
  TableFilter,
  TestReport,
} from '../shared/source.ts';
import { plainWarnings } from '../shared/tls.ts';
import type { StopSignal } from '../shared/stop.ts';
import { createTrust, LOOK_MS } from '../shared/trust.ts';

const IDLE_MS = 60_000;
/** Milliseconds that a server may take over a commit, and over tidying a session up. */
const COMMIT_MS = 60_000;
const CLEAN_MS = 2_000;
const OWN: RunOptions = { mode: 'read', ...OWN_LIMITS };
/** Modes that change what a text means: quotes that are names, backslashes that are letters. */
const GRAMMAR_MODES: ReadonlySet<string> = new Set([
  'ANSI',
  'ANSI_QUOTES',
  'DB2',
  'MAXDB',
  'MSSQL',
  'NO_BACKSLASH_ESCAPES',
  'ORACLE',
  'POSTGRESQL',
  'EMPTY_STRING_IS_NULL',
]);

/** A MySQL or MariaDB database. Sessions of the three modes are never shared; all of them together are at most `pool_size`. */
export function openMysql(settings: ConnectionSettings, policy: DialPolicy): Source {
  const dialer = createMysqlDialer(settings, policy);
  const extras = mysqlExtras(settings.extra_params);
  const names = (settings.session_values ?? []).map(({ name }) => name);
  let server: MysqlServer | undefined;
  /** Sessions for fixed statements: what one of them met is met by all callers. */
  const fixed = new Set<MysqlSession>();
  const pool = createSessionPool<SessionMode, MysqlSession>({
    limit: settings.pool_size,
    idle_ms: IDLE_MS,
    async open(mode, signal) {
      const ask = async (connection: Connection) => (server ??= await askServer(connection));
      const session = await openMysqlSession(dialer, { mode, extras }, ask, signal);
      for (const other of fixed) if (!other.usable) fixed.delete(other);
      if (mode === 'fixed') fixed.add(session);
      return session;
    },
  });
  const trust = createTrust<MysqlUntrusted>({
    ask: askUntrusted,
    parse: (answer) => JSON.parse(answer) as MysqlUntrusted,
    isNamed: (text, untrusted) => namesMysqlUntrusted(text, untrusted, settings.database),
    onChange() {
      for (const session of fixed) session.retire();
      fixed.clear();
    },
  });

  async function runIn(session: MysqlSession, mode: SessionMode, request: MysqlRun, stop: AbortSignal): Promise<QueryResult> {
    const { review, rollback = false } = request;
    try {
      if (mode !== 'write') return await session.run(request, stop);
      const counter = review === undefined ? null : await openCounter(session);
      const result = await session.run(request, stop);
      stop.throwIfAborted();
      const commits = counter === null || review === undefined ? !rollback : review(await counter(result.affected_rows));
      stop.throwIfAborted();
      if (commits) await commit(session);
      return result;
    } finally {
      // What names plain tables only leaves nothing but its transaction.
      await clean(session, mode !== 'fixed');
    }
  }

  async function askUntrusted(): Promise<string> {
    const request = { text: MYSQL_UNTRUSTED, values: [], variables: [], ...OWN, timeout_ms: LOOK_MS, max_rows: 1_000_000 };
    const { rows, truncated } = await withDeadline(LOOK_MS, undefined, (signal) =>
      pool.use('fixed', signal, (session) => runIn(session, 'fixed', request, signal)),
    );
    if (truncated) throw new AppError('internal', 'The database has more views and functions than can be checked.');
    return JSON.stringify(rows);
  }

  async function query(statement: BoundStatement, options: RunOptions): Promise<QueryResult> {
    const { timeout_ms, max_rows, max_bytes, rollback, review } = options;
    const values = statement.values.map((value, i) => toMysqlValue(value, statement.types[i] ?? 'string', extras.offset));
    const variables = names.map((name, n) => [name, options.session?.values[n] ?? null] as const);
    return withDeadline(timeout_ms, options.signal, async (signal) => {
      const isTrusted = async () => trust.known(statement.text) ?? (await untilAborted(signal, trust.check(statement.text)));
      const mode = options.mode === 'fixed' && !(await isTrusted()) ? 'read' : options.mode;
      const request = { text: statement.text, values, variables, timeout_ms, max_rows, max_bytes, rollback, review };
      return pool.use(mode, signal, (session) => runIn(session, mode, request, signal));
    });
  }

  const describe = (text: string, caller?: StopSignal): Promise<MysqlDescription> =>
    withDeadline(OWN.timeout_ms, caller, async (signal) => {
      const describeIn = (mode: SessionMode) => pool.use(mode, signal, (session) => session.describe(text, signal));
      try {
        return await describeIn('read');
      } catch (error) {
        // A session that only reads does not even prepare a statement that writes.
        if (!isReadOnlyRefusal(error)) throw error;
        return describeIn('write');
      }
    });

  async function look(text: string, values: BoundStatement['values']): Promise<Row[]> {
    const types = values.map((value) => (typeof value === 'number' ? ('integer' as const) : ('string' as const)));
    return (await query({ text, values, types, typed: false }, OWN)).rows;
  }

  async function cannotRollBack(): Promise<string | null> {
    const [found] = await look(LASTING_TABLE, []);
    if (found === undefined) return null;
    const { schema, name, engine } = found;
    return `This server cannot roll back every table: ${textOf(schema)}.${textOf(name)} uses ${textOf(engine)}. Convert such tables to InnoDB first.`;
  }

  return {
    query,
    describe: async (text, _, signal) => ({ columns: (await describe(text, signal)).columns, typed: false }),
    origins: async (text, _, signal) => [...(await describe(text, signal)).origins],
    async tables(filter) {
      const found = [filter.schema ?? null, ...pattern(filter)];
      const [count] = await look(COUNT_TABLES, found);
      const rows = await look(TABLES, [...found, filter.limit, filter.skip]);
      return { items: rows.map(toTable), total: Number(count?.['total'] ?? 0) };
    },
    async columns({ schema = null, name }, filter) {
      const place = [schema, name] as const;
      const found = [...place, ...pattern(filter)];
      const [count] = await look(COUNT_COLUMNS, [...place, ...found]);
      if (count?.['present'] === 0) throw noTable();
      const rows = await look(COLUMNS, [...found, filter.limit, filter.skip, ...place]);
      // Servers before MySQL 8.0.16 and MariaDB 10.2 know no checks.
      const checks = await look(checksQuestion(server?.is_mariadb === true), place).catch(() => []);
      const texts = checks.map((row) => textOf(row['text']));
      return { items: rows.map((row) => toTableColumn(row, texts)), total: Number(count?.['total'] ?? 0) };
    },
    cannotRollBack,
    async cannotCount(text) {
      const lasting = await cannotRollBack();
      if (lasting !== null) return lasting;
      const schemas = (await look(SCHEMAS, [])).map(({ name }) => textOf(name));
      const sees = seesTriggers(linesOf(await look('SHOW GRANTS', [])));
      const [cascades, run_by_name] = [await look(CASCADES, []), await look(RUN_BY_NAME, [])];
      return uncountedCascade(text, { cascades, run_by_name, schemas, own_schema: settings.database, seesTriggers: sees });
    },
    async test() {
      const grants = await look('SHOW GRANTS', []);
      const [cipher] = await look("SHOW SESSION STATUS LIKE 'Ssl_cipher'", []);
      const found = report(server, grants, textOf(cipher?.['Value']) === '' ? plainWarnings(settings) : []);
      if (names.length === 0) return found;
      return { ...found, warnings: [...callerWarnings(linesOf(grants), settings.database), ...found.warnings] };
    },
    sessions: () => pool.sessions(),
    close: () => pool.close(),
  };
}

/** Whatever the statement did or was: nothing of it stays, or the session goes. */
async function clean(session: MysqlSession, resets: boolean): Promise<void> {
  if (!session.usable) return;
  try {
    await within(
      CLEAN_MS,
      session.command('ROLLBACK').then(() => (resets ? session.reset() : undefined)),
    );
  } catch {
    session.discard();
  }
}

async function commit(session: MysqlSession): Promise<void> {
  try {
    await within(COMMIT_MS, session.command('COMMIT'));
  } catch (error) {
    if (session.usable && error instanceof AppError && error.code === 'sql_error') throw error;
    session.discard();
    const detail =
      'The connection was lost while the change was being committed; check whether it was made before you repeat it.';
    throw new AppError('database_unreachable', detail, { reason: 'failed', cause: error });
  }
}

async function askServer(connection: Connection): Promise<MysqlServer> {
  const [row] = await askMysql(connection, 'SELECT version() AS version, @@sql_mode AS sql_mode');
  const version = String(row?.['version']);
  const modes = String(row?.['sql_mode']).split(',');
  const kept = modes.filter((mode) => mode !== '' && !GRAMMAR_MODES.has(mode));
  return {
    version,
    is_mariadb: /mariadb/i.test(version),
    sql_mode: [...new Set([...kept, 'STRICT_TRANS_TABLES'])].join(','),
  };
}

function pattern({ search }: TableFilter): [string | null, string | null] {
  const text = search === undefined ? null : containsPattern(search);
  return [text, text];
}

const DANGERS: readonly { readonly right: RegExp; readonly warning: string; readonly superuser?: true }[] = [
  {
    right: /^GRANT (?:.*, )?ALL PRIVILEGES\b.* ON \*\.\*/,
    warning: 'The account has all privileges on the whole server.',
    superuser: true,
  },
  { right: /^GRANT (?:.*, )?SUPER\b.* ON \*\.\*/, warning: 'The account has the SUPER privilege.', superuser: true },
  {
    right: /^GRANT (?:.*, )?(?:FILE|ALL PRIVILEGES)\b.* ON \*\.\*/,
    warning: 'The account has the FILE privilege: a statement can read and write files of the database server.',
  },
  { right: / WITH GRANT OPTION/, warning: 'The account can grant its privileges to others.' },
];

const linesOf = (grants: readonly Row[]): string[] => grants.flatMap((row) => Object.values(row).map((value) => textOf(value)));

function report(server: MysqlServer | undefined, grants: readonly Row[], plain: readonly string[]): TestReport {
  const lines = linesOf(grants);
  const found = DANGERS.filter(({ right }) => lines.some((line) => right.test(line)));
  const warnings = [...found.map(({ warning }) => warning), ...plain];
  const name = server?.is_mariadb ? 'MariaDB' : 'MySQL';
  const superuser = found.some((danger) => danger.superuser === true);
  return { server_version: `${name} ${(server?.version ?? '').replace(/-mariadb.*/i, '')}`, warnings, superuser };
}
