import type { RawInput } from '#core/contract/index.ts';
import { useAct } from '#ui/src/components/use-act.ts';
import { useUndo } from '#ui/src/components/use-undo.ts';
import type { Insight } from '#ui/src/features/insights/words.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';

/** Applies the fix of a finding once the person agrees; the history takes it back. */
export function useFix() {
  const { call } = useKernel();
  const { ask } = useAct();
  const undo = useUndo();
  return async ({ fix, entity }: Insight): Promise<void> => {
    if (fix === undefined) return;
    const { kind, id } = fix.entity;
    const question = {
      title: `${fix.label}?`,
      text: `This changes the ${kind} ${entity.name} in the working copy. Callers see it after the next deploy.`,
      action: 'Apply fix',
      danger: false,
    };
    // The server wrote the changes as the body of this operation.
    const input = { ...fix.changes, id };
    const done = await ask(question, (): Promise<{ readonly version: number }> =>
      kind === 'tool'
        ? call('tools.update', input as RawInput<'tools.update'>)
        : call('connections.update', input as RawInput<'connections.update'>),
    );
    if (done === undefined) return;
    const { version } = done;
    undo(`${entity.name} changed. Deploy to put it into effect.`, { type: kind, ids: [id], action: 'update', version });
  };
}
