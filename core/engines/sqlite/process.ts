import { spawn } from 'node:child_process';
import { AppError } from '#core/errors.ts';
import { is_compiled, programCommand } from '#core/product.ts';
import type { PooledSession } from '../shared/session-pool.ts';
import { toSqliteError } from './errors.ts';
import type { SqliteAnswer, SqliteQuestion, SqliteRows, SqliteRun } from './messages.ts';
import type { Column } from '../shared/source.ts';

const CHILD_FLAGS = ['--no-orphans', '--no-install', '--no-env-file', '--smol'];

/** Whether what a writing statement did is committed. */
export type Commits = (result: SqliteRows) => boolean;

export interface SqliteSession extends PooledSession {
  /** With the `write` policy the transaction is committed; once that began, `signal` no longer stops it. */
  run(request: SqliteRun, signal: AbortSignal, commits?: Commits): Promise<SqliteRows>;
  /** Of each text the columns, or why it does not compile. */
  describe(texts: readonly string[], signal: AbortSignal): Promise<(readonly Column[] | AppError)[]>;
}

/** Starts a child program that holds one file; `signal` and a crash kill it, and SQLite's journal undoes what was open. */
export async function openSqliteSession(path: string, writable: boolean, signal: AbortSignal): Promise<SqliteSession> {
  let pending: PromiseWithResolvers<SqliteAnswer> | undefined;
  let usable = true;
  const [program = '', ...args] = programCommand('sqlite-child', CHILD_FLAGS);
  const child = spawn(program, args, {
    serialization: 'advanced',
    env: {},
    cwd: is_compiled ? '/' : import.meta.dirname,
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    windowsHide: true,
  });
  const exited = new Promise<void>((done) => {
    const end = () => {
      usable = false;
      settle((asked) => asked.reject(crashed()));
      done();
    };
    child.once('exit', end);
    child.once('error', end);
  });
  child.on('message', (message: SqliteAnswer) => settle((asked) => asked.resolve(message)));
  child.unref();

  function settle(how: (asked: PromiseWithResolvers<SqliteAnswer>) => void): void {
    const asked = pending;
    pending = undefined;
    if (asked) how(asked);
  }

  async function ask(question: SqliteQuestion, stop?: AbortSignal): Promise<SqliteAnswer> {
    stop?.throwIfAborted();
    if (!usable) throw crashed();
    const asked = Promise.withResolvers<SqliteAnswer>();
    pending = asked;
    // The answer waits for the end of the child, so that its locks are gone when the caller goes on.
    const abandon = () => {
      pending = undefined;
      void kill().then(() => asked.reject(stop?.reason));
    };
    stop?.addEventListener('abort', abandon, { once: true });
    child.ref();
    child.send(question, (error) => {
      if (error instanceof Error) void kill();
    });
    try {
      return await asked.promise;
    } finally {
      child.unref();
      stop?.removeEventListener('abort', abandon);
    }
  }

  async function kill(): Promise<void> {
    usable = false;
    child.kill('SIGKILL');
    await exited;
  }

  async function askFor<Kind extends SqliteAnswer['answer']>(kind: Kind, question: SqliteQuestion, stop?: AbortSignal) {
    const answer = await ask(question, stop);
    if (answer.answer === 'fault') throw toSqliteError(answer.fault, question.ask === 'run' ? question : {});
    if (answer.answer !== kind) throw new AppError('internal', 'The SQLite process sent an unexpected answer.');
    return answer as Extract<SqliteAnswer, { answer: Kind }>;
  }

  try {
    await askFor('opened', { ask: 'open', path, writable }, signal);
  } catch (error) {
    await kill();
    throw error;
  }

  return {
    get usable() {
      return usable;
    },
    async run(request, stop, commits = () => true) {
      const { result } = await askFor('rows', { ask: 'run', ...request }, stop);
      if (request.policy !== 'write') return result;
      if (commits(result)) await askFor('committed', { ask: 'commit' });
      else await askFor('rolled back', { ask: 'rollback' });
      return result;
    },
    async describe(texts, stop) {
      const { statements } = await askFor('described', { ask: 'describe', texts }, stop);
      return statements.map((one, n) => ('columns' in one ? one.columns : toSqliteError(one.fault, { text: texts[n] ?? '' })));
    },
    close: kill,
  };
}

function crashed(): AppError {
  return new AppError('database_unreachable', 'The process that holds the SQLite file ended unexpectedly; try again.', {
    reason: 'failed',
  });
}
