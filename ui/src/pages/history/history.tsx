import { optionsOf } from '#ui/src/fields/kind.ts';
import { plural } from '#ui/src/kernel/words.ts';
import { createMemo, createSignal, For, Match, Show, Switch } from 'solid-js';
import { Action, ACTION_CHOICES, EntityType, type HistoryEntry, RECORD_CHOICES } from '#core/contract/history.ts';
import { Breakable } from '#ui/src/components/show/breakable.tsx';
import { Badge, type Tone } from '#ui/src/components/badge.tsx';
import { Button } from '#ui/src/components/button.tsx';
import { FilterCombobox } from '#ui/src/components/form/combobox.tsx';
import { EmptyState, NoResults } from '#ui/src/components/empty-state.tsx';
import { FilterBar, FilterSelect } from '#ui/src/components/table/filter-bar.tsx';
import { Icon, type IconName } from '#ui/src/components/icon.tsx';
import { LoadMore } from '#ui/src/components/table/load-more.tsx';
import { Failed, Notice } from '#ui/src/components/notice.tsx';
import { Aging } from '#ui/src/components/show/aging.tsx';
import { Page } from '#ui/src/components/page.tsx';
import { SkeletonList } from '#ui/src/components/skeleton.tsx';
import { useQuery } from '#ui/src/components/use-query.ts';
import { usePages } from '#ui/src/components/use-pages.ts';
import { inFormOrder, infoOf } from '#ui/src/fields/differences/field-info.ts';
import { actionWord, recordName, typeWord } from '#ui/src/kernel/record-words.ts';
import { Sentence } from '#ui/src/components/show/sentence.tsx';
import { byDay, byOf, dayName, type HistoryAction } from './history-log.ts';
import { exactTime, hourTime } from '#ui/src/kernel/dates.ts';
import { useCommands, useKernel } from '#ui/src/kernel/kernel.ts';
import { choice, createSearchParams, text } from '#ui/src/kernel/route/search-params.ts';
import { EntryDrawer } from './entry-drawer.tsx';
import { RollbackDialog } from './rollback-dialog.tsx';
import './history.css';

const TONES: Readonly<Record<HistoryEntry['action'], Tone>> = {
  create: 'good',
  update: 'info',
  delete: 'bad',
  rollback: 'warning',
  import: 'info',
  deploy: 'good',
  blocked: 'bad',
};
const ICONS: Readonly<Record<HistoryEntry['entity_type'], IconName>> = {
  connection: 'database',
  tool: 'tool',
  resource: 'file',
  prompt: 'message',
  toolset: 'filter',
  test: 'check',
  server_config: 'sliders',
  mcp_token: 'key',
  agent_token: 'key',
  oauth_client: 'key',
  identity_provider: 'shield',
  oauth_app: 'key',
  grant: 'link',
  signing_key: 'shield',
  notice: 'alert',
  admin: 'user',
  snapshot: 'rocket',
  file: 'file',
};
const TYPES = optionsOf(RECORD_CHOICES);
const ACTIONS = optionsOf(ACTION_CHOICES);

/** Every change, day by day. */
export function History() {
  const { call, router } = useKernel();
  const filters = createSearchParams(router, {
    q: text(),
    type: choice(EntityType.options),
    action: choice(Action.options),
    actor: text(),
    id: text(),
    entry: text(),
  });
  const [rolling, setRolling] = createSignal<HistoryAction>();
  let search: HTMLInputElement | undefined;

  const pages = usePages(
    (skip, limit, signal) => {
      const [q, type, action, actor, id] = (['q', 'type', 'action', 'actor', 'id'] as const).map((name) => filters.get(name));
      return call(
        'history.list',
        {
          skip,
          limit,
          ...(q ? { search: q } : {}),
          ...(actor ? { actor } : {}),
          ...(id ? { entity_id: id } : {}),
          ...(type === undefined ? {} : { entity_type: filters.get('type') }),
          ...(action === undefined ? {} : { action: filters.get('action') }),
        },
        signal,
      );
    },
    () => (['q', 'type', 'action', 'actor', 'id'] as const).map((name) => filters.get(name)),
  );
  const days = createMemo(() => byDay(pages.items() ?? []));
  const listed = createMemo(() =>
    days()
      .flatMap(({ actions }) => actions)
      .find(({ main, others }) => [main, ...others].some(({ id }) => id === filters.get('entry'))),
  );
  /** A link to an entry that is not on the pages shown: an older one, or one that the filters leave out. */
  const missing = () => (pages.items() !== undefined && listed() === undefined ? filters.get('entry') : '');
  const linked = useQuery(
    async (read) => (missing() === '' ? [] : (await read('history.list', { history_id: missing() })).items),
    {
      watch: missing,
    },
  );
  const shown = createMemo(() => listed() ?? (missing() === '' ? undefined : byDay(linked.data() ?? [])[0]?.actions[0]));
  const actors = createMemo(() => [...new Set((pages.items() ?? []).map(({ actor }) => actor.name))].toSorted());
  const filtered = () => filters.active('q', 'type', 'action', 'actor', 'id');
  const clear = () => filters.clear('q', 'type', 'action', 'actor', 'id');
  useCommands([
    { id: 'find-change', title: 'Search by name', group: 'This page', key: '/', run: () => search?.focus() },
    {
      id: 'blocked-changes',
      title: 'Show refused changes',
      group: 'This page',
      run: () => filters.set({ action: 'blocked' }),
    },
  ]);

  return (
    <Page title="History" lead="Every change, with who made it and from where. Select one to see it and to roll it back.">
      <FilterBar
        search={{
          label: 'Search by name',
          value: filters.get('q'),
          onInput: (q) => filters.set({ q }),
          ref: (input) => (search = input),
        }}
        active={filtered()}
        onClear={clear}
      >
        <FilterSelect of={filters} name="type" label="Type" all="All types" options={TYPES} />
        <FilterSelect of={filters} name="action" label="Action" all="All actions" options={ACTIONS} />
        <FilterCombobox
          of={filters}
          name="actor"
          label="By"
          all="Everyone"
          free
          options={actors().map((name) => ({ value: name, label: name }))}
        />
        <Show when={filters.get('id') !== ''}>
          <Button size="small" icon="close" onPress={() => filters.clear('id')}>
            Changes of one record
          </Button>
        </Show>
      </FilterBar>
      <Failed of={pages} />
      <Failed of={linked} />
      <Show when={missing() !== '' && linked.data()?.length === 0 && !linked.stale()}>
        <Notice
          live
          action={
            <Button size="small" onPress={() => filters.clear('entry')}>
              Close
            </Button>
          }
        >
          The entry of this link is no longer in the history, or you don’t have access to it.
        </Notice>
      </Show>
      <Aging of={pages}>
        <Switch>
          <Match when={pages.items() === undefined && pages.problem() !== undefined}>{null}</Match>
          <Match when={pages.items() === undefined}>
            <div class="panel">
              <SkeletonList rows={6} label="Loading the history" />
            </div>
          </Match>
          <Match when={pages.items()?.length === 0}>
            <div class="panel">
              <Show
                when={filtered() > 0}
                fallback={
                  <EmptyState icon="history" title="No changes yet">
                    <p>Changes made by people and agents are listed here.</p>
                  </EmptyState>
                }
              >
                <NoResults onClear={clear} />
              </Show>
            </div>
          </Match>
          <Match when={pages.items()}>
            {(items) => (
              <div class="stack timeline" data-gap="5">
                <For each={days()}>
                  {(day) => (
                    <section aria-label={dayName(day.date, Date.now())}>
                      <h2 class="timeline-day">{dayName(day.date, Date.now())}</h2>
                      <ol class="panel">
                        <For each={day.actions}>
                          {(action) => <Row action={action} onOpen={() => filters.set({ entry: action.main.id })} />}
                        </For>
                      </ol>
                    </section>
                  )}
                </For>
                <LoadMore
                  shown={items().length}
                  total={pages.total() ?? items().length}
                  busy={pages.pending()}
                  onMore={() => void pages.more()}
                />
              </div>
            )}
          </Match>
        </Switch>
      </Aging>
      <EntryDrawer
        action={shown()}
        onClose={() => filters.clear('entry')}
        onOnly={(entry) => filters.set({ id: entry.entity_id, entry: '' })}
        onRollback={setRolling}
      />
      <RollbackDialog
        action={rolling()}
        onClose={() => setRolling(undefined)}
        onDone={() => {
          setRolling(undefined);
          filters.clear('entry');
          void pages.reload();
        }}
      />
    </Page>
  );
}

function Row(props: { action: HistoryAction; onOpen: () => void }) {
  const main = () => props.action.main;
  const fields = () => Object.keys(main().changes);
  return (
    <li class="history-action">
      <span class="history-action-icon">
        <Icon name={ICONS[main().entity_type]} />
      </span>
      <div class="lines">
        <button type="button" class="history-action-open" onClick={() => props.onOpen()}>
          <span class="mono">
            <Breakable text={recordName(main()) || '–'} />
          </span>
          <Show when={props.action.others.length > 0}>
            <span class="history-action-more"> {`and ${plural(props.action.others.length, 'other')}`}</span>
          </Show>
        </button>
        <span class="small faint truncate">
          {typeWord(main().entity_type)}
          <Show when={main().action === 'update' && fields().length > 0}>
            {' · '}
            {inFormOrder(main().entity_type, fields())
              .slice(0, 4)
              .map((name) => infoOf(main().entity_type, name).label)
              .join(', ')}
          </Show>
        </span>
      </div>
      <Badge tone={TONES[main().action]}>{actionWord(main().action)}</Badge>
      <span class="history-action-end small faint">
        <span class="truncate">
          <Sentence>{byOf(main().actor)}</Sentence>
        </span>
        <time class="num" datetime={main().created_at} title={exactTime(main().created_at)}>
          {hourTime(new Date(main().created_at))}
        </time>
        <Icon name="right" size={14} />
      </span>
    </li>
  );
}
