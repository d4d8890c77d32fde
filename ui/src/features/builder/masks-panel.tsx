import { Index, Show } from 'solid-js';
import { type Mask, MASK_CHOICES, type MaskKind } from '#core/contract/definitions/masks.ts';
import { IconButton } from '#ui/src/components/button.tsx';
import { AddRow } from '#ui/src/components/form/add-row.tsx';
import { TextField } from '#ui/src/components/form/field.tsx';
import { TagsField } from '#ui/src/components/form/tags-field.tsx';
import { Select } from '#ui/src/components/form/select.tsx';
import { Panel } from '#ui/src/components/panel.tsx';
import { passesFocus } from '#ui/src/components/form/passes-focus.ts';
import './parameters/parameters.css';

const KINDS = Object.entries(MASK_CHOICES).map(([value, { label, help }]) => ({
  value: value as MaskKind,
  label,
  ...(help === undefined ? {} : { hint: help }),
}));

/** Columns of the result that callers see only in part. */
export function MasksPanel(props: {
  value: readonly Mask[];
  onChange: (masks: Mask[]) => void;
  /** The columns of the newest result. */
  columns: readonly string[];
  error: (path: string) => string | undefined;
}) {
  const set = (index: number, change: Partial<Mask>) =>
    props.onChange(props.value.map((mask, place) => (place === index ? { ...mask, ...change } : mask)));
  const remove = (index: number) => props.onChange(props.value.toSpliced(index, 1));
  const free = () => props.columns.find((column) => !props.value.some((mask) => mask.column === column)) ?? '';
  const add = () => props.onChange([...props.value, { column: free(), mask: 'text', unless_groups: [] }]);
  return (
    <Panel title="Masks" count={props.value.length}>
      <Show
        when={props.value.length > 0}
        fallback={<p class="soft small">Callers see every column as it is. A mask hides a column, or part of its values.</p>}
      >
        <ul class="stack">
          <Index each={props.value}>
            {(mask, index) => (
              <li class="mask-row" ref={passesFocus}>
                <TextField
                  label="Column"
                  mono
                  required
                  value={mask().column}
                  onInput={(column) => set(index, { column })}
                  error={props.error(`${index}.column`)}
                />
                <Select
                  label="Callers see"
                  options={KINDS}
                  value={mask().mask}
                  onChange={(kind: MaskKind) => set(index, { mask: kind })}
                />
                <TagsField
                  label="Except groups"
                  optional
                  placeholder="support"
                  value={mask().unless_groups}
                  onChange={(unless_groups) => set(index, { unless_groups })}
                  error={props.error(`${index}.unless_groups`)}
                />
                <IconButton
                  icon="trash"
                  size="small"
                  label={`Remove the mask of ${mask().column}`}
                  onPress={() => remove(index)}
                />
              </li>
            )}
          </Index>
        </ul>
      </Show>
      <AddRow label="Add mask" error={props.error('')} onPress={add} />
    </Panel>
  );
}
