import type { WithSources } from '#core/sources/source-pool.ts';
import { eq } from 'drizzle-orm';
import type { Source } from '#core/engines/shared/source.ts';
import type { SharedSource } from './source-pool.ts';
import { freezeConnection } from '#snapshots/freeze/entities.ts';
import type { FrozenConnection } from '#snapshots/format/format.ts';

export interface FrozenSources {
  of(connection: FrozenConnection): Promise<Source>;
  close(): Promise<void>;
}

/** Sessions to frozen connections. When the stored connection is equal, its sessions are used, otherwise a source that all users share. */
export function createFrozenSources(app: WithSources): FrozenSources {
  const known = new Map<string, Promise<Source>>();
  const shared: SharedSource[] = [];
  const open = async (connection: FrozenConnection): Promise<Source> => {
    const { connections } = app.store.tables;
    const [row] = await app.store.db.select().from(connections).where(eq(connections.id, connection.id));
    if (row !== undefined && freezeConnection(row).pool_key === connection.pool_key) return app.sources.of(row);
    const one = app.sources.share(`${connection.id} ${connection.pool_key}`, connection);
    shared.push(one);
    return one.source;
  };
  return {
    of(connection) {
      const source = known.get(connection.id) ?? open(connection);
      known.set(connection.id, source);
      return source;
    },
    async close() {
      await Promise.all(shared.map((one) => one.release()));
    },
  };
}
