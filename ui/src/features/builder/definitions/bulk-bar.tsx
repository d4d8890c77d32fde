import { createSignal, Show } from 'solid-js';
import { Button } from '#ui/src/components/button.tsx';
import { Dialog } from '#ui/src/components/dialog.tsx';
import { TagsField } from '#ui/src/components/form/tags-field.tsx';
import { AddToToolset } from './add-to-toolset.tsx';
import type { Entity, EntityNoun } from './bulk.ts';
import type { useEntityActions } from './use-entity-actions.ts';

/** What can be done with the chosen rows of a list. */
export function BulkBar(props: {
  entities: readonly Entity[];
  tags: readonly string[];
  noun: EntityNoun;
  actions: ReturnType<typeof useEntityActions>;
  onDone: () => void;
}) {
  const [asking, setAsking] = createSignal<'add' | 'remove'>();
  const [adding, setAdding] = createSignal(false);
  const [tags, setTags] = createSignal<string[]>([]);
  const [busy, setBusy] = createSignal(false);
  const during = async (work: Promise<boolean | void>) => {
    setBusy(true);
    const done = await work.finally(() => setBusy(false));
    if (done !== false) props.onDone();
  };
  const apply = async () => {
    const [entities, list, kind] = [props.entities, tags(), asking()];
    setAsking(undefined);
    if (list.length === 0) return;
    await during(kind === 'remove' ? props.actions.removeTags(entities, list) : props.actions.addTags(entities, list));
  };
  const ask = (kind: 'add' | 'remove') => {
    setTags([]);
    setAsking(kind);
  };
  const tags_in_use = () => [...new Set(props.entities.flatMap((entity) => entity.tags))].sort();

  return (
    <>
      <Button size="small" busy={busy()} onPress={() => void during(props.actions.setEnabled(props.entities, true))}>
        Enable
      </Button>
      <Button size="small" busy={busy()} onPress={() => void during(props.actions.setEnabled(props.entities, false))}>
        Disable
      </Button>
      <Button size="small" busy={busy()} onPress={() => ask('add')}>
        Add tags
      </Button>
      <Show when={tags_in_use().length > 0}>
        <Button size="small" busy={busy()} onPress={() => ask('remove')}>
          Remove tags
        </Button>
      </Show>
      <Button size="small" busy={busy()} needs="toolsets.update" onPress={() => setAdding(true)}>
        Add to toolset
      </Button>
      <Button size="small" kind="danger" busy={busy()} onPress={() => void during(props.actions.removeAll(props.entities))}>
        Delete
      </Button>
      <Show when={adding()}>
        <AddToToolset
          noun={props.noun}
          entities={props.entities}
          onClose={() => setAdding(false)}
          onDone={() => {
            setAdding(false);
            props.onDone();
          }}
        />
      </Show>
      <Dialog
        open={asking() !== undefined}
        title={asking() === 'remove' ? 'Remove tags' : 'Add tags'}
        size="small"
        onClose={() => setAsking(undefined)}
        foot={
          <>
            <Button onPress={() => setAsking(undefined)}>Cancel</Button>
            <Button kind="primary" blocked={tags().length === 0} onPress={() => void apply()}>
              {asking() === 'remove' ? 'Remove' : 'Add'}
            </Button>
          </>
        }
      >
        <TagsField
          label="Tags"
          value={tags()}
          onChange={setTags}
          suggestions={asking() === 'remove' ? tags_in_use() : props.tags}
        />
      </Dialog>
    </>
  );
}
