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
import { lockEntityWrites } from '#core/store/journal.ts';
import type { Db } from '#core/store/store.ts';

/** A context in which planned connections that are not stored yet can be used. */
export interface BatchContext<A extends WithSources = WithSources> extends Context<A> {
  readonly batch: ChangeBatch & { readonly connections: Map<string, ConnectionRow> };
}

/** Runs work whose changes form one batch in the history. Sessions to planned connections are closed at its end. */
export async function asBatch<A extends WithSources, T>(
  context: Context<A>,
  action: ChangeBatch['action'],
  work: (context: BatchContext<A>) => Promise<T>,
): Promise<T> {
  const { app } = context;
  const connections = new Map<string, ConnectionRow>();
  const scratch = createSourcePool(app.policy, app.secrets);
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

/** Sends nothing more to an unreachable database, because every further statement would wait for its timeout. */
function skipUnreachable(pool: SourcePool): SourcePool {
  const faults = new Map<string, AppError>();
  return mapSources(pool, (source, row) => {
    const remember = (answer: unknown): void => {
      if (isUnreachable(answer)) faults.set(row.id, answer);
    };
    const unlessUnreachable =
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
      describe: unlessUnreachable(source.describe.bind(source)),
      ...(all === undefined ? {} : { describeAll: batchDescribes(unlessUnreachable(all)) }),
      ...(source.grammar === undefined ? {} : { grammar: unlessUnreachable(source.grammar.bind(source)) }),
    };
  });
}

type DescribeAll = NonNullable<Source['describeAll']>;

/** Sends the statements of one turn of the event loop together: a round trip costs more than a statement. */
function batchDescribes(describeAll: DescribeAll): DescribeAll {
  type Answers = Awaited<ReturnType<DescribeAll>>;
  let queued: { readonly statements: Parameters<DescribeAll>[0]; readonly pending: PromiseWithResolvers<Answers> }[] = [];
  const send = async (): Promise<void> => {
    const requests = queued;
    queued = [];
    try {
      const answers = await describeAll(requests.flatMap(({ statements }) => statements));
      let from = 0;
      for (const { statements, pending } of requests) pending.resolve(answers.slice(from, (from += statements.length)));
    } catch (error) {
      for (const { pending } of requests) pending.reject(error);
    }
  };
  return (statements) => {
    if (queued.length === 0) setImmediate(() => void send());
    const pending = Promise.withResolvers<Answers>();
    queued.push({ statements, pending });
    return pending.promise;
  };
}

/** Runs work in one transaction, in which reads see what was written. A dry run is rolled back and only its result stays. */
export async function writeAll<A extends Platform, T>(
  context: Context<A>,
  dry_run: boolean,
  work: (inside: Context<A>, tx: Db) => Promise<T>,
): Promise<T> {
  const { store } = context.app;
  const { proposal_run } = context;
  const written_before = proposal_run?.written.length ?? 0;
  const rehearsal: { answer?: { readonly value: T } } = {};
  const undone = new Error('a dry run leaves nothing');
  try {
    return await store.write(async (tx) => {
      await lockEntityWrites(store, tx);
      const value = await work(inTransaction(context, tx), tx);
      if (!dry_run) return value;
      rehearsal.answer = { value };
      throw undone;
    });
  } catch (error) {
    if (error === undone && rehearsal.answer !== undefined) return rehearsal.answer.value;
    // The transaction stored nothing, so nothing may be reported as written.
    proposal_run?.written.splice(written_before);
    throw error;
  }
}

/** A context whose store is this transaction, so that reads see uncommitted changes. */
export function inTransaction<A extends Platform>(context: Context<A>, tx: Db): Context<A> {
  const nested = <T>(work: (tx: Db) => Promise<T>): Promise<T> => work(tx);
  return { ...context, app: { ...context.app, store: { ...context.app.store, db: tx, write: nested, read: nested } } };
}
