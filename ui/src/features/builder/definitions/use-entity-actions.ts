import { type BulkResult, createBulk, type Entity, ENTITY_TYPE as ONE, type EntityNoun } from './bulk.ts';
import { enableItem, type MenuItem } from '#ui/src/components/menu.tsx';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { failedOf, plural } from '#ui/src/kernel/words.ts';

/** Changes of stored tools, resources and prompts outside of their form, each with an undo. */
export function useEntityActions(
  noun: EntityNoun,
  options: {
    /** The address to go to after a deletion, and the page of a restored entity; absent in a list. */
    readonly list?: string;
    readonly onChange: () => Promise<void> | void;
    /** Asks before a change outside of the form; absent in a list, which has no unsaved changes. */
    readonly mayChange?: () => Promise<boolean>;
  },
) {
  const { call, dialogs, router, toasts } = useKernel();
  const bulk = createBulk(call, noun);

  /** Reports the result of a change with an undo, and reloads the list. */
  const report = async (
    change: string,
    work: Promise<BulkResult>,
    after: (result: BulkResult) => Promise<void> | void = options.onChange,
    undone: (result: BulkResult) => Promise<void> | void = options.onChange,
  ) => {
    const result = await toasts.during(work);
    const { done, failed, detail, undo } = result;
    await after(result);
    if (detail !== undefined) toasts.show(failedOf(failed, failed + done.length, ONE[noun], detail), 'bad');
    if (done.length === 0) return;
    const text = (count: number) => `${plural(count, ONE[noun])} ${change}`;
    const back = undo === undefined ? {} : { action: { label: 'Undo', run: () => void undoAll(undo, undone) } };
    toasts.show(text(done.length), 'good', { ...back, tally: { kind: `${noun} ${change}`, count: done.length, text } });
  };
  const mayChange = async () => (await options.mayChange?.()) !== false;
  const undoAll = async (undo: () => Promise<BulkResult>, undone: (result: BulkResult) => Promise<void> | void) => {
    if (!(await mayChange())) return;
    const result = await toasts.during(undo());
    const { done, failed, detail } = result;
    await undone(result);
    if (failed > 0) toasts.show(detail ?? 'This could not be undone.', 'bad');
    else toasts.show(`Undone for ${plural(done.length, ONE[noun])}.`, 'good');
  };
  /** False when the person cancels. */
  const removeAll = async (entities: readonly Entity[]): Promise<boolean> => {
    const { list } = options;
    const [first] = entities;
    if (first === undefined) return false;
    const agreed = await dialogs.confirm({
      title: entities.length === 1 ? `Delete the ${ONE[noun]} “${first.name}”?` : `Delete ${plural(entities.length, ONE[noun])}?`,
      text:
        entities.length === 1
          ? 'Clients keep it until the next deploy. You can restore it from the history.'
          : 'Clients keep them until the next deploy. You can restore them from the history.',
      ...(entities.length === 1 ? {} : { goes: entities.map(({ name }) => name) }),
      action: `Delete ${entities.length === 1 ? ONE[noun] : plural(entities.length, ONE[noun])}`,
      danger: true,
    });
    if (!agreed) return false;
    if (list === undefined) await report('deleted.', bulk.remove(entities));
    else {
      const back = ({ done: [id] }: BulkResult) => router.navigate(id === undefined ? list : `${list}/${id}`);
      const leave = async ({ done }: BulkResult) => {
        if (done.length > 0) router.navigate(list, { gone: true });
        // Another person changed it since: the page shows the current version.
        else if (await mayChange()) await options.onChange();
      };
      await report('deleted.', bulk.remove(entities), leave, back);
    }
    return true;
  };

  const toggle = async (entity: Entity) => {
    if (!(await mayChange())) return;
    await report(entity.enabled ? 'disabled.' : 'enabled.', bulk.setEnabled([entity], !entity.enabled));
  };
  return {
    setEnabled: (entities: readonly Entity[], enabled: boolean) =>
      report(enabled ? 'enabled.' : 'disabled.', bulk.setEnabled(entities, enabled)),
    addTags: (entities: readonly Entity[], tags: readonly string[]) => report('tagged.', bulk.addTags(entities, tags)),
    removeTags: (entities: readonly Entity[], tags: readonly string[]) => report('untagged.', bulk.removeTags(entities, tags)),
    removeAll,
    /** The menu of an entity, in its row and on its page. */
    menu: (entity: Entity, more: readonly MenuItem[] = []): (MenuItem | 'line')[] => [
      ...more,
      { label: 'History', icon: 'history', href: `/history?type=${ONE[noun]}&id=${entity.id}` },
      { ...enableItem(entity.enabled, () => void toggle(entity)), needs: `${noun}.update` },
      'line',
      { label: 'Delete…', icon: 'trash', danger: true, needs: `${noun}.delete`, onSelect: () => void removeAll([entity]) },
    ],
  };
}
