import { POSTGRESQL_PLANS } from './explain.ts';
import { estimateBy } from '../shared/plans/estimate.ts';
import { AppError } from '#core/errors.ts';
import { openLightDeadline, untilAborted } from '../shared/deadline.ts';
import {
  columnsQuestion,
  FINGERPRINT_SQL,
  indexesQuestion,
  originsQuestion,
  type Question,
  rightsWarnings,
  ROLES_SQL,
  tablesQuestion,
  toIndex,
  toTable,
  toTableColumn,
  VERSION_SQL,
} from './catalogue.ts';
import { callerQuestion, callerWarnings } from './sql/caller-warnings.ts';
import { uncounted, UNCOUNTED_SQL } from './count.ts';
import { settingNames } from './session-values.ts';
import { describedColumns } from './plan.ts';
import { createPipelining } from './pipelining.ts';
import { queryInternal, describeStatements, streamStatement } from './run.ts';
import { createPostgresRunner } from './runner.ts';
import type { PostgresSession } from './session.ts';
import { namesUntrusted, parseUntrusted, type Untrusted, UNTRUSTED_BYTES, untrustedSql } from './sql/untrusted.ts';
import { indexesOf, noTable, CATALOGUE_LIMITS, pageOf, textOf } from '../shared/rows.ts';
import type { BoundStatement, QueryResult, Row } from '#core/lib/sql/result.ts';
import type { ConnectionSettings } from '#core/engines/shared/connection-settings.ts';
import type {
  Catalogue,
  DescribedText,
  Description,
  DialPolicy,
  RunOptions,
  PipelineSlot,
  Source,
  TestReport,
} from '#core/engines/shared/source.ts';
import type { StopSignal } from '../shared/stop.ts';
import { plainWarnings, verifiesCertificate } from '../shared/tls.ts';
import { createTrust, REFRESH_TIMEOUT_MS } from '../shared/trust.ts';
import { LIMITS_SQL, toLimit } from './time-limit.ts';

/** Milliseconds for internal statements: describe, tables, columns, test. */
const INTERNAL_TIMEOUT_MS = CATALOGUE_LIMITS.timeout_ms;
/** PostgreSQL and compatible databases. `fixed`, `read` and `write` never share a session. */
export function openPostgres(settings: ConnectionSettings, policy: DialPolicy): Source {
  /** Sessions for fixed statements, which all callers share. */
  const fixed = new Set<PostgresSession>();
  const { memory, pool, timeouts, seen, using, run, learn, hosts } = createPostgresRunner(settings, policy, (mode, session) => {
    for (const other of fixed) if (!other.usable) fixed.delete(other);
    if (mode === 'fixed') fixed.add(session);
  });
  const pipelining = createPipelining({ database: settings.database, memory, pool, timeouts });
  const trust = createTrust<Untrusted>({
    ask: async (before) => {
      const text = untrustedSql(before);
      const answer = await using('fixed', { timeout_ms: REFRESH_TIMEOUT_MS }, (session, call) =>
        queryInternal(session, text, UNTRUSTED_BYTES, call),
      );
      return answer === '' ? (before ?? '') : answer;
    },
    parse: parseUntrusted,
    isNamed: namesUntrusted,
    onChange() {
      for (const session of fixed) session.retire();
      fixed.clear();
    },
  });

  async function query(statement: BoundStatement, options: RunOptions): Promise<QueryResult> {
    const began = performance.now();
    const mode = options.mode === 'fixed' && !(await isTrusted(statement.text, options)) ? 'read' : options.mode;
    const left_ms = Math.max(1, options.timeout_ms - Math.round(performance.now() - began));
    return (await run(statement, { ...options, mode }, left_ms)) ?? query(statement, options);
  }

  /** A statement may share sessions if nothing that it names can leave state in them, or depend on state of another. */
  async function isTrusted(text: string, { timeout_ms, signal }: RunOptions): Promise<boolean> {
    // The catalogue of a compatible database does not show what it runs.
    if (seen.plain || settings.db_type !== 'postgresql') return false;
    // With another role the same names may find other relations.
    if (settings.session_role) return false;
    const known = trust.known(text);
    if (known !== null) return known;
    const deadline = openLightDeadline(timeouts, timeout_ms, signal);
    const checked = untilAborted(deadline.signal, trust.check(text)).finally(() => deadline.clear());
    return (await checked) && !seen.plain;
  }

  function pipelineSlot(statement: BoundStatement, sessions: number): PipelineSlot | null {
    return !seen.plain && trust.known(statement.text) === true ? pipelining.slot(statement, sessions) : null;
  }

  const describeIn = (statements: readonly DescribedText[], signal?: StopSignal) =>
    using('read', { timeout_ms: INTERNAL_TIMEOUT_MS, signal }, (session, call) => describeStatements(session, statements, call));

  async function describeNow(statements: readonly DescribedText[], signal?: StopSignal): Promise<(Description | AppError)[]> {
    const answers = await describeIn(statements, signal);
    for (const one of answers) if (!(one instanceof AppError)) await learn(one.source);
    return answers.map((one) =>
      one instanceof AppError
        ? one
        : { columns: describedColumns(one.source, memory), reads: one.reads, parameters: one.parameters },
    );
  }

  async function ask(question: Question): Promise<Row[]> {
    return (await query(question, { mode: 'read', ...CATALOGUE_LIMITS })).rows;
  }

  return {
    query,
    stream: (statement, options, receiver) =>
      using('read', options, (session, call) => streamStatement(session, statement, options, receiver, call)),
    estimate: estimateBy(POSTGRESQL_PLANS, (statement, prefix, options) =>
      query({ ...statement, text: prefix + statement.text }, { ...options, plans: true }),
    ),
    pipelineSlot,
    async describe(text, types, signal) {
      const [described] = await describeNow([{ text, types }], signal);
      if (described === undefined || described instanceof AppError)
        throw described ?? new AppError('internal', 'No description came.');
      return described;
    },
    describeAll: (statements, signal) => describeNow(statements, signal),
    async origins(statement, signal) {
      const [described] = await describeIn([statement], signal);
      if (described === undefined || described instanceof AppError) return [];
      const rows = await ask(originsQuestion(described.source.map(({ table, attribute }) => ({ table, attribute }))));
      return rows.map(({ name }) => (typeof name === 'string' ? name : null));
    },
    ...catalogueOf(ask, settings),
    cannotRollBack: async () => null,
    cannotCount: async () => {
      const [row] = await ask({ text: UNCOUNTED_SQL, values: [], types: [] });
      return uncounted(row);
    },
    ...(hosts && { hosts }),
    test: () => testReport(ask, settings, () => seen.encrypted),
    sessions: () => pool.sessions(),
    close: () => pool.close(),
  };
}

/** Runs an internal statement. */
type Ask = (question: Question) => Promise<Row[]>;

const catalogueOf = (ask: Ask, { db_type }: ConnectionSettings): Pick<Source, 'schemaMark'> & Catalogue => ({
  async schemaMark() {
    if (db_type !== 'postgresql') return null;
    const [row] = await ask({ text: FINGERPRINT_SQL, values: [], types: [] });
    return textOf(row?.['fingerprint']);
  },
  async tables(filter) {
    return pageOf(await ask(tablesQuestion(filter)), toTable);
  },
  async columns(table, filter) {
    const rows = await ask(columnsQuestion(table, filter));
    if (rows.length === 0) throw noTable();
    return pageOf(rows, toTableColumn);
  },
  async indexes(table) {
    const rows = await orNone(ask(indexesQuestion(table)), db_type);
    if (rows === null) return [];
    if (rows.length === 0) throw noTable();
    return indexesOf(rows, toIndex);
  },
});

/** @param isEncrypted whether the sessions use TLS; known after the first statement. */
async function testReport(ask: Ask, settings: ConnectionSettings, isEncrypted: () => boolean): Promise<TestReport> {
  const [row] = await ask({ text: VERSION_SQL, values: [], types: [] });
  const roles = await ask({ text: ROLES_SQL, values: [], types: [] });
  const superuser = row?.['superuser'] === true;
  const limits = (await timeLimits(ask, settings)).map(toLimit);
  const caller_warnings = settingNames(settings).length === 0 ? [] : callerWarnings(await ask(callerQuestion(settings)));
  return {
    server_version: textOf(row?.['version']),
    limits,
    warnings: [...rightsWarnings(superuser, roles), ...caller_warnings, ...transportWarnings(settings, isEncrypted())],
    superuser,
  };
}

const timeLimits = async (ask: Ask, { db_type }: ConnectionSettings): Promise<Row[]> =>
  (await orNone(ask({ text: LIMITS_SQL, values: [], types: [] }), db_type)) ?? [];

/** The rows of a query that a compatible database may not support. Null: it does not. */
const orNone = (rows: Promise<Row[]>, db_type: ConnectionSettings['db_type']): Promise<Row[] | null> =>
  rows.catch((error: unknown) => {
    if (db_type === 'postgresql' || !(error instanceof AppError) || error.code !== 'sql_error') throw error;
    return null;
  });

function transportWarnings(settings: ConnectionSettings, is_encrypted: boolean): string[] {
  if (!is_encrypted) return plainWarnings(settings);
  return verifiesCertificate(settings) || settings.ssl_mode === 'require'
    ? []
    : [
        'The certificate of the server is not verified; put its certificate authority into ssl_ca, or set ssl_mode to verify-full.',
      ];
}
