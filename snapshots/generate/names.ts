import type { FrozenConnection } from '#snapshots/format.ts';

/** Gives every text a word of its own of lower-case letters, digits and underscores, also where case does not count. */
export function createNames(reserved: readonly string[] = []): (text: string) => string {
  const taken = new Set(reserved);
  return (text) => {
    const words = text
      .toLowerCase()
      .replace(/[^a-z0-9]+/g, '_')
      .replace(/^_+|_+$/g, '')
      .slice(0, 60);
    const base = /^[a-z]/.test(words) ? words : `n_${words}`.replace(/_$/, '');
    let name = base;
    for (let n = 2; taken.has(name); n++) name = `${base}_${n}`;
    taken.add(name);
    return name;
  };
}

export interface NamedConnection {
  readonly connection: FrozenConnection;
  /** Its key in connections.ts. */
  readonly key: string;
  /** The beginning of its environment variables. */
  readonly prefix: string;
}

export function nameConnections(connections: readonly FrozenConnection[]): Map<string, NamedConnection> {
  const name = createNames();
  return new Map(
    connections.map((connection) => {
      const key = name(connection.name);
      return [connection.id, { connection, key, prefix: key.toUpperCase() }];
    }),
  );
}
