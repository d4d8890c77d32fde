import { spawn } from 'node:child_process';
import { AppError } from '#core/errors.ts';
import { is_compiled, programCommand } from '#core/product.ts';
import type { PooledSession } from '../shared/session-pool.ts';
import type { Column } from '../shared/source.ts';
import { NOT_BUILT_IN, NOT_INSTALLED, OUT_OF_MEMORY, toDuckdbError, toOpeningError } from './errors.ts';
import type { DuckdbAnswer, DuckdbQuestion } from './messages.ts';
import type { DuckdbDescribed, DuckdbRows, DuckdbRun, DuckdbText } from './requests.ts';

const CHILD_FLAGS = ['--no-orphans', '--no-install', '--no-env-file', '--smol'];
/** KiB of private memory of a process that runs statements: `memory_limit` does not count the constants that they build. */
const SERVING_MEMORY = 600_000;
/** Milliseconds that DuckDB gets to hear that it shall stop; while it makes constants it hears nothing. */
const STOP_WAIT = 250;
/** How a program ends that runs out of memory in the middle of a step. */
const BROKEN: ReadonlySet<string> = new Set(['SIGABRT', 'SIGSEGV', 'SIGTRAP', 'SIGILL', 'SIGBUS', 'SIGXFSZ']);

const ON_DENO = 'DuckDB connections need a host that runs on Bun; this one runs on Deno.';
/** The program ended; its `exit` says so. */
const ignore = (): void => undefined;

export interface DuckdbSession extends PooledSession {
  readonly version: string;
  run(request: DuckdbRun, signal: AbortSignal): Promise<DuckdbRows>;
  describe(statements: readonly DuckdbText[], signal: AbortSignal): Promise<(DuckdbDescribed | AppError)[]>;
}

export interface DuckdbChild {
  readonly pid: number;
  readonly usable: boolean;
  /** Rejects with the reason of the signal, once the statement has stopped or its program was killed. */
  ask(question: DuckdbQuestion, signal: AbortSignal, progress?: (step: number) => void): Promise<DuckdbAnswer>;
  kill(): Promise<void>;
}

/** A child program with a bound of its own on memory. @param limits what `ulimit` sets there, on Linux. */
export function startDuckdbChild(limits: string): DuckdbChild {
  if ('deno' in process.versions) throw new AppError('database_unreachable', ON_DENO, { reason: 'failed' });
  let pending: PromiseWithResolvers<DuckdbAnswer> | undefined;
  let progressed: ((step: number) => void) | undefined;
  let usable = true;
  const command = programCommand('duckdb-child', CHILD_FLAGS);
  const [program = '', ...args] =
    process.platform === 'linux' ? ['/bin/sh', '-c', `${limits}; exec "$0" "$@"`, ...command] : command;
  const child = spawn(program, args, {
    serialization: 'advanced',
    env: {},
    cwd: is_compiled ? '/' : import.meta.dirname,
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    windowsHide: true,
  });
  const exited = new Promise<void>((done) => {
    const end = (_code: unknown, signal: string | null = null) => {
      usable = false;
      settle((asked) => asked.reject(ended(signal)));
      done();
    };
    child.once('exit', end);
    child.once('error', () => end(null));
  });
  child.on('message', (message: DuckdbAnswer) => {
    if (message.answer === 'reading') progressed?.(message.step);
    else settle((asked) => asked.resolve(message));
  });
  child.unref();

  function settle(how: (asked: PromiseWithResolvers<DuckdbAnswer>) => void): void {
    const asked = pending;
    pending = undefined;
    if (asked) how(asked);
  }

  async function ask(question: DuckdbQuestion, stop: AbortSignal, progress?: (step: number) => void): Promise<DuckdbAnswer> {
    stop.throwIfAborted();
    if (!usable) throw ended(null);
    const asked = Promise.withResolvers<DuckdbAnswer>();
    pending = asked;
    progressed = progress;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const abandon = () => {
      child.send({ ask: 'stop' } satisfies DuckdbQuestion, ignore);
      timer = setTimeout(() => {
        pending = undefined;
        void kill().then(() => asked.reject(stop.reason));
      }, STOP_WAIT);
    };
    stop.addEventListener('abort', abandon, { once: true });
    child.ref();
    child.send(question, (error) => {
      if (error instanceof Error) void kill();
    });
    try {
      const answer = await asked.promise;
      stop.throwIfAborted();
      return answer;
    } finally {
      clearTimeout(timer);
      child.unref();
      stop.removeEventListener('abort', abandon);
    }
  }

  async function kill(): Promise<void> {
    usable = false;
    child.kill('SIGKILL');
    await exited;
  }

  return {
    pid: child.pid ?? 0,
    get usable() {
      return usable;
    },
    ask,
    kill,
  };
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
          : { columns: one.columns satisfies readonly Column[], typed: one.typed },
      );
    },
    close: () => child.kill(),
  };
}

export const notInstalled = (cause: string): AppError =>
  new AppError('database_unreachable', is_compiled ? NOT_BUILT_IN : NOT_INSTALLED, { reason: 'failed', cause });

const unexpected = (): AppError => new AppError('internal', 'The DuckDB process sent an unexpected answer.');

function ended(signal: number | string | null): AppError {
  if (typeof signal === 'string' && BROKEN.has(signal)) return new AppError('sql_error', OUT_OF_MEMORY, { cause: signal });
  return new AppError('database_unreachable', 'The process that holds the DuckDB file ended unexpectedly; try again.', {
    reason: 'failed',
    cause: signal,
  });
}
