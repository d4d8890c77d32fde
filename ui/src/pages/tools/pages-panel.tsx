import { Index, Show } from 'solid-js';
import type { PageBy } from '#core/contract/definitions/pages.ts';
import type { ToolDraft } from '#core/contract/definitions/tools.ts';
import { IconButton } from '#ui/src/components/button.tsx';
import { AddRow } from '#ui/src/components/form/add-row.tsx';
import { TextField } from '#ui/src/components/form/field.tsx';
import { Select } from '#ui/src/components/form/select.tsx';
import { Panel } from '#ui/src/components/panel.tsx';
import type { ErrorOf } from '#ui/src/features/builder/statement-builder.tsx';
import type { Form } from '#ui/src/kernel/form/form.ts';
import { passesFocus } from '#ui/src/components/form/passes-focus.ts';
import '#ui/src/features/builder/parameters/parameters.css';

const ORDERS = [
  { value: 'asc', label: 'Ascending' },
  { value: 'desc', label: 'Descending' },
] as const;
const MOST_COLUMNS = 4;

/** Columns that order the rows, so that a model can ask for those that were cut. */
export function PagesPanel(props: {
  form: Form<ToolDraft>;
  error: ErrorOf<ToolDraft>;
  /** The columns of the newest result. */
  columns: readonly string[];
}) {
  const value = () => props.form.values.page_by;
  const change = (list: PageBy[]) => props.form.set('page_by', list);
  const set = (index: number, more: Partial<PageBy>) =>
    change(value().map((one, place) => (place === index ? { ...one, ...more } : one)));
  const free = () => props.columns.find((name) => !value().some(({ column }) => column === name)) ?? '';
  return (
    <Panel title="Pages" count={value().length}>
      <Show
        when={value().length > 0}
        fallback={
          <p class="soft small">
            A result that reaches a limit is cut off. With columns that order the rows, a model can read on: it sends the next
            value of a result as the after argument of the next call.
          </p>
        }
      >
        <ul class="stack">
          <Index each={value()}>
            {(one, index) => (
              <li class="mask-row" ref={passesFocus}>
                <TextField
                  label="Column"
                  mono
                  required
                  value={one().column}
                  onInput={(column) => set(index, { column })}
                  error={props.error(`page_by.${index}.column`)}
                />
                <Select
                  label="Order"
                  options={ORDERS}
                  value={one().desc ? 'desc' : 'asc'}
                  onChange={(order: 'asc' | 'desc') => set(index, { desc: order === 'desc' })}
                />
                <IconButton
                  icon="trash"
                  size="small"
                  label={`Remove ${one().column} from the order`}
                  onPress={() => change(value().toSpliced(index, 1))}
                />
              </li>
            )}
          </Index>
        </ul>
        <p class="soft small">End with a unique column, such as the primary key. NULL values come last.</p>
      </Show>
      <AddRow
        label="Add column"
        error={props.error('page_by')}
        blocked={value().length >= MOST_COLUMNS}
        onPress={() => change([...value(), { column: free(), desc: false }])}
      />
    </Panel>
  );
}
