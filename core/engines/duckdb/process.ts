import { AppError } from '#core/errors.ts';
import { is_compiled } from '#core/process/product.ts';
import { type Child, type ChildEnded, startChild } from '../shared/files/child.ts';
import type { PooledSession } from '../shared/session-pool.ts';
import type { Column } from '#core/lib/sql/result.ts';
import type { Description } from '#core/engines/shared/source.ts';
import { NOT_BUILT_IN, NOT_INSTALLED, OUT_OF_MEMORY, toDuckdbError, toOpeningError } from './errors.ts';
import type { DuckdbAnswer, DuckdbQuestion } from './messages.ts';
import type { DuckdbRows, DuckdbRun, DuckdbText } from './requests.ts';

/** KiB of private memory of a process that runs statements: `memory_limit` does not count the constants that they build. */
const SERVING_MEMORY = 600_000;
/** Milliseconds that DuckDB gets to hear that it shall stop; while it makes constants it hears nothing. */
const STOP_WAIT = 250;
/** How a program ends that runs out of memory in the middle of a step. */
const BROKEN: ReadonlySet<string> = new Set(['SIGABRT', 'SIGSEGV', 'SIGTRAP', 'SIGILL', 'SIGBUS', 'SIGXFSZ']);

const ON_DENO = 'DuckDB connections need a host that runs on Bun; this one runs on Deno.';

export interface DuckdbSession extends PooledSession {
  readonly version: string;
  run(request: DuckdbRun, signal: AbortSignal): Promise<DuckdbRows>;
  describe(statements: readonly DuckdbText[], signal: AbortSignal): Promise<(Description | AppError)[]>;
}

/** A child program with a bound of its own on memory. @param limits what `ulimit` sets there, on Linux. */
export function startDuckdbChild(limits: string): Child<DuckdbQuestion, DuckdbAnswer> {
  if ('deno' in process.versions) throw new AppError('database_unreachable', ON_DENO, { reason: 'failed' });
  return startChild('duckdb-child', { limits, stop: { question: { ask: 'stop' }, wait_ms: STOP_WAIT }, toError: ended });
}

/**
 * Starts a child program that holds one file. @param isCurrent false: the file was replaced, and the session serves no other call.
 */
export async function openDuckdbSession(path: string, isCurrent: () => boolean, signal: AbortSignal): Promise<DuckdbSession> {
  const child = startDuckdbChild(`ulimit -d ${SERVING_MEMORY}`);
  let sound = true;

  async function ask(question: DuckdbQuestion, stop: AbortSignal, text?: string): Promise<DuckdbAnswer> {
    const answer = await child.ask(question, stop);
    if (answer.answer === 'missing') throw notInstalled(answer.message);
    if (answer.answer !== 'fault') return answer;
    if (question.ask === 'open') throw toOpeningError(answer.fault);
    const error = toDuckdbError(answer.fault, text);
    // What is left of its memory is not known.
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

/** Whether the optional package is there; the single executable has none. */
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
