import type { Platform } from '#core/platform/platform.ts';
import type { Schema } from '#core/store/schema.ts';
import { type ConnectionSettings, toSettings } from '#core/engines/shared/connection-settings.ts';
import type { Source, DialPolicy } from '#core/engines/shared/source.ts';
import { withTimeout } from '#core/lib/with-timeout.ts';
import type { Keyring } from '#core/lib/secrets.ts';
import { openSource } from '#core/engines/index.ts';
import { AppError } from '#core/errors.ts';

export type ConnectionRow = Schema['connections']['$inferSelect'];

/** The server's own sessions to connected databases: for tests, schema, preview and describing statements. */
export interface SourcePool {
  /** One source per connection and version; an edited connection gets a new one and the old one closes. */
  of(row: ConnectionRow): Promise<Source>;
  /** Whether the database calls the account a superuser, asked once for each version; null: it did not answer. */
  isSuperuser(row: ConnectionRow): Promise<boolean | null>;
  /** A source that nobody shares; the caller closes it. */
  open(settings: ConnectionSettings): Promise<Source>;
  /** A source of other settings than the stored ones, the same for everyone who uses it at the same time. */
  share(key: string, settings: ConnectionSettings): SharedSource;
  /** A file was changed here; several connections may have the same folder. */
  filesChanged(): Promise<void>;
  /** Closes the source of a deleted connection. */
  drop(id: string): void;
  close(): Promise<void>;
}

export interface SharedSource {
  readonly source: Promise<Source>;
  /** Once. The last one closes it. */
  release(): Promise<void>;
}

interface PoolEntry {
  readonly version: number;
  readonly source: Promise<Source>;
  superuser?: { readonly asked_at: number; readonly answer: Promise<boolean | null> };
}

/** The page of a deploy does not wait longer for a database, and asks one that did not answer again after a while. */
const RIGHTS_TIMEOUT_MS = 1_500;

const ASKED_AGAIN_MS = 60_000;

export function createSourcePool(policy: DialPolicy, keyring: Keyring): SourcePool {
  const open = new Map<string, PoolEntry>();
  const shared = new Map<string, { readonly source: Promise<Source>; users: number }>();
  const end = async (entry: { source: Promise<Source> } | undefined): Promise<void> => {
    await entry?.source.then((source) => source.close()).catch(() => undefined);
  };
  const entryOf = (row: ConnectionRow): PoolEntry => {
    const kept = open.get(row.id);
    if (kept?.version === row.version) return kept;
    void end(kept);
    // A secret that does not open is the answer of this connection, not of whoever asks for several.
    const source = (async () => openSource(toSettings(row, keyring), policy))();
    const entry = { version: row.version, source };
    open.set(row.id, entry);
    source.catch(() => {
      // An edited connection may have another one by now.
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
      if (entry.superuser !== undefined && now - entry.superuser.asked_at < ASKED_AGAIN_MS) return null;
      const ask = async () => (await (await entry.source).test()).superuser;
      entry.superuser = { asked_at: now, answer: withTimeout(ask(), RIGHTS_TIMEOUT_MS, () => null).catch(() => null) };
      return entry.superuser.answer;
    },
    open: (settings) => openSource(settings, policy),
    share(key, settings) {
      const entry = shared.get(key) ?? { source: openSource(settings, policy), users: 0 };
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

/** The same pool with something between each of its sources and whoever asks it. */
export function mapSources(pool: SourcePool, wrap: (source: Source, row: ConnectionRow) => Source): SourcePool {
  const wrapped = new WeakMap<Source, Source>();
  return {
    ...pool,
    async of(row) {
      const source = await pool.of(row);
      const made = wrapped.get(source) ?? wrap(source, row);
      wrapped.set(source, made);
      return made;
    },
  };
}

/** Where a secret of a connection belongs: the associated data of its ciphertext. */
export const secretPlace = (connection_id: string, field: string): string => `connection/${connection_id}/${field}`;

/** Why a stored connection cannot be opened although its key should be there, or null. */
export function unreadableSecret(row: ConnectionRow, keyring: Keyring): AppError | null {
  try {
    toSettings(row, keyring);
    return null;
  } catch (error) {
    if (error instanceof AppError && error.code === 'secrets_unavailable') return error;
    throw error;
  }
}

export interface WithSources extends Platform {
  readonly sources: SourcePool;
}
