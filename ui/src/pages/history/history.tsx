import { createMemo, createSignal, For, Match, onCleanup, Show, Switch } from 'solid-js';
import { Action, EntityType, type HistoryEntry } from '#core/contract/history.ts';
import { Badge, type Tone } from '#ui/src/components/badge.tsx';
import { Button } from '#ui/src/components/button.tsx';
import { Combobox } from '#ui/src/components/combobox.tsx';
import { EmptyState } from '#ui/src/components/empty-state.tsx';
import { FilterBar } from '#ui/src/components/filter-bar.tsx';
import { Icon, type IconName } from '#ui/src/components/icon.tsx';
import { LoadMore } from '#ui/src/components/load-more.tsx';
import { ProblemNotice } from '#ui/src/components/notice.tsx';
import { Page } from '#ui/src/components/page.tsx';
import { Select } from '#ui/src/components/select.tsx';
import { SkeletonList } from '#ui/src/components/skeleton.tsx';
import { usePages } from './use-pages.ts';
import { FIELD_LABELS } from '#ui/src/kernel/deploy-changes.ts';
import { ACTION_WORDS, byDay, dayName, type Deed, TYPE_WORDS } from '#ui/src/kernel/history-log.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { choice, createSearchParams, text } from '#ui/src/kernel/search-params.ts';
import { EntryDrawer } from './entry-drawer.tsx';
import { RollbackDialog } from './rollback-dialog.tsx';
import { WORDS } from './words.ts';
import './history.css';

const TONES: Readonly<Record<HistoryEntry['action'], Tone>> = {
  create: 'good',
  update: 'water',
  delete: 'bad',
  rollback: 'brass',
  import: 'water',
  deploy: 'good',
  blocked: 'bad',
};
const ICONS: Readonly<Record<HistoryEntry['entity_type'], IconName>> = {
  connection: 'database',
  tool: 'tool',
  resource: 'file',
  prompt: 'message',
  server_config: 'sliders',
  mcp_token: 'key',
  agent_token: 'key',
  oauth_client: 'key',
  admin: 'user',
  snapshot: 'rocket',
};
const capital = (word: string) => word.charAt(0).toUpperCase() + word.slice(1);
const TYPES = [
  { value: 'all', label: WORDS.every_type },
  ...EntityType.options.map((value) => ({ value, label: capital(TYPE_WORDS[value]) })),
] as const;
const ACTIONS = [
  { value: 'all', label: WORDS.every_action },
  ...Action.options.map((value) => ({ value, label: capital(ACTION_WORDS[value]) })),
] as const;

/** Every change, day by day. */
export function History() {
  const { call, router, commands } = useKernel();
  const filters = createSearchParams(router, {
    q: text(),
    type: choice(EntityType.options),
    action: choice(Action.options),
    actor: text(),
    id: text(),
    entry: text(),
  });
  const [rolling, setRolling] = createSignal<Deed>();
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
  const shown = createMemo(() =>
    days()
      .flatMap(({ deeds }) => deeds)
      .find(({ main, others }) => [main, ...others].some(({ id }) => id === filters.get('entry'))),
  );
  const actors = createMemo(() => [...new Set((pages.items() ?? []).map(({ actor }) => actor.name))].toSorted());
  const filtered = () => filters.active('q', 'type', 'action', 'actor', 'id');
  const clear = () => filters.clear('q', 'type', 'action', 'actor', 'id');
  onCleanup(
    commands.register([
      { id: 'find-change', title: WORDS.search, group: 'This page', key: '/', run: () => search?.focus() },
      {
        id: 'blocked-changes',
        title: 'Show refused changes',
        group: 'This page',
        run: () => filters.set({ action: 'blocked' }),
      },
    ]),
  );

  return (
    <Page title={WORDS.title} lead={WORDS.lead}>
      <FilterBar
        search={{
          label: WORDS.search,
          value: filters.get('q'),
          onInput: (q) => filters.set({ q }),
          ref: (own) => (search = own),
        }}
        active={filtered()}
        onClear={clear}
      >
        <Select
          label={WORDS.type}
          hide_label
          size="small"
          options={TYPES}
          value={filters.get('type') ?? 'all'}
          onChange={(type) => filters.set({ type: type === 'all' ? undefined : type })}
        />
        <Select
          label={WORDS.action}
          hide_label
          size="small"
          options={ACTIONS}
          value={filters.get('action') ?? 'all'}
          onChange={(action) => filters.set({ action: action === 'all' ? undefined : action })}
        />
        <Combobox
          label={WORDS.actor}
          hide_label
          size="small"
          free
          placeholder={WORDS.everyone}
          options={actors().map((name) => ({ value: name, label: name }))}
          value={filters.get('actor') || undefined}
          onChange={(actor) => filters.set({ actor: actor ?? '' })}
        />
        <Show when={filters.get('id') !== ''}>
          <Button size="small" icon="close" onPress={() => filters.clear('id')}>
            {WORDS.entity}
          </Button>
        </Show>
      </FilterBar>
      <Switch>
        <Match when={pages.problem()}>
          {(problem) => <ProblemNotice problem={problem()} onRetry={() => void pages.reload()} />}
        </Match>
        <Match when={pages.items() === undefined}>
          <div class="panel">
            <SkeletonList rows={6} label="Reading the history" />
          </div>
        </Match>
        <Match when={pages.items()?.length === 0}>
          <div class="panel">
            <Show
              when={filtered() > 0}
              fallback={
                <EmptyState icon="history" title={WORDS.empty_title}>
                  <p>{WORDS.empty}</p>
                </EmptyState>
              }
            >
              <EmptyState icon="search" title={WORDS.none_title} action={<Button onPress={clear}>{WORDS.clear}</Button>} />
            </Show>
          </div>
        </Match>
        <Match when={pages.items()}>
          {(items) => (
            <div class="timeline">
              <For each={days()}>
                {(day) => (
                  <section aria-label={dayName(day.date, Date.now())}>
                    <h2 class="timeline-day">{dayName(day.date, Date.now())}</h2>
                    <ol class="panel timeline-list">
                      <For each={day.deeds}>
                        {(deed) => <Row deed={deed} onOpen={() => filters.set({ entry: deed.main.id })} />}
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
      <EntryDrawer
        deed={shown()}
        onClose={() => filters.clear('entry')}
        onOnly={(entry) => filters.set({ id: entry.entity_id, entry: '' })}
        onRollback={setRolling}
      />
      <RollbackDialog
        deed={rolling()}
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

function Row(props: { deed: Deed; onOpen: () => void }) {
  const main = () => props.deed.main;
  const fields = () => Object.keys(main().changes);
  return (
    <li class="deed">
      <span class="deed-icon">
        <Icon name={ICONS[main().entity_type]} />
      </span>
      <div class="deed-words">
        <button type="button" class="deed-open" onClick={() => props.onOpen()}>
          <span class="mono">{main().entity_name || '–'}</span>
          <Show when={props.deed.others.length > 0}>
            <span class="deed-more"> {WORDS.and_others(props.deed.others.length)}</span>
          </Show>
        </button>
        <span class="small faint truncate">
          {TYPE_WORDS[main().entity_type]}
          <Show when={main().action === 'update' && fields().length > 0}>
            {' · '}
            {fields()
              .slice(0, 4)
              .map((name) => FIELD_LABELS[name] ?? name)
              .join(', ')}
          </Show>
        </span>
      </div>
      <Badge tone={TONES[main().action]}>{ACTION_WORDS[main().action]}</Badge>
      <span class="deed-end small faint">
        <span class="truncate">{main().actor.name}</span>
        <time class="num" datetime={main().created_at} title={new Date(main().created_at).toLocaleString()}>
          {new Date(main().created_at).toLocaleTimeString('en', { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' })}
        </time>
      </span>
    </li>
  );
}
