import { statSync } from 'node:fs';
import { AppError, commitError } from '#core/errors.ts';
import { type ChildEnded, startChild } from '../shared/files/child.ts';
import type { PooledSession } from '../shared/session-pool.ts';
import { toSqliteError } from './errors.ts';
import type { SqliteAnswer, SqliteQuestion, SqliteRows, SqliteRun } from './messages.ts';
import type { Column, Row } from '#core/lib/sql/result.ts';
import { handOver } from '../shared/rows.ts';
import type { RowReceiver } from '#core/engines/shared/source.ts';

/** Decides whether a writing statement is committed. */
export type Commits = (result: SqliteRows) => boolean;

export interface SqliteSession extends PooledSession {
  /** With the `write` policy the transaction is committed; once that has begun, `signal` no longer stops it. */
  run(request: SqliteRun, signal: AbortSignal, commits?: Commits): Promise<SqliteRows>;
  /** Hands over the rows of a reading statement. If that ends early, the process is killed. */
  stream(request: SqliteRun, receiver: RowReceiver, signal: AbortSignal): Promise<void>;
  /** For each text its columns, or why it does not compile. */
  describe(texts: readonly string[], signal: AbortSignal): Promise<(readonly Column[] | AppError)[]>;
}

/**
 * Starts a child process that opens one file. `signal` and a crash kill it, and SQLite's journal rolls back an open transaction.
 */
export async function openSqliteSession(path: string, writable: boolean, signal: AbortSignal): Promise<SqliteSession> {
  const opened = inode(path);
  const child = startChild<SqliteQuestion, SqliteAnswer>('sqlite-child', { toError: crashed });

  async function askFor<Kind extends SqliteAnswer['answer']>(kind: Kind, question: SqliteQuestion, stop?: AbortSignal) {
    const answer = await child.ask(question, stop);
    if (answer.answer === 'fault')
      throw toSqliteError(answer.fault, question.ask === 'run' || question.ask === 'stream' ? question : {});
    if (answer.answer !== kind) throw new AppError('internal', 'The SQLite process sent an unexpected answer.');
    return answer as Extract<SqliteAnswer, { answer: Kind }>;
  }

  try {
    await askFor('opened', { ask: 'open', path, writable }, signal);
  } catch (error) {
    await child.kill();
    throw error;
  }

  return {
    get usable() {
      return child.usable && inode(path) === opened;
    },
    async run(request, stop, commits = () => true) {
      const { result } = await askFor('rows', { ask: 'run', ...request }, stop);
      if (request.policy !== 'write') return result;
      if (commits(result))
        await askFor('committed', { ask: 'commit' }).catch((error: unknown) => Promise.reject(commitError(error)));
      else await askFor('rolled back', { ask: 'rollback' });
      return result;
    },
    stream: (request, receiver, stop) =>
      handOver(receiver, async (to) => {
        const { columns } = await askFor('streaming', { ask: 'stream', ...request }, stop);
        try {
          to.begin(columns);
          for (let is_last = false; !is_last;) {
            const { part } = await askFor('part', { ask: 'part' }, stop);
            ({ is_last } = part);
            const rows = JSON.parse(part.rows) as Row[];
            if (rows.length > 0) await to.rows(rows);
          }
        } catch (error) {
          await child.kill();
          throw error;
        }
      }),
    async describe(texts, stop) {
      const { statements } = await askFor('described', { ask: 'describe', texts }, stop);
      return statements.map((one, n) => ('columns' in one ? one.columns : toSqliteError(one.fault, { text: texts[n] ?? '' })));
    },
    close: () => child.kill(),
  };
}

/** Detects that the file was replaced by another one. */
const inode = (path: string): bigint | undefined => statSync(path, { bigint: true, throwIfNoEntry: false })?.ino;

function crashed(cause: ChildEnded): AppError {
  return new AppError('database_unreachable', 'The process that holds the SQLite file ended unexpectedly; try again.', {
    reason: 'failed',
    cause,
  });
}
