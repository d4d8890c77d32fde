import type { EntityKind } from '#core/contract/entities.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { toProblem } from '#ui/src/kernel/problem.ts';

/** Says what was done, with a button that takes the newest change of the record back through the history. */
export function useUndo() {
  const { call, toasts } = useKernel();
  return (
    text: string,
    entity: { type: EntityKind; id: string; action: 'update' | 'delete' },
    onUndone: () => void = () => {},
  ) => {
    const undo = async () => {
      try {
        const { items } = await call('history.list', {
          entity_type: entity.type,
          entity_id: entity.id,
          action: entity.action,
          limit: 1,
        });
        const newest = items[0];
        if (newest === undefined) return;
        await call('history.rollback', { history_id: newest.id });
        toasts.show('Undone.', 'good');
        onUndone();
      } catch (fault) {
        toasts.show(toProblem(fault).detail, 'bad');
      }
    };
    toasts.show(text, 'good', { action: { label: 'Undo', run: () => void undo() } });
  };
}
