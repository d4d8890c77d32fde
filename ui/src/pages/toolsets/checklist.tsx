import { createMemo, createSignal, Show, untrack } from 'solid-js';
import type { Selection as Selected } from '#core/contract/definitions/toolsets.ts';
import { compileSearch } from '#core/lib/text/search.ts';
import { Badge } from '#ui/src/components/badge.tsx';
import { EmptyState } from '#ui/src/components/empty-state.tsx';
import { Checkbox } from '#ui/src/components/form/choice.tsx';
import { Fieldset } from '#ui/src/components/form/fieldset.tsx';
import { Select } from '#ui/src/components/form/select.tsx';
import { Breakable } from '#ui/src/components/show/breakable.tsx';
import { DataTable } from '#ui/src/components/table/data-table.tsx';
import { SearchInput } from '#ui/src/components/table/filter-bar.tsx';
import type { Selection } from '#ui/src/kernel/selection.ts';
import { capital, plural } from '#ui/src/kernel/words.ts';
import { pickedOf, withPicked } from './picks.ts';
import type { Selectable } from './use-selectable.ts';

/** The definitions of every database with a checkbox each; the checkbox in the head selects all that the search has found. */
export function Checklist(props: {
  label: string;
  all: readonly Selectable[];
  value: Selected;
  onChange: (value: Selected) => void;
  error: string | undefined;
  fixed: boolean;
}) {
  const [search, setSearch] = createSignal('');
  const [connection, setConnection] = createSignal('');
  const [only_selected, setOnlySelected] = createSignal(false);
  const picked = createMemo(() => pickedOf(props.value, props.all));
  /** A row that is cleared stays in sight until the filter changes. */
  const held = createMemo(() => (only_selected() ? new Set(untrack(picked)) : undefined));
  const connections = createMemo(() => [
    ...new Map(props.all.map(({ connection_id, connection_name }) => [connection_id ?? '-', connection_name] as const)),
  ]);
  const found = createMemo(() => {
    const matches = compileSearch(search());
    const shown = held();
    return props.all.filter(
      ({ id, name, tags, connection_id, connection_name }) =>
        (connection() === '' || connection() === (connection_id ?? '-')) &&
        (shown === undefined || shown.has(id)) &&
        matches(name, connection_name, ...tags),
    );
  });
  const change = (next: ReadonlySet<string>) => props.onChange(withPicked(props.value, props.all, next));
  const selection: Selection = {
    ids: picked,
    count: () => found().filter(({ id }) => picked().has(id)).length,
    has: (id) => picked().has(id),
    toggle: (id) =>
      change(picked().has(id) ? new Set([...picked()].filter((other) => other !== id)) : new Set([...picked(), id])),
    set: (ids) => change(new Set([...picked(), ...ids])),
    clear: () => {
      const cleared = new Set(found().map(({ id }) => id));
      change(new Set([...picked()].filter((id) => !cleared.has(id))));
    },
  };
  return (
    <Fieldset label={props.label} hint={`${plural(picked().size, 'definition')} selected.`} error={props.error}>
      <div
        class="filter-bar"
        role="search"
        onKeyDown={(event) => {
          // The search is no field of the form.
          if (event.key === 'Enter' && event.target instanceof HTMLInputElement) event.preventDefault();
        }}
      >
        <SearchInput label="Search by name, tag or database" value={search()} onInput={setSearch} />
        <Show when={connections().length > 1}>
          <Select
            label="Database"
            hide_label
            options={[
              { value: '', label: 'All databases' },
              ...connections().map(([value, name]) => ({ value, label: name === '' ? 'No database' : name })),
            ]}
            value={connection()}
            onChange={setConnection}
          />
        </Show>
        <Checkbox label="Selected only" checked={only_selected()} onChange={setOnlySelected} />
      </div>
      <DataTable
        label={props.label}
        rows={found()}
        key={({ id }) => id}
        muted={({ enabled }) => !enabled}
        height="22rem"
        {...(props.fixed ? {} : { selection })}
        columns={[
          {
            id: 'name',
            head: 'Name',
            cell: (row) => (
              <span class="row">
                <span class="mono long-name">
                  <Breakable text={row.name} />
                </span>
                <Show when={!row.enabled}>
                  <Badge>Disabled</Badge>
                </Show>
              </span>
            ),
          },
          { id: 'kind', head: 'Kind', narrow: 'hide', text: ({ kind }) => capital(kind) },
          { id: 'database', head: 'Database', cell: (row) => <Breakable text={row.connection_name} /> },
        ]}
        empty={
          <EmptyState title={props.all.length === 0 ? 'No definitions yet' : 'No results'}>
            {props.all.length === 0 ? 'Create a tool first.' : 'Change the search or the filters.'}
          </EmptyState>
        }
      />
    </Fieldset>
  );
}
