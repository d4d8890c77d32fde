import type { Call } from '#ui/src/api.ts';
import type { EntityType } from '#core/contract/history.ts';
import { takeBack } from '#ui/src/kernel/data/take-back.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { toProblem } from '#ui/src/kernel/problem.ts';
import type { Toasts } from '#ui/src/kernel/toasts.ts';
import { plural } from '#ui/src/kernel/words.ts';

type Done = { readonly type: EntityType; readonly ids: readonly string[] } & (
  | { readonly action: 'delete' }
  /** `version` is the one that the update of the single record created. */
  | { readonly action: 'update'; readonly version: number }
);

/** Reports what was done, with a button that undoes the newest change of each record through the history. */
export const useUndo = () => createUndo(useKernel());

export function createUndo({ call, toasts }: { call: Call; toasts: Toasts }) {
  const undo = async ({ type, ids, ...change }: Done, onUndone: () => void) => {
    let fault: unknown;
    const each = async () => {
      for (const id of ids)
        await takeBack(call, { ...change, entity: { type, id } }).catch((caught: unknown) => {
          fault = caught;
        });
    };
    await toasts.during(each());
    if (fault === undefined) toasts.show('Undone.', 'good');
    else toasts.show(toProblem(fault).detail, 'bad');
    onUndone();
  };
  return (text: string, done: Done, onUndone: () => void = () => {}) => {
    const { type, ids, action } = done;
    const several = (count: number) =>
      `${plural(count, type.replaceAll('_', ' ').replace(/^oauth/, 'OAuth'))} ${action === 'delete' ? 'deleted' : 'changed'}.`;
    toasts.show(text, 'good', {
      action: { label: 'Undo', run: () => void undo(done, onUndone) },
      ...(action === 'delete' && { tally: { kind: `${type} ${action}`, count: ids.length, text: several } }),
    });
  };
}
