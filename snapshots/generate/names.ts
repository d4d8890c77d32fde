import { xxHash64 } from '#core/lib/xxhash64.ts';
import type { FrozenConnection } from '#snapshots/format/format.ts';
import type { NamedConnection } from '#core/engines/shared/project.ts';

/** Gives every text a word of its own of lower-case letters, digits and underscores, also where case does not count. */
export function createNames(reserved: readonly string[] = []): (text: string) => string {
  const taken = new Set(reserved);
  return (text) => {
    const base = wordOf(text);
    let name = base;
    for (let n = 2; taken.has(name); n++) name = `${base}_${n}`;
    taken.add(name);
    return name;
  };
}

function wordOf(text: string): string {
  const words = text
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '_')
    .replace(/^_+|_+$/g, '')
    .slice(0, 60);
  return /^[a-z]/.test(words) ? words : `n_${words}`.replace(/_$/, '');
}

/** What `wordOf` makes of a text without a Latin letter or a digit. */
const NO_WORD = wordOf('');

/**
 * Takes all connections of a snapshot: secrets are found by these names, so another connection that comes or goes never changes
 * whose name is whose. One whose word is another's too, or that has none, carries a part of the hash of its own name.
 */
export function nameConnections(connections: readonly FrozenConnection[]): Map<string, NamedConnection> {
  const words = Map.groupBy(connections, ({ name }) => wordOf(name));
  const name = createNames();
  return new Map(
    connections.map((connection) => {
      const word = wordOf(connection.name);
      const is_own = word !== NO_WORD && words.get(word)?.length === 1;
      const key = name(is_own ? word : `${word}_${xxHash64(connection.name).toString(16).slice(-6)}`);
      return [connection.id, { connection, key, prefix: key.toUpperCase() }];
    }),
  );
}
