import { AppError, commitError } from '#core/errors.ts';
import { simpleQuery, unnamed } from '#core/lib/postgres/messages.ts';
import { settingsAlone } from '#core/lib/postgres/settings.ts';
import type { ParameterType } from '#core/lib/sql/statement.ts';
import { tokenize } from '#core/lib/sql/tokenize.ts';
import { readTag } from '#core/lib/postgres/reader.ts';
import { isCode, isSessionFault, LOST, translateError } from './errors.ts';
import { changesBetween, countChanges } from './count.ts';
import { execute, fetchParts, prepare, prepareText } from './fetch.ts';
import { inferTypes } from './parameters/infer.ts';
import {
  type Fetched,
  type FetchOptions,
  learnTypes,
  type Memory,
  type SourceColumns,
  toResult,
  typesQuestion,
  unknownTypes,
} from './plan.ts';
import type { PostgresSession } from './session.ts';
import { scanPostgres } from './sql/scanner.ts';
import { settingValues } from './session-values.ts';
import { lateAfter, timeOf } from './time-limit.ts';
import { boundTypeOf } from './parameters/types.ts';
import { CATALOGUE_LIMITS, handOver } from '../shared/rows.ts';
import type { BoundStatement, BoundType } from '#core/lib/sql/result.ts';
import type { DescribedText, RowReceiver, RunOptions, StreamOptions } from '#core/engines/shared/source.ts';
import { STOP_GRACE_MS, type StopSignal } from '../shared/stop.ts';
import { within } from '../shared/deadline.ts';

export interface StatementRun {
  readonly database: string;
  readonly memory: Memory;
  /** Aborted with the AppError to reject with. */
  readonly signal: StopSignal;
}

type Limits = Pick<RunOptions, 'mode' | 'timeout_ms' | 'max_rows' | 'max_bytes' | 'rollback' | 'review' | 'session' | 'plans'>;
type Recipe = (session: PostgresSession, statement: BoundStatement, limits: Limits, call: StatementRun) => Promise<Fetched>;

/** Maximum of prepared statements per session. A session with more is replaced. */
const PREPARED_TEXTS = 500;
/** Milliseconds after which a session that is reset between calls is replaced. */
const LASTING_MS = 60_000;
/** Milliseconds after a statement's limit at which an unanswered commit counts as lost. */
const COMMIT_GRACE = 10_000;
/** Milliseconds for resetting a session. A session that takes longer is closed. */
const CLEAN_MS = 2_000;

const RECIPES: Readonly<Record<RunOptions['mode'], Recipe>> = { fixed: runFixed, read: runRead, write: runWrite };

/** Runs a statement in its mode and resets the session, or makes it unusable. */
export async function runStatement(
  session: PostgresSession,
  statement: BoundStatement,
  limits: Limits,
  call: StatementRun,
): Promise<Fetched> {
  const began = performance.now();
  try {
    return await RECIPES[limits.mode](session, statement, limits, call);
  } catch (error) {
    if (isCode(error, '57014') && performance.now() - began > timeOf(session, limits.timeout_ms) - 100)
      throw lateAfter(session, limits.timeout_ms);
    const translated = translateError(error, { database: call.database, text: statement.text });
    if (translated.reason === LOST) session.retire();
    throw translated;
  } finally {
    session.uses++;
  }
}

/** Takes one round trip: the transaction is rolled back and the statement stays prepared. */
async function runFixed(
  session: PostgresSession,
  statement: BoundStatement,
  limits: Limits,
  call: StatementRun,
): Promise<Fetched> {
  const { text } = statement;
  const { large, latencies } = call.memory;
  const { pipeline } = session;
  if (pipeline === null) throw new AppError('internal', 'A session for fixed statements lacks what runs them.');
  const began = performance.now();
  const fetched = await stoppable(session, call.signal, () => {
    const timeout_ms = timeOf(session, limits.timeout_ms);
    if (session.timeout_ms !== timeout_ms) pipeline.setTimeout((session.timeout_ms = timeout_ms));
    return pipeline.fetch(statement, { ...limits, portal: large.has(text) }, call.memory);
  });
  latencies.note(text, performance.now() - began, fetched.rows.length);
  if (!pipeline.is_clean() || pipeline.cachedCount() > PREPARED_TEXTS) session.retire();
  if (session.flooded()) large.add(text);
  return fetched;
}

/** Answers an internal text in a session for fixed statements. */
export async function queryInternal(
  session: PostgresSession,
  text: string,
  max_bytes: number,
  { database, signal }: StatementRun,
): Promise<string> {
  const { pipeline } = session;
  if (pipeline === null) {
    session.retire();
    throw new AppError('internal', 'A session for fixed statements lacks what runs them.');
  }
  try {
    return await stoppable(session, signal, () => pipeline.ask(text, max_bytes));
  } catch (error) {
    const translated = translateError(error, { database, text });
    if (translated.reason === LOST) session.retire();
    throw translated;
  } finally {
    session.uses++;
    if (!pipeline.is_clean()) session.retire();
  }
}

/**
 * Enforces read-only in full: the first SELECT takes a snapshot, after which the transaction cannot become writable; the
 * extended protocol accepts one statement; a rollback and a reset of the session always follow.
 */
async function runRead(
  session: PostgresSession,
  statement: BoundStatement,
  limits: Limits,
  call: StatementRun,
): Promise<Fetched> {
  refuseTwoPhase(statement.text);
  try {
    return await stoppable(session, call.signal, async () => {
      await begin(session, 'begin read only', limits);
      return fetchWithin(session, statement, { ...limits, portal: true }, call.memory);
    });
  } finally {
    await leave(session, 'rollback', 'discard all');
  }
}

async function runWrite(
  session: PostgresSession,
  statement: BoundStatement,
  limits: Limits,
  call: StatementRun,
): Promise<Fetched> {
  const { review, rollback = false } = limits;
  refuseTwoPhase(statement.text);
  let fetched: Fetched;
  let commits = !rollback;
  try {
    fetched = await stoppable(session, call.signal, async () => {
      await begin(session, 'begin', limits);
      const before = review === undefined ? null : await countChanges(session.line);
      const answer = await fetchWithin(session, statement, { ...limits, portal: false }, call.memory);
      await learnWithin(session, answer.source, call.memory);
      // Deferred constraints are checked here too, as a commit would.
      if (rollback || before !== null) await session.line.exchange(simpleQuery('set constraints all immediate'), 'within');
      if (before !== null && review !== undefined) {
        commits = review(changesBetween(before, await countChanges(session.line), answer.direct ?? null));
      }
      return answer;
    });
  } catch (error) {
    await leave(session, 'rollback', 'discard all');
    throw error;
  }
  if (!commits) {
    await leave(session, 'rollback', 'discard all');
    return fetched;
  }
  await commit(session, limits.timeout_ms + COMMIT_GRACE);
  await leave(session, 'discard all');
  return fetched;
}

/**
 * A prepared transaction outlives its session, and a rollback does not end it. Where servers allow it, every account may use it.
 */
function refuseTwoPhase(text: string): void {
  if (!/prepare/i.test(text)) return;
  const words = tokenize(text, { scan: scanPostgres }).filter(({ kind }) => kind !== 'space' && kind !== 'comment');
  const [first, second] = words.map(({ start, end }) => text.slice(start, end).toLowerCase());
  if (first !== 'prepare' || second !== 'transaction') return;
  throw new AppError('sql_error', 'Every call has its own transaction; a statement that controls one is not allowed.');
}

/** Runs in the transaction that was begun. */
async function fetchWithin(session: PostgresSession, statement: BoundStatement, options: FetchOptions, memory: Memory) {
  const prepared = await prepare(session.line, statement, '', 'within');
  return execute(session.line, prepared, statement, { ...options, kind: 'within' }, memory);
}

/** Looks up types that are not built in, while a failure can still roll back the statement. */
async function learnWithin(session: PostgresSession, source: SourceColumns, memory: Memory): Promise<void> {
  const unknown = unknownTypes(source, memory);
  if (unknown.length === 0) return;
  const options = { mode: 'write', ...CATALOGUE_LIMITS, portal: false } as const;
  const found = await fetchWithin(session, typesQuestion(unknown), options, memory);
  learnTypes(toResult(found, memory).rows, memory);
}

/** Cannot be stopped: once the commit is sent, only the database knows its outcome. */
async function commit(session: PostgresSession, patience_ms: number): Promise<void> {
  const timer = setTimeout(() => session.abandon(), patience_ms);
  try {
    let tag = '';
    await session.line.exchange(simpleQuery('commit'), 'alone', {
      on: (message) => void (message.type === 'C' && (tag = readTag(message))),
    });
    if (tag === 'ROLLBACK') throw new AppError('sql_error', 'The database rolled the statement back instead of committing it.');
  } catch (error) {
    if (session.usable) {
      await leave(session, 'discard all');
      throw error;
    }
    throw commitError(error);
  } finally {
    clearTimeout(timer);
  }
}

/** Sends all without waiting for answers. If the transaction did not begin as requested, the call ends here. */
async function begin(
  session: PostgresSession,
  text: string,
  { timeout_ms, session: caller, plans = false }: Pick<Limits, 'timeout_ms' | 'session' | 'plans'>,
): Promise<void> {
  const settings = {
    ...session.settings,
    statement_timeout: String(timeOf(session, timeout_ms)),
    // The costlier a plan, the more PostgreSQL compiles for it, even when it only explains.
    ...(plans ? { jit: 'off' } : {}),
  };
  const { line, names } = session;
  const calls = Object.keys(settings).map((name, n) => `set_config('${name}', $${n + 1}, true)`);
  await Promise.all([
    line.exchange(simpleQuery(text), 'within'),
    line.exchange(unnamed(`select ${calls.join(', ')}`, Object.values(settings)), 'within'),
    names.length === 0 ? null : line.exchange(settingsAlone(names, settingValues(names, caller)), 'within'),
  ]);
}

/** Resets all state of the session. If that fails, the session is not used again. */
async function leave(session: PostgresSession, ...texts: readonly string[]): Promise<void> {
  if (!session.usable) return;
  // Whether the session can be fully reset was checked when it was opened, and may have changed since.
  if (session.lasting || performance.now() - session.since > LASTING_MS) session.retire();
  try {
    await within(CLEAN_MS, Promise.all(texts.map((text) => session.line.exchange(simpleQuery(text), 'alone'))));
  } catch {
    session.retire();
  }
}

/**
 * When the signal is aborted, cancels in the database and rejects with the signal's reason: as soon as the database ends the
 * statement, or after a short wait. The session is closed in either case.
 */
function stoppable<Result>(session: PostgresSession, signal: StopSignal, work: () => Promise<Result>): Promise<Result> {
  signal.throwIfAborted();
  return new Promise((resolve, reject) => {
    let late: ReturnType<typeof setTimeout> | undefined;
    const stop = () => {
      void session.stop();
      late = setTimeout(() => reject(signal.reason), STOP_GRACE_MS);
    };
    signal.addEventListener('abort', stop, { once: true });
    const settle = (how: () => void) => {
      clearTimeout(late);
      signal.removeEventListener('abort', stop);
      if (signal.aborted) reject(signal.reason);
      else how();
    };
    work().then(
      (result) => settle(() => resolve(result)),
      (error: unknown) => {
        if (isSessionFault(error)) session.abandon();
        settle(() => reject(error));
      },
    );
  });
}

/** The name of the statement whose whole result is fetched, beside unnamed ones about its types. */
const STREAMED = 'streamed';

/** Hands over all rows of a statement. As in `runRead`, the transaction is read-only and the session is reset. */
export async function streamStatement(
  session: PostgresSession,
  statement: BoundStatement,
  limits: StreamOptions,
  receiver: RowReceiver,
  { memory, database, signal }: StatementRun,
): Promise<void> {
  refuseTwoPhase(statement.text);
  const { line } = session;
  try {
    await handOver(receiver, (to) =>
      stoppable(session, signal, async () => {
        await begin(session, 'begin read only', limits);
        const prepared = await prepare(line, statement, STREAMED, 'within');
        const source = prepared.columns;
        await learnWithin(session, source, memory);
        const empty = { source, truncated: false, affected_rows: null };
        const { columns } = toResult({ ...empty, rows: [] }, memory);
        to.begin(columns);
        await fetchParts(line, prepared, statement, memory, (rows) => to.rows(toResult({ ...empty, rows }, memory).rows));
      }).catch((error: unknown) => {
        const translated = translateError(error, { database, text: statement.text });
        if (translated.reason === LOST) session.retire();
        throw translated;
      }),
    );
  } finally {
    session.uses++;
    await leave(session, 'rollback', 'discard all');
  }
}

/**
 * Describes statements without running them, all in one batch, with the types of their placeholders. An error takes the position
 * of its statement. The session is reset.
 */
export async function describeStatements(
  session: PostgresSession,
  statements: readonly DescribedText[],
  { database, signal }: StatementRun,
): Promise<(Described | AppError)[]> {
  const prepareWith = async (text: string, oids: readonly number[]) => prepareText(session.line, text, oids);
  const describeOne = (statement: DescribedText): Promise<Described | AppError> =>
    inferTypes(prepareWith, statement)
      .then(({ columns, oids, reads }): Described => ({
        source: columns,
        reads,
        parameters: oids.map((oid, use) => (reads[use]?.as === undefined ? boundTypeOf(oid) : null)),
      }))
      .catch((error: unknown) => {
        if (isSessionFault(error)) session.abandon();
        const translated = translateError(error, { database, text: statement.text });
        if (translated.reason === LOST) throw translated;
        return translated;
      });
  try {
    return await stoppable(session, signal, () => Promise.all(statements.map(describeOne)));
  } catch (error) {
    throw translateError(error, { database, text: '' });
  } finally {
    session.uses++;
    await leave(session, 'discard all');
  }
}

export interface Described {
  readonly source: SourceColumns;
  readonly reads: readonly ParameterType[];
  readonly parameters: readonly (BoundType | null)[];
}
