import type { SealedConnection } from './connection-settings.ts';

/** An environment variable of a connection in a generated project; without `fallback` it is a secret and has to be set. */
export interface Variable {
  readonly name: string;
  readonly member: string;
  readonly fallback?: string;
}

export interface NamedConnection {
  readonly connection: SealedConnection & { readonly name: string; readonly read_only: boolean };
  /** Its key in connections.ts. */
  readonly key: string;
  /** The beginning of its environment variables. */
  readonly prefix: string;
}

/** The password of a connection as an environment variable; one that has none may stay without. */
export function passwordVariable({ connection, prefix }: NamedConnection, member: string): Variable {
  return { name: `${prefix}_PASSWORD`, member, ...(connection.password === null && { fallback: '' }) };
}

/** The key of a client's certificate; most connections have none. */
export const keyVariable = ({ connection, prefix }: NamedConnection): Variable[] =>
  connection.ssl_key === null ? [] : [{ name: `${prefix}_SSL_KEY`, member: 'ssl_key' }];

/** @param user who signs in where a connection names nobody, as the host does it. */
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
