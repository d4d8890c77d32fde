import type { Call } from '#ui/src/api.ts';
import type { EntityKind } from '#core/contract/entities.ts';
import { takeBack } from '#ui/src/kernel/data/take-back.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { toProblem } from '#ui/src/kernel/problem.ts';
import type { Toasts } from '#ui/src/kernel/toasts.ts';
import { plural } from '#ui/src/kernel/words.ts';

interface Done {
  readonly type: EntityKind;
  readonly ids: readonly string[];
  readonly action: 'update' | 'delete';
}

/** Says what was done, with a button that takes the newest change of each record back through the history. */
export const useUndo = () => createUndo(useKernel());

export function createUndo({ call, toasts }: { call: Call; toasts: Toasts }) {
  const undo = async ({ type, ids, action }: Done, onUndone: () => void) => {
    try {
      const taken: boolean[] = [];
      for (const id of ids) taken.push(await takeBack(call, { action, entity: { type, id } }));
      if (taken.includes(false)) toasts.show('It was changed since. The history shows what can be restored.', 'bad');
      else toasts.show('Undone.', 'good');
    } catch (fault) {
      toasts.show(toProblem(fault).detail, 'bad');
    }
    onUndone();
  };
  return (text: string, done: Done, onUndone: () => void = () => {}) => {
    const { type, ids, action } = done;
    const several = (count: number) => `${plural(count, type)} ${action === 'delete' ? 'deleted' : 'changed'}.`;
    toasts.show(text, 'good', {
      action: { label: 'Undo', run: () => void undo(done, onUndone) },
      ...(action === 'delete' && { tally: { kind: `${type} ${action}`, count: ids.length, text: several } }),
    });
  };
}
