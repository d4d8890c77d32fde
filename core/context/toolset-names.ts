import type { Platform } from '#core/platform/platform.ts';
import { invalidField } from '#core/errors.ts';
import type { Context } from './context.ts';
import type { Db } from '#core/store/store.ts';

/** Throws if a name has no toolset. @param known names that can stay although their toolset was deleted. */
export async function refuseUnknownToolsets(
  { app }: Context,
  names: readonly string[] | null,
  known: readonly string[] | null,
  tx: Db = app.store.db,
  field = 'toolsets',
): Promise<void> {
  const [unknown] = await unknownToolsets(app, names, known, tx);
  if (unknown === undefined) return;
  const at = names?.indexOf(unknown);
  throw invalidField(`${field}.${at}`, `There is no toolset ${unknown}. Create it first, or choose another one.`);
}

/** Names that have no toolset and are not in `known`. */
export async function unknownToolsets(
  { store }: Platform,
  names: readonly string[] | null,
  known: readonly string[] | null,
  tx: Db = store.db,
): Promise<string[]> {
  if (names === null || names.length === 0) return [];
  const { toolsets } = store.tables;
  const there = new Set((await tx.select({ name: toolsets.name }).from(toolsets)).map(({ name }) => name));
  return names.filter((name) => !there.has(name) && known?.includes(name) !== true);
}
