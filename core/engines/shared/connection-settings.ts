import type { DbType, HostTarget, SslMode } from '#core/contract/definitions/connections.ts';
import type { SessionRole, SessionValue } from '#core/contract/definitions/session-values.ts';
import type { StoredSecret } from '#core/contract/fields.ts';
import { readSecret, type SecretReader } from '#core/lib/secrets.ts';
import { isSealed } from '#core/lib/sealed-values.ts';
import {
  type HopOf,
  type SealedSsh,
  SSH_SECRETS,
  type SshOf,
  type SshSecret,
} from '#core/contract/definitions/connection-fields.ts';

/** A connection with decrypted secrets: everything that a driver needs to dial. */
export interface ConnectionSettings {
  readonly db_type: DbType;
  readonly host: string | null;
  readonly port: number | null;
  /** Which of several hosts reading statements use. Absent: any. */
  readonly target?: HostTarget;
  readonly database: string;
  readonly username: string | null;
  readonly password: string | null;
  readonly ssl_mode: SslMode | null;
  readonly ssl_ca: string | null;
  readonly ssl_cert: string | null;
  readonly ssl_key: string | null;
  readonly extra_params: Readonly<Record<string, unknown>>;
  /** Maximum of sessions of this source. They are opened on demand and closed after 60 s of inactivity. */
  readonly pool_size: number;
  /** The values about the caller that every statement of a call sends to the database. Absent: none. */
  readonly session_values?: readonly SessionValue[];
  /** When set, every statement of a call runs as a database role of its caller. */
  readonly session_role?: SessionRole | null;
  /** SSH servers through which the database is reached. Absent: it is dialled from here. */
  readonly ssh?: SshOf<string> | null;
}

/** A connection with sealed secrets or references, as it is stored or frozen. */
export interface SealedConnection extends Omit<ConnectionSettings, 'password' | 'ssl_key' | 'ssh'> {
  readonly id: string;
  readonly password: StoredSecret | null;
  readonly ssl_key: StoredSecret | null;
  readonly ssh?: SealedSsh | null;
}

/**
 * Opens the secrets of a connection. @param refused the settings that the database refused: references are read again, unless
 * their secrets have changed since then.
 */
export async function toSettings(
  connection: SealedConnection,
  reader: SecretReader,
  refused?: ConnectionSettings,
): Promise<ConnectionSettings> {
  const { db_type, host, port, database, username, ssl_mode, ssl_ca, ssl_cert, pool_size } = connection;
  const { session_values = [], session_role = null, ssh = null, target } = connection;
  const pathOf = (field: string) => `connection/${connection.id}/${field}`;
  const opened = async (field: 'password' | 'ssl_key'): Promise<string | null> => {
    const value = connection[field];
    return value && readSecret(value, pathOf(field), reader, refused?.[field]);
  };
  const extra = Object.entries(connection.extra_params).map(([key, value]) => [
    key,
    isSealed(value) ? reader.open(value.$sealed, pathOf(`extra_params/${key}`)) : value,
  ]);
  return {
    db_type,
    host,
    port,
    ...(target === undefined ? {} : { target }),
    database,
    username,
    password: await opened('password'),
    ssl_mode,
    ssl_ca,
    ssl_cert,
    ssl_key: await opened('ssl_key'),
    extra_params: Object.fromEntries(extra) as ConnectionSettings['extra_params'],
    pool_size,
    session_values,
    session_role,
    ...(ssh !== null && { ssh: await openSshSecrets(ssh, `connection/${connection.id}/ssh`, reader, refused?.ssh ?? null) }),
  };
}

async function openSshSecrets(
  ssh: SealedSsh,
  path: string,
  reader: SecretReader,
  refused: SshOf<string> | null,
): Promise<SshOf<string>> {
  const opened = async (hop: HopOf<StoredSecret>, at: string, before: HopOf<string> | undefined): Promise<HopOf<string>> => {
    const secrets = SSH_SECRETS.map(async (name) => {
      const secret = hop[name];
      return [name, secret && (await readSecret(secret, `${at}/${name}`, reader, before?.[name]))] as const;
    });
    return { ...hop, ...(Object.fromEntries(await Promise.all(secrets)) as Record<SshSecret, string | null>) };
  };
  return {
    ...(await opened(ssh, path, refused ?? undefined)),
    jump: await Promise.all(ssh.jump.map((hop, n) => opened(hop, `${path}/jump/${n}`, refused?.jump[n]))),
  };
}
