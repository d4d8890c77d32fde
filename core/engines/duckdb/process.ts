import { AppError } from '#core/errors.ts';
import { is_compiled } from '#core/process/product.ts';
import { type Child, type ChildEnded, startChild } from '../shared/files/child.ts';
import type { PooledSession } from '../shared/session-pool.ts';
import type { Column, Row } from '#core/lib/sql/result.ts';
import { handOver } from '../shared/rows.ts';
import type { Description, RowReceiver } from '#core/engines/shared/source.ts';
import { NOT_BUILT_IN, NOT_INSTALLED, OUT_OF_MEMORY, toDuckdbError, toOpeningError } from './errors.ts';
import type { DuckdbAnswer, DuckdbQuestion } from './messages.ts';
import type { DuckdbRows, DuckdbRun, DuckdbText } from './requests.ts';

/** KiB of private memory for a process that runs statements. `memory_limit` does not include constants that statements build. */
const SERVING_MEMORY_KIB = 600_000;
/** Milliseconds that DuckDB gets to react to a stop. While it evaluates constants it does not react. */
const STOP_WAIT_MS = 250;
/** Signals that end a process which runs out of memory. */
const BROKEN: ReadonlySet<string> = new Set(['SIGABRT', 'SIGSEGV', 'SIGTRAP', 'SIGILL', 'SIGBUS', 'SIGXFSZ']);

const ON_DENO = 'DuckDB connections need a host that runs on Bun; this one runs on Deno.';

export interface DuckdbSession extends PooledSession {
  readonly version: string;
  run(request: DuckdbRun, signal: AbortSignal): Promise<DuckdbRows>;
  /** Hands over the rows of a statement. If that ends early, the process is killed. */
  stream(request: DuckdbRun, receiver: RowReceiver, signal: AbortSignal): Promise<void>;
  describe(statements: readonly DuckdbText[], signal: AbortSignal): Promise<(Description | AppError)[]>;
}

/** Starts a child process with a memory limit. @param limits arguments of `ulimit`, on Linux. */
export function startDuckdbChild(limits: string): Child<DuckdbQuestion, DuckdbAnswer> {
  if ('deno' in process.versions) throw new AppError('database_unreachable', ON_DENO, { reason: 'failed' });
  return startChild('duckdb-child', { limits, stop: { question: { ask: 'stop' }, wait_ms: STOP_WAIT_MS }, toError: ended });
}

/**
 * Starts a child process that opens one file. @param isCurrent false: the file was replaced, so the session is not used again.
 */
export async function openDuckdbSession(path: string, isCurrent: () => boolean, signal: AbortSignal): Promise<DuckdbSession> {
  const child = startDuckdbChild(`ulimit -d ${SERVING_MEMORY_KIB}`);
  let sound = true;

  async function ask(question: DuckdbQuestion, stop: AbortSignal, text?: string): Promise<DuckdbAnswer> {
    const answer = await child.ask(question, stop);
    if (answer.answer === 'missing') throw notInstalled(answer.message);
    if (answer.answer !== 'fault') return answer;
    if (question.ask === 'open') throw toOpeningError(answer.fault);
    const error = toDuckdbError(answer.fault, text);
    // The state of its memory is unknown.
    if (error.code === 'database_unreachable' || error.detail === OUT_OF_MEMORY) sound = false;
    throw error;
  }

  let version: string;
  try {
    const opened = await ask({ ask: 'open', path }, signal);
    version = opened.answer === 'opened' ? opened.version : '';
  } catch (error) {
    await child.kill();
    throw error;
  }

  return {
    version,
    get usable() {
      return sound && child.usable && isCurrent();
    },
    async run(request, stop) {
      const answer = await ask({ ask: 'run', ...request }, stop, request.text);
      if (answer.answer !== 'rows') throw unexpected();
      return answer.result;
    },
    stream: (request, receiver, stop) =>
      handOver(receiver, async (to) => {
        const started = await ask({ ask: 'stream', ...request }, stop, request.text);
        try {
          if (started.answer !== 'streaming') throw unexpected();
          to.begin(started.columns);
          for (;;) {
            const answer = await ask({ ask: 'part' }, stop, request.text);
            if (answer.answer !== 'part') throw unexpected();
            if (answer.part.is_last) return;
            await to.rows(JSON.parse(answer.part.rows) as Row[]);
          }
        } catch (error) {
          await child.kill();
          throw error;
        }
      }),
    async describe(statements, stop) {
      const answer = await ask({ ask: 'describe', statements }, stop);
      if (answer.answer !== 'described') throw unexpected();
      return answer.statements.map((one, n) =>
        'fault' in one
          ? toDuckdbError(one.fault, statements[n]?.text)
          : { columns: one.columns satisfies readonly Column[], reads: one.reads },
      );
    },
    close: () => child.kill(),
  };
}

/** Whether the optional package is installed. The single executable does not include it. */
export function isDuckdbInstalled(): boolean {
  try {
    return !is_compiled && import.meta.resolve('@duckdb/node-api') !== '';
  } catch {
    return false;
  }
}

export const notInstalled = (cause: string): AppError =>
  new AppError('database_unreachable', is_compiled ? NOT_BUILT_IN : NOT_INSTALLED, { reason: 'failed', cause });

const unexpected = (): AppError => new AppError('internal', 'The DuckDB process sent an unexpected answer.');

function ended(cause: ChildEnded): AppError {
  if (cause.signal !== null && BROKEN.has(cause.signal)) return new AppError('sql_error', OUT_OF_MEMORY, { cause });
  return new AppError('database_unreachable', 'The process that holds the DuckDB file ended unexpectedly; try again.', {
    reason: 'failed',
    cause,
  });
}
