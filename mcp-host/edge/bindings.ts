import type { FrozenConnection } from '#snapshots/format/format.ts';

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
/** Schemes that say themselves that the connection is encrypted. */
const ENCRYPTED = ['https:', 'libsql:'];

/** The host as clients see it, such as https://mcp.example.com. */
const PUBLIC_URL = 'SVC_MCP_PUBLIC_URL';

/** A binding that is set and cannot be used: what it must be, as a sentence without what it holds. */
export class MalformedBinding extends Error {
  override readonly name = 'MalformedBinding';
}

/**
 * Another address for a connection: `<CONNECTION>_HYPERDRIVE`, a Hyperdrive or what looks like one, or the URL `<CONNECTION>_URL`.
 * Null: it stays where the snapshot says. Throws `MalformedBinding`.
 */
export function addressIn(binding: Binding, prefix: string, connection: FrozenConnection): Address | null {
  const hyperdrive = `${prefix}_HYPERDRIVE`;
  const pooled = connectionStringOf(binding(hyperdrive));
  // The way to it is inside of the platform, and has no certificate.
  if (pooled !== null) return { ...addressOf(hyperdrive, pooled, connection), ssl_mode: 'disable' };
  const url = textIn(binding, `${prefix}_URL`);
  return url === null ? null : addressOf(`${prefix}_URL`, url, connection);
}

/** Null: where a request asked. Throws `MalformedBinding`. */
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
    const wanted = searchParams.get('sslmode');
    const mode = SSL_MODES.find((known) => known === wanted);
    if (hostname === '' || (wanted !== null && mode === undefined)) throw new TypeError('There is no host, or no such sslmode.');
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
    // What was thrown may hold the URL, and with it a password.
    throw new MalformedBinding(
      `${name} must be a URL such as postgres://user:password@host:5432/database, in which the password has % as %25, @ as %40 and / as %2F, with sslmode disable, require, verify-ca or verify-full, if any.`,
    );
  }
}
