import type { Schema } from '#core/store/schema.ts';
import { AppError } from '#core/errors.ts';
import { isSealed } from '#core/lib/places.ts';
import type { Keyring } from '#core/lib/secrets.ts';
import { openSource } from '#core/engines/index.ts';
import type { ConnectionSettings, DialPolicy, Source } from '#core/engines/shared/source.ts';
import type { Sealed } from '#snapshots/format.ts';

export type ConnectionRow = Schema['connections']['$inferSelect'];

/** The server's own sessions to connected databases: for tests, schema, preview and describing statements. */
export interface SourcePool {
  /** One source per connection and version; an edited connection gets a new one and the old one closes. */
  of(row: ConnectionRow): Promise<Source>;
  /** A source that nobody shares; the caller closes it. */
  open(settings: ConnectionSettings): Promise<Source>;
  /** Closes the source of a deleted connection. */
  drop(id: string): void;
  close(): Promise<void>;
}

export function createSourcePool(policy: DialPolicy, keyring: Keyring): SourcePool {
  const open = new Map<string, { version: number; source: Promise<Source> }>();
  const end = async (entry: { source: Promise<Source> } | undefined): Promise<void> => {
    await entry?.source.then((source) => source.close()).catch(() => undefined);
  };
  return {
    of(row) {
      const kept = open.get(row.id);
      if (kept?.version === row.version) return kept.source;
      void end(kept);
      // A secret that does not open is the answer of this connection, not of whoever asks for several.
      const source = (async () => openSource(toSettings(row, keyring), policy))();
      source.catch(() => open.delete(row.id));
      open.set(row.id, { version: row.version, source });
      return source;
    },
    open: (settings) => openSource(settings, policy),
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
  };
}
