import { Index, type JSX, Show } from 'solid-js';
import { IconButton } from '#ui/src/components/button.tsx';
import { AddRow } from '#ui/src/components/form/add-row.tsx';
import { TextField } from '#ui/src/components/form/field.tsx';
import { passesFocus } from '#ui/src/components/form/passes-focus.ts';
import { Select } from '#ui/src/components/form/select.tsx';
import { Panel } from '#ui/src/components/panel.tsx';
import type { StatementDraft } from './statement-draft.ts';
import './parameters/parameters.css';

/** Rules for columns of the result, one per row. */
export function ColumnsPanel<R extends { readonly column: string }>(props: {
  draft: Pick<StatementDraft, 'error' | 'change' | 'statement'>;
  /** The field of the draft that holds the rows. */
  field: 'masks' | 'page_by';
  title: string;
  value: readonly R[];
  /** Creates a row. */
  fresh: (column: string) => R;
  /** Maximum number of rows. */
  most?: number;
  /** Text shown without rows. */
  empty: string;
  /** Text below the rows; empty: none. */
  note?: string;
  add: string;
  remove: (column: string) => string;
  /** The fields of a row besides its column. */
  children: (row: () => R, set: (change: Partial<R>) => void, index: number) => JSX.Element;
}) {
  const columns = () => props.draft.statement.columns();
  const write = (rows: readonly R[]) => props.draft.change({ [props.field]: rows });
  const error = (path: string) => props.draft.error(`${props.field}${path}` as 'masks');
  const set = (index: number, change: Partial<R>) =>
    write(props.value.map((row, at) => (at === index ? { ...row, ...change } : row)));
  const free = () => columns().find((name) => !props.value.some(({ column }) => column === name)) ?? '';
  return (
    <Panel title={props.title} count={props.value.length}>
      <Show when={props.value.length > 0} fallback={<p class="soft small">{props.empty}</p>}>
        <ul class="stack">
          <Index each={props.value}>
            {(row, index) => (
              <li class="mask-row" ref={passesFocus}>
                <ColumnField
                  columns={columns()}
                  value={row().column}
                  onChange={(column) => set(index, { column } as Partial<R>)}
                  error={error(`.${index}.column`)}
                />
                {props.children(row, (change) => set(index, change), index)}
                <IconButton
                  icon="trash"
                  size="small"
                  label={props.remove(row().column)}
                  onPress={() => write(props.value.toSpliced(index, 1))}
                />
              </li>
            )}
          </Index>
        </ul>
        <Show when={props.note}>{(note) => <p class="soft small">{note()}</p>}</Show>
      </Show>
      <AddRow
        label={props.add}
        error={error('')}
        blocked={props.value.length >= (props.most ?? Number.POSITIVE_INFINITY)}
        onPress={() => write([...props.value, props.fresh(free())])}
      />
    </Panel>
  );
}

/** One of the columns of the result; typed while they are not known. */
function ColumnField(props: {
  columns: readonly string[];
  value: string;
  onChange: (column: string) => void;
  error: string | undefined;
}) {
  const names = () => [...new Set([...props.columns, ...(props.value === '' ? [] : [props.value])])];
  return (
    <Show
      when={props.columns.length > 0}
      fallback={
        <TextField
          label="Column"
          mono
          required
          value={props.value}
          onInput={(column) => props.onChange(column)}
          error={props.error}
        />
      }
    >
      <Select
        label="Column"
        options={names().map((name) => ({ value: name, label: name }))}
        value={props.value}
        onChange={(column: string) => props.onChange(column)}
        error={props.error}
      />
    </Show>
  );
}
