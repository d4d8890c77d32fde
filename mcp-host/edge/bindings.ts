import type { FrozenConnection } from '#snapshots/format/format.ts';

/** The platform's value for a name: a text, an object such as a Hyperdrive, or undefined. */
export type Binding = (name: string) => unknown;

export const textIn = (binding: Binding, name: string): string | null => {
  const found = binding(name);
  return typeof found === 'string' && found !== '' ? found : null;
};

type Address = Pick<FrozenConnection, 'host' | 'port' | 'database' | 'username' | 'ssl_mode'> & {
  readonly password: string | null;
};

const SSL_MODES = ['disable', 'require', 'verify-ca', 'verify-full'] as const;
/** URL schemes of encrypted connections. */
const ENCRYPTED = ['https:', 'libsql:'];

/** URL of the host for clients, such as https://mcp.example.com. */
const PUBLIC_URL = 'SVC_MCP_PUBLIC_URL';

/** A binding that is set but unusable. The message says what it must be, without its value. */
export class MalformedBinding extends Error {
  override readonly name = 'MalformedBinding';
}

/**
 * Another address for a connection: `<CONNECTION>_HYPERDRIVE`, a Hyperdrive or an object like it, or the URL `<CONNECTION>_URL`.
 * Null: the address of the snapshot applies. Throws `MalformedBinding`.
 */
export function addressIn(binding: Binding, prefix: string, connection: FrozenConnection): Address | null {
  const hyperdrive = `${prefix}_HYPERDRIVE`;
  const pooled = connectionStringOf(binding(hyperdrive));
  // A Hyperdrive is reached inside the platform, where it has no certificate.
  if (pooled !== null) return { ...addressOf(hyperdrive, pooled, connection), ssl_mode: 'disable' };
  const url = textIn(binding, `${prefix}_URL`);
  return url === null ? null : addressOf(`${prefix}_URL`, url, connection);
}

/** The host's URL for clients; null: the address of each request. Throws `MalformedBinding`. */
export function publicUrlIn(binding: Binding): string | null {
  const text = textIn(binding, PUBLIC_URL);
  if (text === null) return null;
  if (URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)) return text.replace(/\/$/, '');
  throw new MalformedBinding(`${PUBLIC_URL} must be a URL such as https://mcp.example.com.`);
}

function connectionStringOf(found: unknown): string | null {
  if (typeof found !== 'object' || found === null || !('connectionString' in found)) return null;
  return typeof found.connectionString === 'string' ? found.connectionString : null;
}

function addressOf(name: string, text: string, { database, username, ssl_mode }: FrozenConnection): Address {
  try {
    const { protocol, hostname, port, username: user, password, pathname, searchParams } = new URL(text);
    const requested = searchParams.get('sslmode');
    const mode = SSL_MODES.find((known) => known === requested);
    if (hostname === '' || (requested !== null && mode === undefined))
      throw new TypeError('There is no host, or no such sslmode.');
    const inherited = ssl_mode === 'disable' && ENCRYPTED.includes(protocol) ? null : ssl_mode;
    return {
      host: hostname,
      port: port === '' ? null : Number(port),
      database: decodeURIComponent(pathname.slice(1)) || database,
      username: decodeURIComponent(user) || username,
      ssl_mode: protocol === 'http:' ? 'disable' : (mode ?? inherited),
      password: decodeURIComponent(password) || null,
    };
  } catch {
    // The original error may contain the URL, and with it a password.
    throw new MalformedBinding(
      `${name} must be a URL such as postgres://user:password@host:5432/database, in which the password has % as %25, @ as %40 and / as %2F, with sslmode disable, require, verify-ca or verify-full, if any.`,
    );
  }
}
