import { createSignal, Show } from 'solid-js';
import { MOST_TOOLSETS } from '#core/contract/definitions/toolsets.ts';
import { Button } from '#ui/src/components/button.tsx';
import { Dialog } from '#ui/src/components/dialog.tsx';
import { EmptyState } from '#ui/src/components/empty-state.tsx';
import { Select } from '#ui/src/components/form/select.tsx';
import { LinkButton } from '#ui/src/components/link.tsx';
import { Loaded } from '#ui/src/components/show/loaded.tsx';
import { useAct } from '#ui/src/components/use-act.ts';
import { useQuery } from '#ui/src/components/use-query.ts';
import { useUndo } from '#ui/src/components/use-undo.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { plural } from '#ui/src/kernel/words.ts';
import { type Entity, ENTITY_TYPE, type EntityNoun, including } from './bulk.ts';

/** Adds the selected rows of a list to a toolset, in one request. */
export function AddToToolset(props: { noun: EntityNoun; entities: readonly Entity[]; onClose: () => void; onDone: () => void }) {
  const { call } = useKernel();
  const { act } = useAct();
  const undoable = useUndo();
  const [chosen, setChosen] = createSignal<string>();
  const [busy, setBusy] = createSignal(false);
  const list = useQuery((read) => read('toolsets.list', { limit: MOST_TOOLSETS }));
  const toolset = () => list.data()?.items.find(({ id }, index) => (chosen() === undefined ? index === 0 : id === chosen()));
  const add = async () => {
    const into = toolset();
    if (into === undefined) return;
    const { id, name, version } = into;
    const include = including(
      into,
      props.noun,
      props.entities.map((entity) => entity.id),
    );
    setBusy(true);
    const stored = await act(() => call('toolsets.update', { id, version, include }));
    setBusy(false);
    if (stored === undefined) return;
    undoable(`${plural(props.entities.length, ENTITY_TYPE[props.noun])} added to ${name}.`, {
      type: 'toolset',
      ids: [id],
      action: 'update',
      version: stored.version,
    });
    props.onDone();
  };
  return (
    <Dialog
      open
      title="Add to toolset"
      size="small"
      onClose={() => props.onClose()}
      foot={
        <Show when={toolset()}>
          <Button onPress={() => props.onClose()}>Cancel</Button>
          <Button kind="primary" busy={busy()} onPress={() => void add()}>
            {`Add ${plural(props.entities.length, ENTITY_TYPE[props.noun])}`}
          </Button>
        </Show>
      }
    >
      <Loaded of={list} rows={2} label="Loading the toolsets">
        {(found) => (
          <Show
            when={found().items.length > 0}
            fallback={
              <EmptyState title="No toolsets yet" action={<LinkButton href="/toolsets/new">New toolset</LinkButton>}>
                A toolset is a named part of the tools, resources and prompts.
              </EmptyState>
            }
          >
            <Select
              label="Toolset"
              options={found().items.map(({ id, name, title }) => ({ value: id, label: name, hint: title ?? undefined }))}
              value={toolset()?.id ?? ''}
              onChange={setChosen}
            />
          </Show>
        )}
      </Loaded>
    </Dialog>
  );
}
