import { createMemo, createSignal, Match, onMount, Show, Switch } from 'solid-js';
import { SegmentedControl } from '#ui/src/components/choice.tsx';
import { EmptyState } from '#ui/src/components/empty-state.tsx';
import { FilterBar } from '#ui/src/components/filter-bar.tsx';
import { FlowCanvas } from '#ui/src/components/flow-canvas.tsx';
import { LinkButton } from '#ui/src/components/link.tsx';
import { ProblemNotice } from '#ui/src/components/notice.tsx';
import { Page } from '#ui/src/components/page.tsx';
import { Select } from '#ui/src/components/select.tsx';
import { SkeletonList } from '#ui/src/components/skeleton.tsx';
import { useQuery } from '#ui/src/components/use-query.ts';
import { type Dagre, drawFlow, type FlowPicture } from '#ui/src/kernel/flow-graph.ts';
import { keepEqual } from '#ui/src/kernel/query.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { type Kind, KINDS } from '#ui/src/kernel/metrics.ts';
import { choice, createSearchParams, oneOf, text } from '#ui/src/kernel/search-params.ts';
import { FlowList } from './flow-list.tsx';
import { KINDS_WORDS, WORDS } from './words.ts';
import './flow.css';

const POLL_MS = 15_000;
const KIND_CHOICES = ['all', ...KINDS] as const;

/** Connections, what is built on them, and the server: as a drawing or as a list. */
export function Flow() {
  const { call, router } = useKernel();
  const params = createSearchParams(router, {
    view: choice(['graph', 'list']),
    kind: oneOf(KIND_CHOICES),
    connection: text(),
    q: text(),
  });
  // A drawing needs room: on a phone the list is what can be read.
  const small = window.matchMedia('(width < 40rem)').matches;
  const view = () => params.get('view') ?? (small ? 'list' : 'graph');
  const layout = useQuery((signal) => call('flow.layout', {}, signal), { every_ms: POLL_MS });
  const stats = useQuery((signal) => call('metrics.stats', { period: '24h' }, signal), { every_ms: POLL_MS });
  const [dagre, setDagre] = createSignal<Dagre>();
  onMount(() => void import('@dagrejs/dagre').then((loaded) => setDagre(() => loaded)));
  const filter = createMemo(() => {
    const kind = params.get('kind');
    const connection = params.get('connection');
    const kinds: readonly Kind[] = kind === 'all' ? KINDS : [kind];
    return { search: params.get('q'), kinds, connection_id: connection === '' ? undefined : connection };
  });
  const picture = createMemo<FlowPicture | undefined>((before) => {
    const [given, loaded] = [layout.data(), dagre()];
    if (given === undefined || loaded === undefined) return undefined;
    return keepEqual(before, drawFlow(given, stats.data(), filter(), loaded));
  });
  const entities = () => (picture()?.nodes ?? []).filter(({ kind }) => kind !== 'connection' && kind !== 'server');
  const nothing = () => {
    const totals = layout.data()?.totals;
    return totals !== undefined && Object.values(totals).every((total) => total === 0);
  };

  return (
    <Page
      title={WORDS.title}
      lead={WORDS.lead}
      width="full"
      actions={
        <SegmentedControl
          label={WORDS.view}
          value={view()}
          onChange={(view) => params.set({ view })}
          options={[
            { value: 'graph', label: WORDS.graph, icon: 'flow' },
            { value: 'list', label: WORDS.list, icon: 'list' },
          ]}
        />
      }
    >
      <FilterBar
        search={{ label: WORDS.search, value: params.get('q'), onInput: (q) => params.set({ q }) }}
        active={params.active('q', 'kind', 'connection')}
        onClear={() => params.clear('q', 'kind', 'connection')}
      >
        <Select
          label={WORDS.connection}
          hide_label
          value={params.get('connection') === '' ? 'all' : params.get('connection')}
          onChange={(connection) => params.set({ connection: connection === 'all' ? '' : connection })}
          options={[
            { value: 'all', label: WORDS.every_connection },
            ...(layout.data()?.connections ?? []).map(({ id, name }) => ({ value: id, label: name })),
          ]}
        />
        <SegmentedControl
          label={WORDS.kinds}
          value={params.get('kind')}
          onChange={(kind) => params.set({ kind })}
          options={KIND_CHOICES.map((value) => ({ value, label: value === 'all' ? 'All' : KINDS_WORDS[value] }))}
        />
      </FilterBar>
      <Show when={layout.problem()}>
        {(problem) => <ProblemNotice problem={problem()} onRetry={() => void layout.reload()} />}
      </Show>
      <Switch fallback={<SkeletonList rows={6} label={WORDS.title} />}>
        <Match when={nothing()}>
          <div class="panel">
            <EmptyState icon="flow" title={WORDS.empty} action={<LinkButton href="/connections/new">{WORDS.connect}</LinkButton>}>
              {WORDS.empty_text}
            </EmptyState>
          </div>
        </Match>
        <Match when={picture() && entities().length === 0 && filter().search !== ''}>
          <div class="panel">
            <EmptyState title={WORDS.nothing}>{WORDS.nothing_text}</EmptyState>
          </div>
        </Match>
        <Match when={view() === 'list' && picture()}>{(found) => <FlowList picture={found()} />}</Match>
        <Match when={picture()}>
          {(found) => <FlowCanvas picture={found()} words={WORDS} kinds={KINDS_WORDS} onOpen={(href) => router.navigate(href)} />}
        </Match>
      </Switch>
    </Page>
  );
}
