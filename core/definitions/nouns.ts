import { eq } from 'drizzle-orm';
import type { Db } from '#core/store/open.ts';
import type { Context } from '#core/run.ts';
import { createNoun, type Noun } from './records.ts';

type Owned = 'tools' | 'resources' | 'prompts';

/** A noun that a connection may own. */
interface OwnedNoun<T extends Owned> extends Noun<T> {
  ownedBy(context: Context, tx: Db, connection_id: string): Promise<{ id: string }[]>;
}

function owned<T extends Owned>(name: T, type: 'tool' | 'resource' | 'prompt'): OwnedNoun<T> {
  return {
    ...createNoun(name, type),
    ownedBy({ app }, tx, connection_id) {
      const table = app.store.tables[name] as typeof app.store.tables.tools;
      return tx.select({ id: table.id }).from(table).where(eq(table.connection_id, connection_id));
    },
  };
}

export const tools = owned('tools', 'tool');
export const resources = owned('resources', 'resource');
export const prompts = owned('prompts', 'prompt');
