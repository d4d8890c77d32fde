import type { DbType, SslMode } from '#core/contract/definitions/connections.ts';
import type { SessionRole, SessionValue } from '#core/contract/definitions/session-values.ts';
import type { Sealed } from '#core/contract/fields.ts';
import type { Keyring } from '#core/lib/secrets.ts';
import { isSealed } from '#core/lib/sealed-values.ts';

/** A connection with its secrets opened: all that a driver needs to dial. */
export interface ConnectionSettings {
  readonly db_type: DbType;
  readonly host: string | null;
  readonly port: number | null;
  readonly database: string;
  readonly username: string | null;
  readonly password: string | null;
  readonly ssl_mode: SslMode | null;
  readonly ssl_ca: string | null;
  readonly ssl_cert: string | null;
  readonly ssl_key: string | null;
  readonly extra_params: Readonly<Record<string, unknown>>;
  /** All sessions of this source together, opened on demand, closed after 60 s idle. */
  readonly pool_size: number;
  /** What every statement of a call tells the database of its caller; absent: nothing. */
  readonly session_values?: readonly SessionValue[];
  /** Every statement of a call runs as a role of its caller. */
  readonly session_role?: SessionRole | null;
}

/** A connection with its secrets, as it is stored or frozen. */
export interface SealedConnection extends Omit<ConnectionSettings, 'password' | 'ssl_key'> {
  readonly id: string;
  readonly password: Sealed | null;
  readonly ssl_key: Sealed | null;
}

/** A connection with its secrets opened: what a driver dials with. */
export function toSettings(connection: SealedConnection, keyring: Pick<Keyring, 'open'>): ConnectionSettings {
  const { db_type, host, port, database, username, ssl_mode, ssl_ca, ssl_cert, pool_size } = connection;
  const { session_values = [], session_role = null } = connection;
  const opened = (value: Sealed | null, field: string) =>
    value && keyring.open(value.$sealed, `connection/${connection.id}/${field}`);
  const extra = Object.entries(connection.extra_params).map(([key, value]) => [
    key,
    isSealed(value) ? opened(value, `extra_params/${key}`) : value,
  ]);
  return {
    db_type,
    host,
    port,
    database,
    username,
    password: opened(connection.password, 'password'),
    ssl_mode,
    ssl_ca,
    ssl_cert,
    ssl_key: opened(connection.ssl_key, 'ssl_key'),
    extra_params: Object.fromEntries(extra) as ConnectionSettings['extra_params'],
    pool_size,
    session_values,
    session_role,
  };
}
