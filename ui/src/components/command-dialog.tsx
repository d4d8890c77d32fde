import { createMemo, createSignal, For, Show } from 'solid-js';
import type { Command } from '#ui/src/kernel/commands.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { Dialog } from './dialog.tsx';
import { Icon } from './icon.tsx';

const GROUPS = ['Server', 'Go to', 'Interface', 'Account'] as const satisfies readonly Command['group'][];

/** The list of everything that can be done, with its keys: a palette (type and press Enter) and the help for `?` in one. */
export function CommandDialog(props: { open: boolean; onClose: () => void }) {
  const { commands } = useKernel();
  const [wanted, setWanted] = createSignal('');
  const found = createMemo(() => {
    const words = wanted().toLowerCase().split(/\s+/).filter(Boolean);
    return commands.all().filter((command) => {
      const text = `${command.group} ${command.title}`.toLowerCase();
      return command.enabled?.() !== false && words.every((word) => text.includes(word));
    });
  });
  const groups = createMemo(() =>
    GROUPS.map((group) => ({ group, list: found().filter((command) => command.group === group) })).filter(
      ({ list }) => list.length > 0,
    ),
  );

  const close = () => {
    setWanted('');
    props.onClose();
  };
  const choose = (command: Command | undefined) => {
    if (command === undefined) return;
    close();
    // After the dialog has given the focus back, so that a command may move it.
    queueMicrotask(() => commands.run(command.id));
  };

  return (
    <Dialog open={props.open} title="Commands and shortcuts" onClose={close}>
      <form
        class="search"
        onSubmit={(event) => {
          event.preventDefault();
          choose(found()[0]);
        }}
      >
        <Icon name="search" />
        <input
          class="input"
          type="search"
          autofocus
          placeholder="Type to find a command"
          aria-label="Find a command"
          value={wanted()}
          onInput={(event) => setWanted(event.currentTarget.value)}
        />
      </form>
      <div class="command-list">
        <For each={groups()} fallback={<p class="soft">No command with these words.</p>}>
          {({ group, list }) => (
            <section>
              <h3>{group}</h3>
              <For each={list}>
                {(command) => (
                  <button type="button" class="command" onClick={() => choose(command)}>
                    {command.title}
                    <Show when={commands.keys() && command.key}>{(key) => <kbd>{key()}</kbd>}</Show>
                  </button>
                )}
              </For>
            </section>
          )}
        </For>
      </div>
      <label class="check">
        <input type="checkbox" checked={commands.keys()} onChange={(event) => commands.setKeys(event.currentTarget.checked)} />
        Single keys run commands (Ctrl K or ⌘ K always opens this list)
      </label>
    </Dialog>
  );
}
