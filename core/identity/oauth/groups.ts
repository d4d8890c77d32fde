import type { App } from '#core/platform/platform.ts';

/** Groups with those first that a toolset or a mask names, or that are `wanted`: where not all can be kept, these decide something. */
export async function namedFirst({ store }: App, groups: readonly string[], wanted: readonly string[] = []): Promise<string[]> {
  const { toolsets, tools, resources } = store.tables;
  const [open, ...masked] = await Promise.all([
    store.db.select({ groups: toolsets.groups }).from(toolsets),
    store.db.select({ masks: tools.masks }).from(tools),
    store.db.select({ masks: resources.masks }).from(resources),
  ]);
  const of_masks = masked.flat().flatMap(({ masks }) => masks.flatMap(({ unless_groups }) => unless_groups));
  const named = new Set([...wanted, ...open.flatMap((toolset) => toolset.groups), ...of_masks]);
  return [...groups.filter((group) => named.has(group)), ...groups.filter((group) => !named.has(group))];
}
