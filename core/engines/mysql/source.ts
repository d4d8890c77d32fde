import { MYSQL_PLANS } from './explain.ts';
import { estimateBy } from '../shared/plans/estimate.ts';
import { AppError } from '#core/errors.ts';
import { untilAborted, withDeadline } from '../shared/deadline.ts';
import {
  checksQuestion,
  COLUMNS,
  COUNT_COLUMNS,
  COUNT_TABLES,
  INDEXES,
  TABLES,
  toIndex,
  toIndexRow,
  toTable,
  toTableColumn,
} from './catalogue.ts';
import { callerWarnings, type Grant, grantsIn } from './grants.ts';
import {
  CASCADES,
  lastingTable,
  LASTING_TABLES,
  reachOf,
  RUN_BY_NAME,
  SCHEMAS,
  seesTriggers,
  uncountedCascade,
} from './count.ts';
import { isMisfit, isReadOnlyRefusal } from './errors.ts';
import { createMysqlRunner } from './run.ts';
import { dialectNamed } from './dialects.ts';
import type { MysqlServer } from './server.ts';
import type { MysqlDescription, MysqlSession } from './session.ts';
import { typedColumns, typedTexts } from './sql/stand-ins.ts';
import { MYSQL_UNTRUSTED, type MysqlUntrusted, namesMysqlUntrusted } from './untrusted.ts';
import { containsPattern, indexesOf, noTable, CATALOGUE_LIMITS, textOf } from '../shared/rows.ts';
import type { BoundStatement, BoundType, Column, QueryResult, Row } from '#core/lib/sql/result.ts';
import type { ConnectionSettings } from '#core/engines/shared/connection-settings.ts';
import type {
  Catalogue,
  DialPolicy,
  RowReceiver,
  RunOptions,
  ServerLimit,
  SessionMode,
  Source,
  StreamOptions,
  TableFilter,
  TestReport,
} from '#core/engines/shared/source.ts';
import { plainWarnings } from '../shared/tls.ts';
import type { StopSignal } from '../shared/stop.ts';
import { createTrust, REFRESH_TIMEOUT_MS } from '../shared/trust.ts';

const INTERNAL: RunOptions = { mode: 'read', ...CATALOGUE_LIMITS };
/** A MySQL or MariaDB database. The three modes never share a session. All sessions together are at most `pool_size`. */
export function openMysql(settings: ConnectionSettings, policy: DialPolicy): Source {
  const names = (settings.session_values ?? []).map(({ name }) => name);
  /** Sessions for fixed statements, which all callers share. */
  const fixed = new Set<MysqlSession>();
  const runner = createMysqlRunner(settings, policy, (mode, session) => {
    for (const other of fixed) if (!other.usable) fixed.delete(other);
    if (mode === 'fixed') fixed.add(session);
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

  async function askUntrusted(): Promise<string> {
    const statement = { text: MYSQL_UNTRUSTED, values: [], types: [] };
    const limits = { ...INTERNAL, timeout_ms: REFRESH_TIMEOUT_MS, max_rows: 1_000_000 };
    const { rows, truncated } = await withDeadline(REFRESH_TIMEOUT_MS, undefined, (signal) =>
      runner.run(statement, { ...limits, mode: 'fixed' }, signal),
    );
    if (truncated) throw new AppError('internal', 'The database has more views and functions than can be checked.');
    return JSON.stringify(rows);
  }

  const query = (statement: BoundStatement, options: RunOptions): Promise<QueryResult> =>
    withDeadline(options.timeout_ms, options.signal, async (signal) => {
      const isTrusted = async () => trust.known(statement.text) ?? (await untilAborted(signal, trust.check(statement.text)));
      const mode = options.mode === 'fixed' && !(await isTrusted()) ? 'read' : options.mode;
      return runner.run(statement, { ...options, mode }, signal, variablesOf(options));
    });

  const variablesOf = ({ session }: StreamOptions) => names.map((name, n) => [name, session?.values[n] ?? null] as const);

  const stream = (statement: BoundStatement, options: StreamOptions, receiver: RowReceiver): Promise<void> =>
    withDeadline(options.timeout_ms, options.signal, async (signal) => {
      const limits = { ...INTERNAL, timeout_ms: options.timeout_ms };
      await runner.run(statement, limits, signal, variablesOf(options), receiver);
    });

  const describe = (text: string, types: readonly BoundType[], caller?: StopSignal): Promise<MysqlDescription> =>
    withDeadline(INTERNAL.timeout_ms, caller, async (signal) => {
      const describeIn = (mode: SessionMode) =>
        runner.using(mode, signal, async (session) => {
          const described = await session.describe(text, signal);
          const typed: (readonly Column[])[] = [];
          for (const other of described.columns.length === 0
            ? []
            : typedTexts(text, types, dialectNamed(session.server.dialect).scan)) {
            // A literal is not allowed everywhere a placeholder is.
            const found = await session
              .describe(other, signal)
              .catch((error: unknown) => (signal.aborted || isMisfit(error) ? Promise.reject(error) : null));
            if (found !== null) typed.push(found.columns);
          }
          return { ...described, columns: typedColumns(described.columns, typed) };
        });
      try {
        return await describeIn('read');
      } catch (error) {
        // A read-only session refuses to prepare a statement that writes.
        if (!isReadOnlyRefusal(error)) throw error;
        return describeIn('write');
      }
    });

  async function look(text: string, values: BoundStatement['values']): Promise<Row[]> {
    const types = values.map((value) => (typeof value === 'number' ? ('integer' as const) : ('string' as const)));
    return (await query({ text, values, types }, INTERNAL)).rows;
  }

  /** The time limit of the account, or that of the server. */
  async function limits(): Promise<ServerLimit[]> {
    const { name, ms } = runner.server()?.time_limit ?? { name: '', ms: 0 };
    if (ms === 0) return [];
    const [row] = await look(`SHOW GLOBAL VARIABLES LIKE '${name}'`, []);
    const value = `${ms / 1_000} s`;
    const of_server = Number(row?.['Value']) * (runner.server()?.is_mariadb === true ? 1_000 : 1);
    return [{ name, value, source: of_server === ms ? 'server' : 'account' }];
  }

  return {
    ...(runner.hosts && { hosts: runner.hosts }),
    query,
    stream,
    estimate: estimateBy(MYSQL_PLANS, (statement, prefix, options) =>
      query({ ...statement, text: prefix + statement.text }, options),
    ),
    grammar: () =>
      withDeadline(INTERNAL.timeout_ms, undefined, (signal) =>
        runner.using('read', signal, async ({ server }) => server.dialect),
      ),
    describe: async (text, types, signal) => ({ columns: (await describe(text, types, signal)).columns }),
    origins: async ({ text }, signal) => [...(await describe(text, [], signal)).origins],
    ...catalogueOf(look, () => runner.server()),
    ...checksOf(look, settings),
    async test() {
      const grants = await look('SHOW GRANTS', []);
      const [cipher] = await look("SHOW SESSION STATUS LIKE 'Ssl_cipher'", []);
      const plain = textOf(cipher?.['Value']) === '' ? plainWarnings(settings) : [];
      const found = { ...report(runner.server(), grants, plain), limits: await limits() };
      if (names.length === 0) return found;
      return { ...found, warnings: [...callerWarnings(grantsIn(linesOf(grants)), settings.database), ...found.warnings] };
    },
    sessions: () => runner.pool.sessions(),
    close: () => runner.pool.close(),
  };
}

/** Runs an internal statement. */
type Look = (text: string, values: BoundStatement['values']) => Promise<Row[]>;

const catalogueOf = (look: Look, server: () => MysqlServer | undefined): Catalogue => ({
  async tables(filter) {
    const found = [filter.schema ?? null, ...pattern(filter)];
    const [count] = await look(COUNT_TABLES, found);
    const rows = await look(TABLES, [...found, filter.limit, filter.skip, filter.schema ?? null]);
    return { items: rows.map(toTable), total: Number(count?.['total'] ?? 0) };
  },
  async columns({ schema = null, name }, filter) {
    const table = [schema, name] as const;
    const found = [...table, ...pattern(filter)];
    const [count] = await look(COUNT_COLUMNS, [...table, ...found]);
    if (count?.['present'] === 0) throw noTable();
    const rows = await look(COLUMNS, [...found, filter.limit, filter.skip, ...table]);
    // Servers before MySQL 8.0.16 and MariaDB 10.2 have no checks.
    const checks = await look(checksQuestion(server()?.is_mariadb === true), table).catch(() => []);
    const texts = checks.map((row) => textOf(row['text']));
    return { items: rows.map((row) => toTableColumn(row, texts)), total: Number(count?.['total'] ?? 0) };
  },
  async indexes({ schema = null, name }) {
    const rows = await look(INDEXES, [schema, name, schema, name]);
    if (rows.length === 0) throw noTable();
    return indexesOf(rows.map(toIndexRow), toIndex);
  },
});

/** Whether a writing statement can be rolled back and counted. */
function checksOf(look: Look, { database }: ConnectionSettings): Pick<Source, 'cannotRollBack' | 'cannotCount'> {
  const reach = async (text: string) => {
    const schemas = (await look(SCHEMAS, [])).map(({ name }) => textOf(name));
    const run_by_name = await look(RUN_BY_NAME, []);
    return reachOf(text, { run_by_name, schemas, default_schema: database });
  };
  return {
    async cannotRollBack(text) {
      const tables = await look(LASTING_TABLES, []);
      return tables.length === 0 ? null : lastingTable(await reach(text), tables);
    },
    async cannotCount(text) {
      const reached = await reach(text);
      const lasting = lastingTable(reached, await look(LASTING_TABLES, []));
      if (lasting !== null) return lasting;
      const sees = seesTriggers(grantsIn(linesOf(await look('SHOW GRANTS', []))));
      const cascades = await look(CASCADES, []);
      return uncountedCascade(reached, { cascades, default_schema: database, seesTriggers: sees });
    },
  };
}

function pattern({ search }: TableFilter): [string | null, string | null] {
  const text = search === undefined ? null : containsPattern(search);
  return [text, text];
}

const DANGERS: readonly { readonly rights: readonly string[]; readonly warning: string; readonly superuser?: true }[] = [
  { rights: ['ALL PRIVILEGES'], warning: 'The account has all privileges on the whole server.', superuser: true },
  { rights: ['SUPER'], warning: 'The account has the SUPER privilege.', superuser: true },
  {
    rights: ['FILE', 'ALL PRIVILEGES'],
    warning: 'The account has the FILE privilege: a statement can read and write files of the database server.',
  },
];
const CAN_GRANT = 'The account can grant its privileges to others.';

const linesOf = (grants: readonly Row[]): string[] => grants.flatMap((row) => Object.values(row).map((value) => textOf(value)));

function report(server: MysqlServer | undefined, grants: readonly Row[], plain: readonly string[]): TestReport {
  const lines = linesOf(grants);
  const isGlobal = ({ database, table }: Grant) => database === '*' && table === '*';
  const held = new Set(grantsIn(lines).flatMap((grant) => (isGlobal(grant) ? grant.rights : [])));
  const found = DANGERS.filter(({ rights }) => rights.some((right) => held.has(right)));
  const can_grant = lines.some((line) => line.includes(' WITH GRANT OPTION'));
  const warnings = [...found.map(({ warning }) => warning), ...(can_grant ? [CAN_GRANT] : []), ...plain];
  const name = server?.is_mariadb ? 'MariaDB' : 'MySQL';
  const superuser = found.some((danger) => danger.superuser === true);
  return { server_version: `${name} ${(server?.version ?? '').replace(/-mariadb.*/i, '')}`, warnings, superuser };
}
