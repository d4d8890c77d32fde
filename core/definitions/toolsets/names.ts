import { invalidField } from '#core/errors.ts';
import type { Context } from '#core/run.ts';
import type { Db } from '#core/store/open.ts';

/** Refuses names of toolsets that there are not. @param known names that may stay although their toolset is gone. */
export async function refuseUnknownToolsets(
  { app }: Context,
  names: readonly string[] | null,
  known: readonly string[] | null,
  tx: Db = app.store.db,
  field = 'toolsets',
): Promise<void> {
  if (names === null || names.length === 0) return;
  const { toolsets } = app.store.tables;
  const there = new Set((await tx.select({ name: toolsets.name }).from(toolsets)).map(({ name }) => name));
  const at = names.findIndex((name) => !there.has(name) && known?.includes(name) !== true);
  if (at >= 0) throw invalidField(`${field}.${at}`, `There is no toolset ${names[at]}. Create it first, or choose another one.`);
}
