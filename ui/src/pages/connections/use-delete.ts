import type { Call } from '#ui/src/api.ts';
import type { Dialogs } from '#ui/src/kernel/dialogs.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { toProblem } from '#ui/src/kernel/problem.ts';
import type { Toasts } from '#ui/src/kernel/toasts.ts';
import { plural } from '#ui/src/kernel/words.ts';
import { createUndo } from '#ui/src/components/use-undo.ts';

const NAMED = 5;

/** Asks with the names of all that goes with the connections, deletes them, offers to take it back. True when deleted. */
export const useDelete = () => createDelete(useKernel());

export function createDelete({ call, dialogs, toasts }: { call: Call; dialogs: Dialogs; toasts: Toasts }) {
  const say = createUndo({ call, toasts });

  const owned = async (id: string) => {
    const filter = { connection_id: id, limit: NAMED };
    const [tools, resources, prompts] = await Promise.all([
      call('tools.list', filter),
      call('resources.list', filter),
      call('prompts.list', filter),
    ]);
    return [line('tool', tools), line('resource', resources), line('prompt', prompts)].filter((text) => text !== undefined);
  };

  return async (
    chosen: readonly { id: string; name: string; version: number }[],
    onUndone: () => void = () => {},
  ): Promise<boolean> => {
    const first = chosen[0];
    if (first === undefined) return false;
    try {
      const reading = chosen.map(async ({ id, name }) => [
        `The connection ${name}`,
        ...(await owned(id)).map((text) => (chosen.length === 1 ? text : `${name}: ${text}`)),
      ]);
      const lists = await toasts.during(Promise.all(reading));
      const agreed = await dialogs.confirm({
        title: chosen.length === 1 ? `Delete the connection “${first.name}”?` : `Delete ${plural(chosen.length, 'connection')}?`,
        text: 'The deployed version keeps running until the next deploy. You can restore everything from the history.',
        goes: lists.flat(),
        action: chosen.length === 1 ? 'Delete connection' : `Delete ${plural(chosen.length, 'connection')}`,
        danger: true,
      });
      if (!agreed) return false;
      const gone: string[] = [];
      try {
        for (const { id, version } of chosen) {
          await toasts.during(call('connections.delete', { id, version }));
          gone.push(id);
        }
      } finally {
        const text = chosen.length === 1 ? `Deleted “${first.name}”.` : `${plural(gone.length, 'connection')} deleted.`;
        if (gone.length > 0) say(text, { type: 'connection', ids: gone, action: 'delete' }, onUndone);
      }
      return true;
    } catch (fault) {
      toasts.show(toProblem(fault).detail, 'bad');
      return false;
    }
  };
}

function line(noun: string, { items, total }: { items: readonly { name: string }[]; total: number }): string | undefined {
  if (total === 0) return undefined;
  const names = items.map(({ name }) => name).join(', ');
  return `${plural(total, noun)}: ${names}${total > items.length ? ', …' : ''}`;
}
