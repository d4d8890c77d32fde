import type { SealedConnection } from './connection-settings.ts';

/** An environment variable of a connection in a generated project. Without `fallback` it is a secret and must be set. */
export interface Variable {
  readonly name: string;
  readonly member: string;
  readonly fallback?: string;
}

export interface NamedConnection {
  readonly connection: SealedConnection & { readonly name: string; readonly read_only: boolean };
  /** Its key in connections.ts. */
  readonly key: string;
  /** Prefix of its environment variables. */
  readonly prefix: string;
}

/** The password of a connection as an environment variable. It is optional when the connection has none. */
export function passwordVariable({ connection, prefix }: NamedConnection, member: string): Variable {
  return { name: `${prefix}_PASSWORD`, member, ...(connection.password === null && { fallback: '' }) };
}

/** The key of a client certificate; most connections have none. */
export const keyVariable = ({ connection, prefix }: NamedConnection): Variable[] =>
  connection.ssl_key === null ? [] : [{ name: `${prefix}_SSL_KEY`, member: 'ssl_key' }];

/** @param user used when the connection has no username, as on a host. */
export function networkVariables(named: NamedConnection, port: number, user: string): Variable[] {
  const { connection, prefix } = named;
  return [
    { name: `${prefix}_HOST`, member: 'host', fallback: connection.host ?? 'localhost' },
    { name: `${prefix}_PORT`, member: 'port', fallback: String(connection.port ?? port) },
    { name: `${prefix}_DATABASE`, member: 'database', fallback: connection.database },
    { name: `${prefix}_USERNAME`, member: 'username', fallback: connection.username ?? user },
    passwordVariable(named, 'password'),
    ...keyVariable(named),
  ];
}
