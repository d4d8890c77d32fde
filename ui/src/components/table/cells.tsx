import { createRenderEffect, createUniqueId, For, type JSX, Show } from 'solid-js';
import type { Selection } from '#ui/src/kernel/selection.ts';
import { plural } from '#ui/src/kernel/words.ts';
import { Icon } from '#ui/src/components/icon.tsx';
import { Skeleton } from '#ui/src/components/skeleton.tsx';
import type { Narrow, Sort } from './table.ts';

interface HeadCellProps {
  id: string;
  sortable: boolean;
  sort: Sort | undefined;
  onPress: () => void;
  align?: 'end' | undefined;
  narrow?: Narrow | undefined;
  width?: string | undefined;
  /** Of a table whose columns are not all in the page. */
  place?: number | undefined;
  children: JSX.Element;
}

/** The head of a column, a button where the rows can be sorted by it. */
export function HeadCell(props: HeadCellProps) {
  const order = () => (props.sort?.column === props.id ? (props.sort.down ? 'descending' : 'ascending') : undefined);
  return (
    <th
      scope="col"
      aria-colindex={props.place}
      data-align={props.align}
      data-narrow={props.narrow}
      aria-sort={order()}
      style={{ width: props.width }}
    >
      <Show when={props.sortable} fallback={props.children}>
        <button type="button" class="sort" onClick={() => props.onPress()}>
          {props.children}
          <span class="sort-mark" data-order={order()}>
            <Icon name="down" size={12} />
          </span>
        </button>
      </Show>
    </th>
  );
}

/** @param props.cell the id of the cell that names the row. */
export function Choose(props: { id: string; cell: string; selection: Selection }) {
  const id = createUniqueId();
  return (
    <td class="cell-choose">
      <input
        type="checkbox"
        id={id}
        aria-label="Select"
        aria-labelledby={`${id} ${props.cell}`}
        checked={props.selection.has(props.id)}
        onChange={() => props.selection.toggle(props.id)}
      />
    </td>
  );
}

export function ChooseAll(props: { ids: readonly string[]; selection: Selection }) {
  const all = () => props.ids.length > 0 && props.ids.every((id) => props.selection.has(id));
  return (
    <th scope="col" class="cell-choose">
      <input
        type="checkbox"
        aria-label={`Select all ${plural(props.ids.length, 'row')}`}
        checked={all()}
        ref={(input) => createRenderEffect(() => (input.indeterminate = !all() && props.selection.count() > 0))}
        onChange={() => (all() ? props.selection.clear() : props.selection.set(props.ids))}
      />
    </th>
  );
}

export function SkeletonRows(props: { columns: number }) {
  return (
    <For each={[0, 1, 2, 3, 4]}>
      {(row) => (
        <tr>
          <For each={Array.from({ length: props.columns }, (_, index) => index)}>
            {(index) => (
              <td>
                <Skeleton width={(row + index) % 2 === 0 ? 'long' : 'half'} />
              </td>
            )}
          </For>
        </tr>
      )}
    </For>
  );
}
