import { AppError } from '#core/errors.ts';
import { createPseudonym, type Pseudonym } from '#core/query/masks.ts';
import { toViewPage, type ViewPage } from '#mcp-host/registry/view-page.ts';
import type { TokenList } from '#mcp-host/auth/list-file.ts';
import { loadRegistry } from '#mcp-host/registry/load-registry.ts';
import type { Registry } from '#mcp-host/registry/registry.ts';
import { type Bundled, type BundledToken, MASK_KEY } from '#snapshots/bundle/format.ts';
import type { FrozenConnection } from '#snapshots/format/format.ts';
import type { Leaf } from '#snapshots/format/tree.ts';
import { addressIn, type Binding, MalformedBinding, publicUrlIn, textIn } from './bindings.ts';

/** A bundle with the bindings of its platform, the same for all requests. */
export interface LoadedBundle {
  readonly registry: Registry;
  readonly tokens: TokenList;
  /** Opens the secret of a path, such as `connection/<id>/password`. */
  readonly openSecret: (sealed: string, path: string) => string;
  readonly pseudonym: Pseudonym;
  /** The page that draws results in clients with MCP Apps. */
  readonly view_page: ViewPage | null;
  /** The host's URL for clients; null: the address that each request was sent to. */
  readonly public_url: string | null;
  /** Says why the bundle cannot be served; null: it can. */
  readonly lacks: string | null;
}

/** @param text of a `Bundled`. */
export async function loadBundle(text: string, binding: Binding): Promise<LoadedBundle> {
  const {
    leaves,
    tokens,
    as_of,
    secrets,
    prefixes,
    hashes,
    version,
    checksum,
    created_at,
    view = null,
  } = JSON.parse(text) as Bundled;
  const found = new Map<string, string>();
  const missing = new Set<string>();
  const malformed: string[] = [];
  const readable = <T>(read: () => T): T | null => {
    try {
      return read();
    } catch (error) {
      if (!(error instanceof MalformedBinding)) throw error;
      malformed.push(error.message);
      return null;
    }
  };
  for (const [path, name] of Object.entries(secrets)) {
    const secret = textIn(binding, name);
    if (secret === null) missing.add(name);
    else found.set(path, secret);
  }
  const reach = (connection: FrozenConnection): FrozenConnection => {
    const address = readable(() => addressIn(binding, prefixes[connection.id] ?? '', connection));
    if (address === null) return connection;
    const { password, ...rest } = address;
    const path = `connection/${connection.id}/password`;
    if (password === null) return { ...connection, ...rest };
    found.set(path, password);
    missing.delete(secrets[path] ?? '');
    return { ...connection, ...rest, password: { $sealed: '' } };
  };
  const texts = new Map<string, string>();
  const listed = leaves.map(({ kind, name, hash, text: leaf_text }, n): Leaf => {
    // Leaves whose secrets were removed have no hash: each is identified by its index in the list.
    const leaf = { kind, name, hash: hash === '' ? `#${n}` : hash };
    texts.set(leaf.hash, kind === 'connection' ? JSON.stringify(reach(JSON.parse(leaf_text) as FrozenConnection)) : leaf_text);
    return leaf;
  });
  const mask_key = textIn(binding, MASK_KEY);
  if (hashes && mask_key === null) missing.add(MASK_KEY);
  const view_page = view === null ? null : toViewPage(view);
  const public_url = readable(() => publicUrlIn(binding));
  const head = { version, checksum, created_at, leaves: listed, textOf: (hash: string) => texts.get(hash) };
  return {
    // The lists of a bundle never change, so with `now` at 0 clients may cache them for the longest allowed time.
    registry: await loadRegistry(head, null, 0, view_page?.uri),
    tokens: { as_of, tokens: tokens.map(toLiveToken) },
    openSecret(sealed, path) {
      const secret = found.get(path);
      if (secret !== undefined) return secret;
      if (path.startsWith(TOKEN_PATH)) return sealed;
      throw new AppError('secrets_unavailable', `The binding ${secrets[path] ?? path} is not set.`);
    },
    view_page,
    pseudonym: createPseudonym([mask_key ?? '']),
    public_url,
    lacks: [...(missing.size === 0 ? [] : [lackOf([...missing])]), ...malformed].join(' ') || null,
  };
}

const TOKEN_PATH = 'mcp_token/';

const lackOf = (names: readonly string[]): string =>
  `This bundle lacks ${names.length === 1 ? 'a binding' : 'bindings'}: set ${names.join(', ')} where it runs.`;

/** A token has its digest instead of a bcrypt hash; `verifyPassword` of the bundle compares it. */
const toLiveToken = (token: BundledToken): TokenList['tokens'][number] => ({
  ...token,
  revoked: false,
  idle_timeout_minutes: null,
  last_used_at: null,
  secret_hash: { $sealed: token.digest },
  previous: token.previous === undefined ? null : { ...token.previous, secret_hash: { $sealed: token.previous.digest } },
});
