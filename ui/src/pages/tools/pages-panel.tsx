import type { PageBy } from '#core/contract/definitions/pages.ts';
import type { ToolDraft } from '#core/contract/definitions/tools.ts';
import { Select } from '#ui/src/components/form/select.tsx';
import { ColumnsPanel } from '#ui/src/features/builder/columns-panel.tsx';
import type { StatementDraft } from '#ui/src/features/builder/statement-draft.ts';

const ORDERS = [
  { value: 'asc', label: 'Ascending' },
  { value: 'desc', label: 'Descending' },
] as const;
const MOST_COLUMNS = 4;

/** Columns that order the rows, so that a model can ask for those that were cut. */
export function PagesPanel(props: { draft: StatementDraft<ToolDraft> }) {
  return (
    <ColumnsPanel<PageBy>
      draft={props.draft}
      field="page_by"
      title="Pages"
      value={props.draft.form.values.page_by}
      fresh={(column) => ({ column, desc: false })}
      most={MOST_COLUMNS}
      empty="A result that reaches a limit is cut off. With columns that order the rows, a model can read on."
      note="End with a unique column, such as the primary key. NULL values come last."
      add="Add column"
      remove={(column) => `Remove ${column} from the order`}
    >
      {(one, set) => (
        <Select
          label="Order"
          options={ORDERS}
          value={one().desc ? 'desc' : 'asc'}
          onChange={(order: 'asc' | 'desc') => set({ desc: order === 'desc' })}
        />
      )}
    </ColumnsPanel>
  );
}
