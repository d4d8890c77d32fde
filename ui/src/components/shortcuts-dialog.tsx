import { createMemo, For } from 'solid-js';
import { COMMAND_GROUPS } from '#ui/src/kernel/commands.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { Switch } from './choice.tsx';
import { Dialog } from './dialog.tsx';

const ALWAYS = [
  { keys: 'Ctrl K', title: 'Find a page, a record or a command (⌘ K on a Mac)' },
  { keys: '↑ ↓', title: 'Move between the rows of a table; Enter opens, Space chooses' },
  { keys: 'Esc', title: 'Close what is open' },
] as const;

/** The keys that work here, by what they do. */
export function ShortcutsDialog(props: { open: boolean; onClose: () => void }) {
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
    <Dialog open={props.open} title="Keyboard shortcuts" onClose={props.onClose}>
      <Switch
        label="Single keys run commands"
        hint="Switched off, only Ctrl K and the keys of lists and fields work."
        checked={commands.keys()}
        onChange={commands.setKeys}
      />
      <div class="shortcuts">
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
