import type { RequestContext, ChangeBatch, Context, Handlers } from '#core/context/context.ts';
import type { Platform } from '#core/platform/platform.ts';
import {
  type ConnectionRow,
  createSourcePool,
  type SourcePool,
  type WithSources,
  mapSources,
} from '#core/sources/source-pool.ts';
import { createProgressNote, readProgress } from '#core/platform/progress.ts';
import type { AppError } from '#core/errors.ts';
import { isUnreachable } from '#core/sources/statements.ts';
import type { Source } from '#core/engines/shared/source.ts';
import { writeAlone } from '#core/store/journal.ts';
import type { Db } from '#core/store/store.ts';

/** A context in which connections that are not stored yet can be planned. */
export interface BatchContext<A extends WithSources = WithSources> extends Context<A> {
  readonly batch: ChangeBatch & { readonly connections: Map<string, ConnectionRow> };
}

/** Runs work whose changes are one batch in the history. What it dials for planned connections is closed at its end. */
export async function asBatch<A extends WithSources, T>(
  context: Context<A>,
  action: ChangeBatch['action'],
  work: (context: BatchContext<A>) => Promise<T>,
): Promise<T> {
  const { app } = context;
  const connections = new Map<string, ConnectionRow>();
  const scratch = createSourcePool(app.policy, app.keyring);
  const pool = { ...scratch, of: (row: ConnectionRow) => (connections.has(row.id) ? scratch.of(row) : app.sources.of(row)) };
  const progress = createProgressNote(app, progressKey(context, context.request_id));
  const batch = { action, batch_id: app.ids(), connections, cache: {}, progress };
  try {
    return await work({ ...context, app: { ...app, sources: skipUnreachable(pool) }, batch });
  } finally {
    progress.end();
    await scratch.close();
  }
}

const progressKey = ({ actor }: Pick<RequestContext, 'actor'>, request_id: string): string =>
  `progress:${actor?.type}:${actor?.id}:${request_id}`;

export const progressHandlers: Pick<Handlers, 'progress.get'> = {
  'progress.get': async (context, { request_id }) => ({
    progress: await readProgress(context.app, progressKey(context, request_id)),
  }),
};

/** A database that was out of reach is not asked again: every further statement would wait for its time limit. */
function skipUnreachable(pool: SourcePool): SourcePool {
  const faults = new Map<string, AppError>();
  return mapSources(pool, (source, row) => {
    const remember = (answer: unknown): void => {
      if (isUnreachable(answer)) faults.set(row.id, answer);
    };
    const asked =
      <A extends unknown[], R>(ask: (...input: A) => Promise<R>) =>
      async (...input: A): Promise<R> => {
        const fault = faults.get(row.id);
        if (fault !== undefined) throw fault;
        try {
          const answer = await ask(...input);
          if (Array.isArray(answer)) answer.forEach(remember);
          return answer;
        } catch (error) {
          remember(error);
          throw error;
        }
      };
    const all = source.describeAll?.bind(source);
    return {
      ...source,
      describe: asked(source.describe.bind(source)),
      ...(all === undefined ? {} : { describeAll: batchDescribes(asked(all)) }),
      ...(source.grammar === undefined ? {} : { grammar: asked(source.grammar.bind(source)) }),
    };
  });
}

type DescribeAll = NonNullable<Source['describeAll']>;

/** What is asked in one turn of the event loop goes to the database at once: a question costs more than a statement. */
function batchDescribes(describeAll: DescribeAll): DescribeAll {
  type Answers = Awaited<ReturnType<DescribeAll>>;
  let waiting: { readonly statements: Parameters<DescribeAll>[0]; readonly asked: PromiseWithResolvers<Answers> }[] = [];
  const ask = async (): Promise<void> => {
    const questions = waiting;
    waiting = [];
    try {
      const answers = await describeAll(questions.flatMap(({ statements }) => statements));
      let from = 0;
      for (const { statements, asked } of questions) asked.resolve(answers.slice(from, (from += statements.length)));
    } catch (error) {
      for (const { asked } of questions) asked.reject(error);
    }
  };
  return (statements) => {
    if (waiting.length === 0) setImmediate(() => void ask());
    const asked = Promise.withResolvers<Answers>();
    waiting.push({ statements, asked });
    return asked.promise;
  };
}

/** One transaction in which reads see what was written; of a dry run only the answer is left. */
export async function writeAll<A extends Platform, T>(
  context: Context<A>,
  dry_run: boolean,
  work: (inside: Context<A>, tx: Db) => Promise<T>,
): Promise<T> {
  const { store } = context.app;
  const { proposal_run } = context;
  const told = proposal_run?.written.length;
  const rehearsal: { answer?: { readonly value: T } } = {};
  const undone = new Error('a dry run leaves nothing');
  try {
    return await store.write(async (tx) => {
      await writeAlone(store, tx);
      const value = await work(inTransaction(context, tx), tx);
      if (!dry_run) return value;
      rehearsal.answer = { value };
      throw undone;
    });
  } catch (error) {
    if (error === undone && rehearsal.answer !== undefined) return rehearsal.answer.value;
    // Of what failed nothing is left, not in what is told of it either.
    proposal_run?.written.splice(told ?? 0);
    throw error;
  }
}

/** A context whose store is this transaction: what is answered from it is known before the commit. */
export function inTransaction<A extends Platform>(context: Context<A>, tx: Db): Context<A> {
  const nested = <T>(work: (tx: Db) => Promise<T>): Promise<T> => work(tx);
  return { ...context, app: { ...context.app, store: { ...context.app.store, db: tx, write: nested, read: nested } } };
}
