import { type Mask, MASK_CHOICES, type MaskKind } from '#core/contract/definitions/masks.ts';
import { TagsField } from '#ui/src/components/form/tags-field.tsx';
import { Select } from '#ui/src/components/form/select.tsx';
import { Fixed } from '#ui/src/components/form/fixed.tsx';
import { ADMINISTERED, useAdministered, useAskAdministrator } from '#ui/src/fields/administered.ts';
import { ColumnsPanel } from './columns-panel.tsx';
import type { StatementDraft } from './statement-draft.ts';

const KINDS = Object.entries(MASK_CHOICES).map(([value, { label, help }]) => ({
  value: value as MaskKind,
  label,
  ...(help === undefined ? {} : { hint: help }),
}));

/** Columns of the result that callers see only in part. */
export function MasksPanel(props: { draft: StatementDraft }) {
  // The schema of a draft does not change.
  // oxlint-disable-next-line solid/reactivity
  const administered = useAdministered(props.draft.form.schema, 'masks');
  const ask = useAskAdministrator(administered);
  const why = () => (administered() ? `${ADMINISTERED} ${ask()}` : '');
  return (
    <Fixed when={administered()}>
      <ColumnsPanel<Mask>
        draft={props.draft}
        field="masks"
        title="Masks"
        value={props.draft.form.values.masks}
        fresh={(column) => ({ column, mask: 'text', unless_groups: [] })}
        empty={`Callers see every column unmasked. A mask hides a column or part of its values. ${why()}`}
        note={why()}
        add="Add mask"
        remove={(column) => `Remove the mask of ${column}`}
      >
        {(mask, set, index) => (
          <>
            <Select label="Callers see" options={KINDS} value={mask().mask} onChange={(kind: MaskKind) => set({ mask: kind })} />
            <TagsField
              label="Except groups"
              optional
              placeholder="support"
              value={mask().unless_groups}
              onChange={(unless_groups) => set({ unless_groups })}
              error={props.draft.error(`masks.${index}.unless_groups`)}
            />
          </>
        )}
      </ColumnsPanel>
    </Fixed>
  );
}
