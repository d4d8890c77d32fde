import { type Mask, MASK_CHOICES, type MaskKind } from '#core/contract/definitions/masks.ts';
import { TagsField } from '#ui/src/components/form/tags-field.tsx';
import { Select } from '#ui/src/components/form/select.tsx';
import { Fixed } from '#ui/src/components/form/fixed.tsx';
import { ADMINISTERED } from '#ui/src/fields/administered.ts';
import { ColumnsPanel } from './columns-panel.tsx';

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
  /** Whether only administrators can change them. */
  fixed: boolean;
}) {
  return (
    <Fixed when={props.fixed}>
      <ColumnsPanel<Mask>
        {...props}
        title="Masks"
        fresh={(column) => ({ column, mask: 'text', unless_groups: [] })}
        empty={`Callers see every column as it is. A mask hides a column, or part of its values.${props.fixed ? ` ${ADMINISTERED}` : ''}`}
        {...(props.fixed ? { note: ADMINISTERED } : {})}
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
              error={props.error(`${index}.unless_groups`)}
            />
          </>
        )}
      </ColumnsPanel>
    </Fixed>
  );
}
