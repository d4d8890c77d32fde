import { createMemo, For } from 'solid-js';
import { COMMAND_GROUPS } from '#ui/src/kernel/commands.ts';
import { withMod } from '#ui/src/kernel/keys.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { Switch } from '#ui/src/components/form/choice.tsx';
import { Dialog } from '#ui/src/components/dialog.tsx';

const ALWAYS = [
  { keys: withMod('K'), title: 'Search pages, records and commands' },
  { keys: '↑ ↓', title: 'Move between rows of a table or list; Enter opens, Space selects' },
  { keys: 'Esc', title: 'Close a dialog or menu' },
  { keys: 'Esc Tab', title: 'Leave a code editor, where Tab indents' },
] as const;

/** The keys that work here, by what they do. */
export function ShortcutsDialog(props: { onClose: () => void }) {
  const { commands } = useKernel();
  const groups = createMemo(() =>
    COMMAND_GROUPS.map((group) => ({
      group,
      list: commands
        .all()
        .filter((command) => command.group === group && command.key !== undefined && command.enabled?.() !== false),
    })).filter(({ list }) => list.length > 0),
  );
  return (
    <Dialog open title="Keyboard shortcuts" onClose={props.onClose}>
      <Switch
        label="Single keys run commands"
        hint={`When off, only ${withMod('K')} and the keys of lists and fields work.`}
        checked={commands.keys()}
        onChange={commands.setKeys}
      />
      <div class="stack shortcuts" data-gap="5">
        <section>
          <h3>Everywhere</h3>
          <dl>
            <For each={ALWAYS}>
              {({ keys, title }) => (
                <div>
                  <dt>{title}</dt>
                  <dd>
                    <kbd>{keys}</kbd>
                  </dd>
                </div>
              )}
            </For>
          </dl>
        </section>
        <For each={groups()}>
          {({ group, list }) => (
            <section>
              <h3>{group}</h3>
              <dl>
                <For each={list}>
                  {(command) => (
                    <div>
                      <dt>{command.title}</dt>
                      <dd>
                        <kbd>{command.key}</kbd>
                      </dd>
                    </div>
                  )}
                </For>
              </dl>
            </section>
          )}
        </For>
      </div>
    </Dialog>
  );
}
