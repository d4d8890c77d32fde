import { Index, type JSX, Show } from 'solid-js';
import { IconButton } from '#ui/src/components/button.tsx';
import { AddRow } from '#ui/src/components/form/add-row.tsx';
import { TextField } from '#ui/src/components/form/field.tsx';
import { passesFocus } from '#ui/src/components/form/passes-focus.ts';
import { Panel } from '#ui/src/components/panel.tsx';
import './parameters/parameters.css';

/** Rules about columns of the result, a row each. */
export function ColumnsPanel<R extends { readonly column: string }>(props: {
  title: string;
  value: readonly R[];
  onChange: (rows: R[]) => void;
  /** The columns of the newest result. */
  columns: readonly string[];
  /** A new row. */
  fresh: (column: string) => R;
  /** Rows that there may be. */
  most?: number;
  /** By the place of a field within the list; `''`: of the list. */
  error: (path: string) => string | undefined;
  /** Said while there is no row. */
  empty: string;
  /** Said below the rows. */
  note?: string;
  add: string;
  remove: (column: string) => string;
  /** What a row says of its column. */
  children: (row: () => R, set: (change: Partial<R>) => void, index: number) => JSX.Element;
}) {
  const set = (index: number, change: Partial<R>) =>
    props.onChange(props.value.map((row, place) => (place === index ? { ...row, ...change } : row)));
  const free = () => props.columns.find((name) => !props.value.some(({ column }) => column === name)) ?? '';
  return (
    <Panel title={props.title} count={props.value.length}>
      <Show when={props.value.length > 0} fallback={<p class="soft small">{props.empty}</p>}>
        <ul class="stack">
          <Index each={props.value}>
            {(row, index) => (
              <li class="mask-row" ref={passesFocus}>
                <TextField
                  label="Column"
                  mono
                  required
                  value={row().column}
                  onInput={(column) => set(index, { column } as Partial<R>)}
                  error={props.error(`${index}.column`)}
                />
                {props.children(row, (change) => set(index, change), index)}
                <IconButton
                  icon="trash"
                  size="small"
                  label={props.remove(row().column)}
                  onPress={() => props.onChange(props.value.toSpliced(index, 1))}
                />
              </li>
            )}
          </Index>
        </ul>
        <Show when={props.note}>{(note) => <p class="soft small">{note()}</p>}</Show>
      </Show>
      <AddRow
        label={props.add}
        error={props.error('')}
        blocked={props.value.length >= (props.most ?? Number.POSITIVE_INFINITY)}
        onPress={() => props.onChange([...props.value, props.fresh(free())])}
      />
    </Panel>
  );
}
