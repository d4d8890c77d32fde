import { createMemo, createSignal, For, Show } from 'solid-js';
import type { SnapshotChange } from '#core/contract/deploy/deploy.ts';
import { compileSearch } from '#core/lib/text/search.ts';
import { Breakable } from '#ui/src/components/show/breakable.tsx';
import { Badge } from '#ui/src/components/badge.tsx';
import { Button } from '#ui/src/components/button.tsx';
import { FieldDiff } from '#ui/src/components/show/field-diff.tsx';
import { SearchInput } from '#ui/src/components/table/filter-bar.tsx';
import { createRoving } from '#ui/src/components/table/roving.ts';
import { Icon } from '#ui/src/components/icon.tsx';
import { useQuery } from '#ui/src/components/use-query.ts';
import { allOf } from '#ui/src/kernel/data/all-of.ts';
import { num } from '#ui/src/kernel/numbers.ts';
import { plural } from '#ui/src/kernel/words.ts';
import { type ChangeGroup, groupChanges } from './changes.ts';
import { ChangeRisks } from './change-risks.tsx';
import './change-list.css';

const TONE = { added: 'good', changed: 'info', removed: 'bad' } as const;
/** Up to this many groups start expanded. */
const OPEN_UP_TO = 3;
/** From this many changes on, a filter is shown. */
const FILTER_FROM = 12;
/** Changes shown per group at first, and added by each "Show more". */
const FIRST_SHOWN = 20;
const MORE_SHOWN = 50;
const CONNECTIONS_PAGE = 500;

/** The differences between two configurations, by kind and connection, entity and field. */
export function ChangeList(props: { changes: readonly SnapshotChange[]; label: string }) {
  const [search, setSearch] = createSignal('');
  const connections = useQuery((read) => allOf((skip, limit) => read('connections.list', { skip, limit }), CONNECTIONS_PAGE));
  // Equal names must not redraw the groups, which would collapse them.
  const names = createMemo(() => new Map(connections.data()?.items.map(({ id, name }) => [id, name])), undefined, {
    equals: (before, now) => JSON.stringify([...before]) === JSON.stringify([...now]),
  });
  const known = () => connections.data() !== undefined || connections.problem() !== undefined;
  const found = createMemo(() => {
    const matches = compileSearch(search());
    return props.changes.filter(({ name }) => matches(name));
  });
  const groups = createMemo(() => groupChanges(found(), (id) => names().get(id)));
  const roving = createRoving('summary.change-head, .change-all button', groups);
  return (
    <div class="change-groups">
      <Show when={props.changes.length >= FILTER_FROM}>
        <div class="change-filter">
          <SearchInput label="Filter changes by name" value={search()} onInput={setSearch} />
        </div>
      </Show>
      <Show when={known() && groups().length > 0} fallback={<p class="panel-body soft">{known() ? 'No results' : 'Loading…'}</p>}>
        <div role="group" aria-label={props.label} {...roving}>
          <For each={groups()}>
            {(group) => (
              <Group group={group} titled={props.changes.length > OPEN_UP_TO} open={props.changes.length <= OPEN_UP_TO} />
            )}
          </For>
        </div>
      </Show>
    </div>
  );
}

function Group(props: { group: ChangeGroup; titled: boolean; open: boolean }) {
  const [limit, setLimit] = createSignal(FIRST_SHOWN);
  const shown = () => props.group.changes.slice(0, limit());
  const more = () => Math.min(MORE_SHOWN, props.group.changes.length - limit());
  let list: HTMLUListElement | undefined;
  /** The button may be gone then, so the focus moves to the first added change. */
  const showMore = () => {
    const first = limit();
    setLimit(first + MORE_SHOWN);
    list?.children[first]?.querySelector('summary')?.focus();
  };
  return (
    <section>
      <Show when={props.titled}>
        <h3 class="change-group">
          <Breakable text={props.group.title} /> <span class="num faint">{num(props.group.changes.length)}</span>
        </h3>
      </Show>
      <ul ref={(element) => (list = element)} aria-label={props.group.title}>
        <For each={shown()}>{(change) => <Row change={change} open={props.open || change.breaking.length > 0} />}</For>
      </ul>
      <Show when={more() > 0}>
        <div class="change-all">
          <Button size="small" onPress={showMore}>
            Show {more()} more
          </Button>
        </div>
      </Show>
    </section>
  );
}

function Row(props: { change: SnapshotChange; open: boolean }) {
  // Initial state only; the person toggles it afterwards.
  // oxlint-disable-next-line solid/reactivity
  const [open, setOpen] = createSignal(props.open);
  return (
    <li class="change-row">
      <Show
        when={Object.keys(props.change.values).length > 0}
        fallback={
          <div class="change-head">
            <Head change={props.change} />
          </div>
        }
      >
        <details open={open()} onToggle={(event) => setOpen(event.currentTarget.open)}>
          <summary class="change-head">
            <Icon name="right" size={14} />
            <Head change={props.change} />
          </summary>
          <Show when={open()}>
            <FieldDiff
              changes={props.change.values}
              entity_type={props.change.entity_type}
              alone={props.change.change === 'changed' ? undefined : props.change.change}
            />
          </Show>
        </details>
      </Show>
      <Show when={props.change.breaking.length > 0}>
        <ul class="change-breaking">
          <For each={props.change.breaking}>
            {(sentence) => (
              <li>
                <Icon name="alert" size={14} />
                {sentence}
              </li>
            )}
          </For>
        </ul>
      </Show>
    </li>
  );
}

function Head(props: { change: SnapshotChange }) {
  return (
    <>
      <span class="mono change-name">
        <Breakable text={props.change.name} />
      </span>
      <span class="faint small">{props.change.entity_type === 'server_config' ? 'server' : props.change.entity_type}</span>
      <span class="change-marks">
        <ChangeRisks change={props.change} />
        <Show when={props.change.fields.length > 0}>
          <span class="small faint num">{plural(props.change.fields.length, 'field')}</span>
        </Show>
        <Badge tone={TONE[props.change.change]}>{props.change.change}</Badge>
      </span>
    </>
  );
}
