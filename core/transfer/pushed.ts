import { ENTITY_KINDS } from '#core/contract/entities.ts';
import { ServerConfigPatch } from '#core/contract/settings/config.ts';
import type { Context } from '#core/context/context.ts';
import { entityTable } from '#core/store/entity-table.ts';
import { readMeta, writeMeta } from '#core/store/meta.ts';

/** Hashes of records and settings as the last push of configuration files left them, by `tool:find_orders` or `setting:instructions`. */
export type Pushed = Readonly<Record<string, string>>;

const KEY = 'pushed';
const SETTINGS = Object.keys(ServerConfigPatch.entries).map((name) => `setting:${name}`);

export async function readPushed({ app: { store } }: Context): Promise<Pushed> {
  return JSON.parse((await readMeta(store, store.db, KEY)) ?? '{}') as Pushed;
}

/** Adds the hashes of a push, in the transaction of its import. Records that do not exist after it are forgotten. */
export async function writePushed(inside: Context, sent: Pushed): Promise<void> {
  const { store } = inside.app;
  const names = await Promise.all(
    ENTITY_KINDS.map(async (kind) => {
      const table = entityTable(store, kind);
      return (await store.db.select({ name: table.name }).from(table)).map(({ name }) => `${kind}:${name}`);
    }),
  );
  const existing = new Set([...SETTINGS, ...names.flat()]);
  const all = Object.entries({ ...(await readPushed(inside)), ...sent });
  const left = all.filter(([id]) => existing.has(id));
  await writeMeta(store, store.db, KEY, JSON.stringify(Object.fromEntries(left)));
}
