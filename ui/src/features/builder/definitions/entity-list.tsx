import { createMemo, For, type JSX, Show } from 'solid-js';
import { Badge } from '#ui/src/components/badge.tsx';
import { type Column, DataTable } from '#ui/src/components/table/data-table.tsx';
import { EmptyState, NoResults } from '#ui/src/components/empty-state.tsx';
import { FilterBar, FilterSelect } from '#ui/src/components/table/filter-bar.tsx';
import { LinkButton } from '#ui/src/components/link.tsx';
import { Menu, type MenuItem } from '#ui/src/components/menu.tsx';
import { Breakable } from '#ui/src/components/show/breakable.tsx';
import { Page } from '#ui/src/components/page.tsx';
import { Select } from '#ui/src/components/form/select.tsx';
import { useQuery } from '#ui/src/components/use-query.ts';
import { type Entity, ENTITY_TYPE, type EntityNoun } from './bulk.ts';
import { allOf } from '#ui/src/kernel/data/all-of.ts';
import type { Read } from '#ui/src/kernel/data/cache.ts';
import { isServed, LivenessBadge, useLiveness } from '#ui/src/features/deploy/liveness.tsx';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { choice, createSearchParams, many, text } from '#ui/src/kernel/route/search-params.ts';
import { createSelection } from '#ui/src/kernel/selection.ts';
import { BulkBar } from './bulk-bar.tsx';
import { ENTITY_WORDS, playgroundOf } from './entity-words.ts';
import { useBuilderContext } from './use-builder-context.ts';
import { useEntityActions } from './use-entity-actions.ts';
import '#ui/src/features/builder/builder.css';
import './entity-list.css';

interface Kind<E> {
  readonly value: string;
  readonly label: string;
  readonly is: (entity: E) => boolean;
}

interface ListFilter {
  readonly search?: string;
  readonly enabled?: boolean;
  readonly connection_id?: string;
  readonly tags?: string;
  readonly limit: number;
  readonly skip: number;
}

interface EntityListProps<E extends Entity> {
  noun: EntityNoun;
  load: (read: Read, filter: ListFilter) => Promise<{ items: readonly E[]; total: number }>;
  kinds: readonly Kind<E>[];
  /** Columns between the name and the tags. */
  columns: readonly Column<E>[];
  badges?: (entity: E) => JSX.Element;
  menu?: (entity: E) => readonly MenuItem[];
  /** What else an empty list offers. */
  empty_action?: JSX.Element;
}

/** As many as the server gives at once. */
const PAGE = 500;
/** No tag has this name: tags are not empty. */
const ANY_TAG = '\0';
const STATES = [
  { value: 'on', label: 'Enabled' },
  { value: 'off', label: 'Disabled' },
];

/** A longer name takes both lines of a row, which all have one height. */
const LINE_OF_NAME = 28;
/** Of a row; all of them are in its title. */
const TAGS_SHOWN = 2;

/** Tools, resources or prompts: found, filtered, opened, and changed many at once. The address holds the filters. */
export function EntityList<E extends Entity>(props: EntityListProps<E>) {
  const { router, session } = useKernel();
  // The noun of a page does not change.
  // oxlint-disable-next-line solid/reactivity
  const { noun } = props;
  const { title, lead, icon, empty_lead } = ENTITY_WORDS[noun];
  const one = ENTITY_TYPE[noun];
  const context = useBuilderContext(noun);
  const filters = createSearchParams(router, {
    q: text(),
    connection: text(),
    tag: many(),
    state: choice(['on', 'off']),
    kind: text(),
  });
  const query = useQuery(
    (read) => {
      const state = filters.get('state');
      // All of it: its table draws only what is in sight.
      const load = (skip: number, limit: number) =>
        props.load(read, {
          skip,
          limit,
          ...(filters.get('q') === '' ? {} : { search: filters.get('q') }),
          ...(filters.get('connection') === '' ? {} : { connection_id: filters.get('connection') }),
          ...(filters.get('tag').length === 0 ? {} : { tags: filters.get('tag').join(',') }),
          ...(state === undefined ? {} : { enabled: state === 'on' }),
        });
      return allOf(load, PAGE);
    },
    {
      watch: () => JSON.stringify([filters.get('q'), filters.get('connection'), filters.get('tag'), filters.get('state')]),
    },
  );
  const liveness = useLiveness(() => ENTITY_TYPE[noun]);
  const selection = createSelection();
  const reload = async () => {
    await query.reload();
    void context.reload();
  };
  const actions = useEntityActions(noun, { onChange: reload });
  const rows = createMemo(() => {
    const kind = props.kinds.find(({ value }) => value === filters.get('kind'));
    const items = query.data()?.items;
    return kind === undefined ? items : items?.filter((entity) => kind.is(entity));
  });
  const menu = (entity: E): MenuItem[] => [
    ...(props.menu?.(entity) ?? []),
    ...(isServed(liveness(entity))
      ? [{ label: 'Open in playground', icon: 'play' as const, href: playgroundOf(noun, entity) }]
      : []),
  ];
  const href = ({ id }: E) => `/${noun}/${id}`;
  const chosen = (ids: readonly string[]) => (rows() ?? []).filter(({ id }) => ids.includes(id));

  return (
    <Page
      title={title}
      lead={lead}
      actions={
        <LinkButton kind="primary" icon="plus" href={`/${noun}/new`}>
          New {one}
        </LinkButton>
      }
    >
      <FilterBar
        search={{ label: `Search ${noun}`, value: filters.get('q'), onInput: (q) => filters.set({ q }) }}
        active={filters.active()}
        onClear={() => filters.clear()}
      >
        <FilterSelect
          of={filters}
          name="connection"
          label="Connection"
          all="All connections"
          options={(context.connections() ?? []).map(({ id, name }) => ({ value: id, label: name }))}
        />
        <Show when={context.tags().length > 0}>
          <Select
            label="Tag"
            hide_label
            options={[{ value: ANY_TAG, label: 'Any tag' }, ...context.tags().map((tag) => ({ value: tag, label: tag }))]}
            value={filters.get('tag')[0] ?? ANY_TAG}
            onChange={(tag: string) => filters.set({ tag: tag === ANY_TAG ? [] : [tag] })}
          />
        </Show>
        <FilterSelect of={filters} name="state" label="State" all="Any state" options={STATES} />
        <Show when={props.kinds.length > 0}>
          <FilterSelect of={filters} name="kind" label="Kind" all="All kinds" options={props.kinds} />
        </Show>
      </FilterBar>
      <section class="panel entity-panel" aria-label={title}>
        <DataTable<E>
          label={title}
          rows={rows()}
          query={query}
          key={({ id }) => id}
          href={href}
          muted={({ enabled }) => !enabled}
          {...(session.may('tools.update') ? { selection } : {})}
          bulk={(ids, clear) => (
            <BulkBar noun={noun} entities={chosen(ids)} tags={context.tags()} actions={actions} onDone={clear} />
          )}
          columns={[
            {
              id: 'name',
              head: 'Name',
              sort: ({ name }) => name,
              cell: (entity) => (
                <span class="entity-name">
                  <span class="mono long-name" title={entity.name}>
                    <Breakable text={entity.name} />
                  </span>
                  <Show when={entity.name.length <= LINE_OF_NAME && entity.title}>
                    {(title) => <span class="small faint">{title()}</span>}
                  </Show>
                </span>
              ),
            },
            ...props.columns,
            {
              id: 'tags',
              head: 'Tags',
              narrow: 'medium',
              cell: (entity) => (
                <span class="entity-tags" title={entity.tags.join(', ')}>
                  <For each={entity.tags.slice(0, TAGS_SHOWN)}>{(tag) => <span class="tag">{tag}</span>}</For>
                  <Show when={entity.tags.length > TAGS_SHOWN}>
                    <span class="small faint">{`+${entity.tags.length - TAGS_SHOWN}`}</span>
                  </Show>
                </span>
              ),
            },
            {
              id: 'state',
              head: 'State',
              sort: ({ enabled }) => (enabled ? 0 : 1),
              cell: (entity) => (
                <span class="row">
                  <Show when={!entity.enabled}>
                    <Badge>Disabled</Badge>
                  </Show>
                  <Show when={entity.enabled || isServed(liveness(entity))}>
                    <LivenessBadge state={liveness(entity)} />
                  </Show>
                  {props.badges?.(entity)}
                </span>
              ),
            },
            { id: 'updated', head: 'Changed', narrow: 'medium', time: ({ updated_at }) => updated_at },
          ]}
          actions={(entity) => <Menu label={`More for ${entity.name}`} size="small" items={actions.menu(entity, menu(entity))} />}
          empty={
            <Show
              when={filters.active() > 0}
              fallback={
                <EmptyState
                  icon={icon}
                  title={`No ${noun} yet`}
                  action={
                    <>
                      <LinkButton kind="primary" icon="plus" href={`/${noun}/new`}>
                        New {one}
                      </LinkButton>
                      {props.empty_action}
                    </>
                  }
                >
                  {empty_lead}
                </EmptyState>
              }
            >
              <NoResults onClear={() => filters.clear()}>Change the search or the filters.</NoResults>
            </Show>
          }
        />
      </section>
    </Page>
  );
}
