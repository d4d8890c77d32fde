import { xxHash64 } from '#core/lib/xxhash64.ts';
import type { FrozenConnection } from '#snapshots/format/format.ts';
import type { NamedConnection } from '#core/engines/shared/project.ts';

/** Returns a function that gives each text a unique word of lower-case letters, digits and underscores. */
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

/** The result of `wordOf` for a text without Latin letters and digits. */
const NO_WORD = wordOf('');

/**
 * Names all connections of a snapshot. Names identify secrets, so adding or removing a connection never renames another. If the
 * word of a connection is empty or not unique, its name includes a part of a hash.
 */
export function nameConnections(connections: readonly FrozenConnection[]): Map<string, NamedConnection> {
  const words = Map.groupBy(connections, ({ name }) => wordOf(name));
  const name = createNames();
  return new Map(
    connections.map((connection) => {
      const word = wordOf(connection.name);
      const is_unique = word !== NO_WORD && words.get(word)?.length === 1;
      const key = name(is_unique ? word : `${word}_${xxHash64(connection.name).toString(16).slice(-6)}`);
      return [connection.id, { connection, key, prefix: key.toUpperCase() }];
    }),
  );
}
