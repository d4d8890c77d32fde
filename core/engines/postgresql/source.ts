import { AppError } from '#core/errors.ts';
import { openLightDeadline, untilAborted } from '../shared/deadline.ts';
import {
  columnsQuestion,
  FINGERPRINT_SQL,
  originsQuestion,
  type Question,
  rightsWarnings,
  ROLES_SQL,
  tablesQuestion,
  toTable,
  toTableColumn,
  VERSION_SQL,
} from './catalogue.ts';
import { callerQuestion, callerWarnings } from './sql/caller-warnings.ts';
import { uncounted, UNCOUNTED_SQL } from './count.ts';
import { settingNames } from './session-values.ts';
import { describedColumns } from './plan.ts';
import { createPipelining } from './pipelining.ts';
import { askInside, describeStatements } from './run.ts';
import { createPostgresRunner } from './runner.ts';
import type { PostgresSession } from './session.ts';
import { namesUntrusted, parseUntrusted, type Untrusted, UNTRUSTED_BYTES, untrustedSql } from './sql/untrusted.ts';
import { noTable, OWN_LIMITS, pageOf, textOf } from '../shared/rows.ts';
import type { BoundStatement, QueryResult, Row } from '#core/lib/sql/result.ts';
import type { ConnectionSettings } from '#core/engines/shared/connection-settings.ts';
import type { DescribedText, Description, DialPolicy, RunOptions, PipelineSlot, Source } from '#core/engines/shared/source.ts';
import type { StopSignal } from '../shared/stop.ts';
import { plainWarnings, verifiesCertificate } from '../shared/tls.ts';
import { createTrust, LOOK_MS } from '../shared/trust.ts';
import { LIMITS_SQL, toLimit } from './time-limit.ts';

/** Milliseconds for our own questions: describe, tables, columns, test. */
const OWN_TIMEOUT = OWN_LIMITS.timeout_ms;
/** PostgreSQL and what speaks like it. `fixed`, `read` and `write` never share a session. */
export function openPostgres(settings: ConnectionSettings, policy: DialPolicy): Source {
  /** Sessions for fixed statements: what one of them met is met by all callers. */
  const fixed = new Set<PostgresSession>();
  const { memory, pool, timeouts, seen, using, run, learn } = createPostgresRunner(settings, policy, (mode, session) => {
    for (const other of fixed) if (!other.usable) fixed.delete(other);
    if (mode === 'fixed') fixed.add(session);
  });
  const pipelining = createPipelining({ database: settings.database, memory, pool, timeouts });
  const trust = createTrust<Untrusted>({
    ask: async (before) => {
      const text = untrustedSql(before);
      const answer = await using('fixed', { timeout_ms: LOOK_MS }, (session, call) =>
        askInside(session, text, UNTRUSTED_BYTES, call),
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

  /** What shares sessions names nothing that could leave something in them, or meet what another left. */
  async function isTrusted(text: string, { timeout_ms, signal }: RunOptions): Promise<boolean> {
    // What PostgreSQL's relatives run is not told by their catalogue.
    if (seen.plain || settings.db_type !== 'postgresql') return false;
    // A role may find other relations under the same names.
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
    using('read', { timeout_ms: OWN_TIMEOUT, signal }, (session, call) => describeStatements(session, statements, call));

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
    return (await query(question, { mode: 'read', ...OWN_LIMITS })).rows;
  }

  /** A relative may not have what tells them. */
  const limitsNow = (): Promise<Row[]> =>
    ask({ text: LIMITS_SQL, values: [], types: [] }).catch((error: unknown) => {
      if (settings.db_type === 'postgresql' || !(error instanceof AppError) || error.code !== 'sql_error') throw error;
      return [];
    });

  return {
    query,
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
    async schemaMark() {
      if (settings.db_type !== 'postgresql') return null;
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
    cannotRollBack: async () => null,
    cannotCount: async () => {
      const [row] = await ask({ text: UNCOUNTED_SQL, values: [], types: [] });
      return uncounted(row);
    },
    async test() {
      const [row] = await ask({ text: VERSION_SQL, values: [], types: [] });
      const roles = await ask({ text: ROLES_SQL, values: [], types: [] });
      const superuser = row?.['superuser'] === true;
      const limits = (await limitsNow()).map(toLimit);
      const told = settingNames(settings).length === 0 ? [] : callerWarnings(await ask(callerQuestion(settings)));
      return {
        server_version: textOf(row?.['version']),
        limits,
        warnings: [...rightsWarnings(superuser, roles), ...told, ...transportWarnings()],
        superuser,
      };
    },
    sessions: () => pool.sessions(),
    close: () => pool.close(),
  };

  function transportWarnings(): string[] {
    if (!seen.encrypted) return plainWarnings(settings);
    return verifiesCertificate(settings) || settings.ssl_mode === 'require'
      ? []
      : [
          'The certificate of the server is not verified; put its certificate authority into ssl_ca, or set ssl_mode to verify-full.',
        ];
  }
}
