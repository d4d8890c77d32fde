import type { Schema } from '#core/store/schema.ts';
import { AppError } from '#core/errors.ts';
import { isSealed } from '#core/lib/places.ts';
import { withTimeout } from '#core/lib/with-timeout.ts';
import type { Keyring } from '#core/lib/secrets.ts';
import { openSource } from '#core/engines/index.ts';
import type { ConnectionSettings, DialPolicy, Source } from '#core/engines/shared/source.ts';
import type { Sealed } from '#snapshots/format.ts';

export type ConnectionRow = Schema['connections']['$inferSelect'];

/** The server's own sessions to connected databases: for tests, schema, preview and describing statements. */
export interface SourcePool {
  /** One source per connection and version; an edited connection gets a new one and the old one closes. */
  of(row: ConnectionRow): Promise<Source>;
  /** Whether the database calls the account a superuser, asked once for each version; null: it did not answer. */
  isSuperuser(row: ConnectionRow): Promise<boolean | null>;
  /** A source that nobody shares; the caller closes it. */
  open(settings: ConnectionSettings): Promise<Source>;
  /** A file was changed here; several connections may have the same folder. */
  filesChanged(): Promise<void>;
  /** Closes the source of a deleted connection. */
  drop(id: string): void;
  close(): Promise<void>;
}

interface Kept {
  readonly version: number;
  readonly source: Promise<Source>;
  superuser?: { readonly asked_at: number; readonly answer: Promise<boolean | null> };
}

/** The page of a deploy does not wait longer for a database, and asks one that did not answer again after a while. */
const RIGHTS_TIMEOUT_MS = 1_500;
const ASKED_AGAIN_MS = 60_000;

export function createSourcePool(policy: DialPolicy, keyring: Keyring): SourcePool {
  const open = new Map<string, Kept>();
  const end = async (entry: { source: Promise<Source> } | undefined): Promise<void> => {
    await entry?.source.then((source) => source.close()).catch(() => undefined);
  };
  const entryOf = (row: ConnectionRow): Kept => {
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

export { isSealed };

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

/** A stored connection with its secrets opened. */
export function toSettings(row: ConnectionRow, keyring: Keyring): ConnectionSettings {
  const opened = (field: string, value: Sealed | null) =>
    value === null ? null : keyring.open(value.$sealed, secretPlace(row.id, field));
  return {
    db_type: row.db_type,
    host: row.host,
    port: row.port,
    database: row.database,
    username: row.username,
    password: opened('password', row.password),
    ssl_mode: row.ssl_mode,
    ssl_ca: row.ssl_ca,
    ssl_cert: row.ssl_cert,
    ssl_key: opened('ssl_key', row.ssl_key),
    extra_params: Object.fromEntries(
      Object.entries(row.extra_params).map(([key, value]) => [
        key,
        isSealed(value) ? opened(`extra_params/${key}`, value) : value,
      ]),
    ),
    pool_size: row.pool_size,
    session_values: row.session_values,
    session_role: row.session_role,
  };
}
