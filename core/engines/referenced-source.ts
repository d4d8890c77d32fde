import { AppError } from '#core/errors.ts';
import type { BoundStatement } from '#core/lib/sql/result.ts';
import { referencesIn } from '#core/lib/sealed-values.ts';
import type { SecretReader } from '#core/lib/secrets.ts';
import { type ConnectionSettings, type SealedConnection, toSettings } from './shared/connection-settings.ts';
import { NO_ESTIMATE } from './shared/plans/estimate.ts';
import type { PipelineSlot, Source } from './shared/source.ts';

/** How often a source asks whether its references have other secrets. Most answers come from the cache. */
const CHECK_MS = 1_000;

/**
 * Opens the source of a connection. If secrets are references and the database refuses them, they are read again; with other
 * secrets, the statement runs once more in sessions of a new source. A refused sign-in has run nothing, so this is safe for
 * statements that write.
 */
export async function openReferenced(
  connection: SealedConnection,
  reader: SecretReader,
  open: (settings: ConnectionSettings) => Promise<Source>,
): Promise<Source> {
  const settings = await toSettings(connection, reader);
  const source = await open(settings);
  const { password, ssl_key, ssh = null } = connection;
  if (referencesIn([password, ssl_key, ssh]).length === 0) return source;
  return followSecrets({ source, settings }, (refused) => toSettings(connection, reader, refused), open);
}

interface Opened {
  readonly source: Source;
  readonly settings: ConnectionSettings;
}

function followSecrets(
  first: Opened,
  settingsNow: (refused?: ConnectionSettings) => Promise<ConnectionSettings>,
  open: (settings: ConnectionSettings) => Promise<Source>,
): Source {
  let current = first;
  let swapping: Promise<void> | null = null;
  let checked_at = performance.now();
  let closed = false;
  const closing = new Set<Promise<void>>();

  /** Opens a source for changed secrets. Sessions of the old one end after their statements. */
  const swap = async (refused?: ConnectionSettings): Promise<void> => {
    const settings = await settingsNow(refused);
    if (closed || isSame(settings, current.settings)) return;
    const { source: old } = current;
    current = { source: await open(settings), settings };
    const end = old
      .close()
      .catch(() => undefined)
      .finally(() => closing.delete(end));
    closing.add(end);
  };
  const swapOnce = (refused?: ConnectionSettings): Promise<void> => {
    swapping ??= swap(refused).finally(() => {
      swapping = null;
    });
    return swapping;
  };
  const inUse = (): Opened => {
    const now = performance.now();
    if (now - checked_at >= CHECK_MS && swapping === null) {
      checked_at = now;
      // While the secret cannot be read, the current one is used.
      void swapOnce().catch(() => undefined);
    }
    return current;
  };
  const run = async <T>(work: (source: Source) => Promise<T>): Promise<T> => {
    const used = inUse();
    try {
      return await work(used.source);
    } catch (error) {
      if (!isRefusedSignIn(error) || closed) throw error;
      return work(await afterRefusal(used, error));
    }
  };
  /** The source with other secrets. Throws the refusal when there are none. */
  const afterRefusal = async (used: Opened, error: unknown): Promise<Source> => {
    // A check that began before the refusal may have read the old secret.
    if (current === used) await swapping?.catch(() => undefined);
    if (current === used) await swapOnce(used.settings).catch(() => undefined);
    if (current === used) throw error;
    return current.source;
  };

  // A method is absent where the engine does not have it, whatever the secrets are.
  const has = first.source;
  return {
    describe: (...args) => run((source) => source.describe(...args)),
    ...(has.describeAll && {
      describeAll: (...args) => run((source) => source.describeAll?.(...args) ?? Promise.resolve([])),
    }),
    ...(has.origins && { origins: (...args) => run((source) => source.origins?.(...args) ?? Promise.resolve([])) }),
    ...(has.schemaMark && { schemaMark: () => run((source) => source.schemaMark?.() ?? Promise.resolve(null)) }),
    query: (...args) => run((source) => source.query(...args)),
    stream: (...args) => run((source) => source.stream(...args)),
    ...(has.grammar && { grammar: () => run((source) => source.grammar?.() ?? Promise.resolve('')) }),
    ...(has.explain && {
      explain: (...args) => run((source) => source.explain?.(...args) ?? source.query(args[0], args[2])),
    }),
    ...(has.estimate && {
      estimate: (...args) => run((source) => source.estimate?.(...args) ?? Promise.resolve(NO_ESTIMATE)),
    }),
    ...(has.pipelineSlot && { pipelineSlot: (statement, sessions) => slotOf(inUse(), statement, sessions, afterRefusal) }),
    tables: (filter) => run((source) => source.tables(filter)),
    columns: (...args) => run((source) => source.columns(...args)),
    indexes: (table) => run((source) => source.indexes(table)),
    ...(has.cannotRollBack && {
      cannotRollBack: (text) => run((source) => source.cannotRollBack?.(text) ?? Promise.resolve(null)),
    }),
    ...(has.cannotCount && { cannotCount: (text) => run((source) => source.cannotCount?.(text) ?? Promise.resolve(null)) }),
    ...(has.filesChanged && { filesChanged: () => current.source.filesChanged?.() }),
    ...(has.hosts && { hosts: () => run((source) => source.hosts?.() ?? Promise.resolve([])) }),
    test: () => run((source) => source.test()),
    sessions: () => current.source.sessions(),
    async close() {
      closed = true;
      await swapping?.catch(() => undefined);
      await current.source.close();
      await Promise.all(closing);
    },
  };
}

function slotOf(
  used: Opened,
  statement: BoundStatement,
  sessions: number,
  afterRefusal: (used: Opened, error: unknown) => Promise<Source>,
): PipelineSlot | null {
  const slot = used.source.pipelineSlot?.(statement, sessions) ?? null;
  return (
    slot && {
      async query(options) {
        try {
          return await slot.query(options);
        } catch (error) {
          if (!isRefusedSignIn(error)) throw error;
          return (await afterRefusal(used, error)).query(statement, options);
        }
      },
    }
  );
}

const isRefusedSignIn = (error: unknown): boolean => error instanceof AppError && error.reason === 'auth_failed';

const isSame = (one: ConnectionSettings, other: ConnectionSettings): boolean =>
  one.password === other.password &&
  one.ssl_key === other.ssl_key &&
  JSON.stringify(one.ssh ?? null) === JSON.stringify(other.ssh ?? null);
