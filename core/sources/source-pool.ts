import type { Platform } from '#core/platform/platform.ts';
import type { Schema } from '#core/store/schema.ts';
import type { ConnectionSettings, SealedConnection } from '#core/engines/shared/connection-settings.ts';
import type { Source, DialPolicy } from '#core/engines/shared/source.ts';
import { withTimeout } from '#core/lib/with-timeout.ts';
import type { Keyring, SecretReader } from '#core/lib/secrets.ts';
import { secretsIn } from '#core/lib/sealed-values.ts';
import { openSource } from '#core/engines/index.ts';
import { openReferenced } from '#core/engines/referenced-source.ts';
import { AppError } from '#core/errors.ts';

export type ConnectionRow = Schema['connections']['$inferSelect'];

/** The sessions of the server to connected databases, for tests, schema, preview and describing statements. */
export interface SourcePool {
  /** One source per connection and version. An edited connection gets a new one, and the old one is closed. */
  of(row: ConnectionRow): Promise<Source>;
  /** Whether the database account is a superuser, queried once per version; null when the database did not answer. */
  isSuperuser(row: ConnectionRow): Promise<boolean | null>;
  /** A source that is not shared. The caller closes it. */
  open(settings: ConnectionSettings): Promise<Source>;
  /** A source for another connection than a stored one. All who use the same key at the same time share it. */
  share(key: string, connection: SealedConnection): SharedSource;
  /** Informs all sources that a file has changed, because several connections can have the same folder. */
  filesChanged(): Promise<void>;
  /** Closes the source of a deleted connection. */
  drop(id: string): void;
  close(): Promise<void>;
}

export interface SharedSource {
  readonly source: Promise<Source>;
  /** Call it once. The last release closes the source. */
  release(): Promise<void>;
}

interface PoolEntry {
  readonly version: number;
  readonly source: Promise<Source>;
  superuser?: { readonly queried_at: number; readonly answer: Promise<boolean | null> };
}

/** Timeout of this query on the deploy page, and the time before a database that did not respond is queried again. */
const SUPERUSER_TIMEOUT_MS = 1_500;
const SUPERUSER_RETRY_MS = 60_000;

export function createSourcePool(policy: DialPolicy, reader: SecretReader): SourcePool {
  const open = new Map<string, PoolEntry>();
  const shared = new Map<string, { readonly source: Promise<Source>; users: number }>();
  // Async, so that a secret that cannot be decrypted rejects this source and does not throw in a caller that opens several.
  const opened = async (connection: SealedConnection) =>
    openReferenced(connection, reader, (settings) => openSource(settings, policy));
  const end = async (entry: { source: Promise<Source> } | undefined): Promise<void> => {
    await entry?.source.then((source) => source.close()).catch(() => undefined);
  };
  const entryOf = (row: ConnectionRow): PoolEntry => {
    const current = open.get(row.id);
    if (current?.version === row.version) return current;
    void end(current);
    const source = opened(row);
    const entry = { version: row.version, source };
    open.set(row.id, entry);
    source.catch(() => {
      // The connection may have been edited since, and have another source.
      if (open.get(row.id) === entry) open.delete(row.id);
    });
    return entry;
  };
  return {
    of: (row) => entryOf(row).source,
    async isSuperuser(row) {
      const entry = entryOf(row);
      const known = await entry.superuser?.answer;
      if (typeof known === 'boolean') return known;
      const now = performance.now();
      if (entry.superuser !== undefined && now - entry.superuser.queried_at < SUPERUSER_RETRY_MS) return null;
      const query = async () => (await (await entry.source).test()).superuser;
      entry.superuser = { queried_at: now, answer: withTimeout(query(), SUPERUSER_TIMEOUT_MS, () => null).catch(() => null) };
      return entry.superuser.answer;
    },
    open: (settings) => openSource(settings, policy),
    share(key, connection) {
      const entry = shared.get(key) ?? { source: opened(connection), users: 0 };
      shared.set(key, entry);
      entry.users += 1;
      return {
        source: entry.source,
        async release() {
          entry.users -= 1;
          if (entry.users > 0) return;
          if (shared.get(key) === entry) shared.delete(key);
          await end(entry);
        },
      };
    },
    async filesChanged() {
      const sources = await Promise.allSettled([...open.values()].map(({ source }) => source));
      for (const opened of sources) if (opened.status === 'fulfilled') opened.value.filesChanged?.();
    },
    drop(id) {
      void end(open.get(id));
      open.delete(id);
    },
    async close() {
      await Promise.all([...open.values()].map(end));
      open.clear();
    },
  };
}

/** A pool whose sources are wrapped. Each source is wrapped once. */
export function mapSources(pool: SourcePool, wrap: (source: Source, row: ConnectionRow) => Source): SourcePool {
  const wrapped = new WeakMap<Source, Source>();
  return {
    ...pool,
    async of(row) {
      const source = await pool.of(row);
      const wrapper = wrapped.get(source) ?? wrap(source, row);
      wrapped.set(source, wrapper);
      return wrapper;
    },
  };
}

/** Path of a secret of a connection, which is the associated data of its ciphertext. */
export const secretPath = (connection_id: string, field: string): string => `connection/${connection_id}/${field}`;

/** The `secrets_unavailable` error of a stored connection whose secrets cannot be decrypted, or null. */
export function unreadableSecret(row: ConnectionRow, keyring: Keyring): AppError | null {
  try {
    for (const { sealed, path } of secretsIn(row, `connection/${row.id}`)) keyring.open(sealed, path);
    return null;
  } catch (error) {
    if (error instanceof AppError && error.code === 'secrets_unavailable') return error;
    throw error;
  }
}

export interface WithSources extends Platform {
  readonly sources: SourcePool;
}
