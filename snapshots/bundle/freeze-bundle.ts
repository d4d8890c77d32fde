import type { LiveToken } from '#core/contract/deploy/control.ts';
import { isReference, replaceSealed, secretsIn } from '#core/lib/sealed-values.ts';
import { canonical } from '#snapshots/format/canonical.ts';
import type { FrozenConnection, FrozenServer, Snapshot } from '#snapshots/format/format.ts';
import { createNames, nameConnections } from '#snapshots/generate/names.ts';
import { type Leaf, toBlobs } from '#snapshots/format/tree.ts';
import type { Bundled, BundledToken } from './format.ts';

const NO_SECRET = { $sealed: '' };

export interface BundleSource {
  readonly snapshot: Snapshot;
  readonly tokens: readonly LiveToken[];
  readonly as_of: string;
}

/** Copies a snapshot into a bundle, without secrets, ciphertexts and unused connections. */
export function freezeBundle({ snapshot, tokens, as_of }: BundleSource): Bundled {
  const { version, checksum, created_at, content } = snapshot;
  const connections = usedConnections(snapshot).map(withBindings);
  const named = nameConnections(content.connections);
  const secrets = connections.flatMap((connection) => secretNames(connection, named.get(connection.id)?.prefix ?? ''));
  const stripped = {
    ...content,
    server: withoutSecrets(content.server),
    connections: connections.map((connection) => ({
      ...(replaceSealed(connection, () => NO_SECRET) as FrozenConnection),
      pool_key: '',
    })),
  };
  return {
    version,
    checksum,
    created_at,
    leaves: toBlobs(stripped).map(({ kind, name, hash, text }) => ({ kind, name, hash: hashOf(kind, hash), text })),
    tokens: readsTokens(content.server) ? bundledTokens(tokens).map(toBundled) : [],
    as_of,
    secrets: Object.fromEntries(secrets),
    prefixes: Object.fromEntries(connections.map(({ id }) => [id, named.get(id)?.prefix ?? ''])),
    hashes: [...content.tools, ...content.resources].some(({ masks = [] }) => masks.some(({ mask }) => mask === 'hash')),
  };
}

/** References lead nowhere on the platform of a bundle, so these secrets are bindings too. */
const withBindings = (connection: FrozenConnection): FrozenConnection => ({
  ...connection,
  ...(isReference(connection.password) && { password: NO_SECRET }),
  ...(isReference(connection.ssl_key) && { ssl_key: NO_SECRET }),
});

/** Connections that tools and resources use. */
export function usedConnections({ content: { connections, tools, resources } }: Snapshot): FrozenConnection[] {
  const used = new Set([...tools, ...resources].map(({ connection_id }) => connection_id));
  return connections.filter(({ id }) => used.has(id));
}

/** Whether callers can use access tokens of this installation. */
export const readsTokens = ({ auth_type, accept_mcp_tokens = true }: FrozenServer): boolean =>
  auth_type === 'bearer' || (auth_type === 'jwt' && accept_mcp_tokens);

/** Omits tokens with an idle timeout, because isolates do not share when a token was last used. */
export const bundledTokens = (tokens: readonly LiveToken[]): LiveToken[] =>
  tokens.filter(({ revoked, idle_timeout_minutes }) => !revoked && idle_timeout_minutes === null);

const toBundled = ({
  id,
  name,
  token_prefix,
  toolsets,
  claims,
  created_at,
  expires_at,
  digest,
  previous,
}: LiveToken): BundledToken => ({
  id,
  name,
  token_prefix,
  toolsets,
  claims,
  created_at,
  expires_at,
  digest,
  ...(previous && { previous: { digest: previous.digest, ends_at: previous.ends_at } }),
});

/** Connections and the server have no hash here, because it includes fingerprints of their secrets. */
const hashOf = (kind: Leaf['kind'], hash: string): string => (kind === 'connection' || kind === 'server' ? '' : hash);

/**
 * Removes secrets: the auth types that need them cannot be bundled. The transport of 2024 is replaced because it needs a process
 * that holds its streams.
 */
const withoutSecrets = (server: FrozenServer): FrozenServer => ({
  ...server,
  transport: 'http',
  oauth_clients: [],
  introspection_client_secret: null,
});

/** Path and binding name of each secret of a connection. */
function secretNames(connection: FrozenConnection, prefix: string): [place: string, name: string][] {
  const name = createNames();
  return secretsIn(connection, `connection/${connection.id}`).map(({ path }) => [
    path,
    `${prefix}_${name(path.split('/').at(-1) ?? '').toUpperCase()}`,
  ]);
}

/** The text in the module. */
export const bundledText = (bundled: Bundled): string => canonical(bundled);
