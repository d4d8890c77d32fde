import type { FrozenConnection } from '#snapshots/format.ts';

/** What a platform holds under a name: a text, an object such as a Hyperdrive, or nothing. */
export type Binding = (name: string) => unknown;

export const textIn = (binding: Binding, name: string): string | null => {
  const found = binding(name);
  return typeof found === 'string' && found !== '' ? found : null;
};

type Address = Pick<FrozenConnection, 'host' | 'port' | 'database' | 'username' | 'ssl_mode'> & {
  readonly password: string | null;
};

const SSL_MODES = ['disable', 'require', 'verify-ca', 'verify-full'] as const;

/**
 * Another address for a connection: `<CONNECTION>_HYPERDRIVE`, a Hyperdrive or what looks like one, or the URL `<CONNECTION>_URL`.
 * Null: it stays where the snapshot says.
 */
export function addressIn(binding: Binding, prefix: string, connection: FrozenConnection): Address | null {
  const pooled = connectionStringOf(binding(`${prefix}_HYPERDRIVE`));
  // The way to it is inside of the platform, and has no certificate.
  if (pooled !== null) return { ...addressOf(pooled, connection), ssl_mode: 'disable' };
  const url = textIn(binding, `${prefix}_URL`);
  return url === null ? null : addressOf(url, connection);
}

function connectionStringOf(found: unknown): string | null {
  if (typeof found !== 'object' || found === null || !('connectionString' in found)) return null;
  return typeof found.connectionString === 'string' ? found.connectionString : null;
}

function addressOf(text: string, { database, username, ssl_mode }: FrozenConnection): Address {
  const { protocol, hostname, port, username: user, password, pathname, searchParams } = new URL(text);
  const wanted = searchParams.get('sslmode');
  return {
    host: hostname,
    port: port === '' ? null : Number(port),
    database: decodeURIComponent(pathname.slice(1)) || database,
    username: decodeURIComponent(user) || username,
    ssl_mode: protocol === 'http:' ? 'disable' : (SSL_MODES.find((mode) => mode === wanted) ?? ssl_mode),
    password: decodeURIComponent(password) || null,
  };
}
