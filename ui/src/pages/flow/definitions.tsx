import { createMemo, createSignal, Match, Show, Switch } from 'solid-js';
import { SegmentedControl } from '#ui/src/components/form/choice.tsx';
import { EmptyState } from '#ui/src/components/empty-state.tsx';
import { FilterBar, FilterSelect } from '#ui/src/components/table/filter-bar.tsx';
import { FlowCanvas } from './flow-canvas.tsx';
import { Link, LinkButton } from '#ui/src/components/link.tsx';
import { Failed } from '#ui/src/components/notice.tsx';
import { SkeletonList } from '#ui/src/components/skeleton.tsx';
import { useQuery } from '#ui/src/components/use-query.ts';
import { drawFlow, type FlowLayout, type FlowPicture } from './flow-graph.ts';
import { keepEqual, type Query } from '#ui/src/kernel/data/query.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { type Kind, KINDS } from '#ui/src/kernel/metrics.ts';
import { createSearchParams, oneOf, text } from '#ui/src/kernel/route/search-params.ts';
import { FlowList } from './flow-list.tsx';
import { TokenCost } from '#ui/src/features/connect/token-cost.tsx';
import { capital, plural } from '#ui/src/kernel/words.ts';
import './flow.css';

const POLL_MS = 15_000;
const KIND_CHOICES = ['all', ...KINDS] as const;

/** Connections, what is built on them, and the server: as a drawing or as a list. */
export function Definitions(props: { layout: Query<FlowLayout>; view: 'graph' | 'list' }) {
  const { router } = useKernel();
  const params = createSearchParams(router, {
    kind: oneOf(KIND_CHOICES),
    connection: text(),
    toolset: text(),
    q: text(),
  });
  const view = () => props.view;
  const memberships = useQuery((read) => read('flow.toolsets', {}));
  const stats = useQuery((read) => read('metrics.stats', { period: '24h' }), { every_ms: POLL_MS });
  const [expanded, setExpanded] = createSignal<ReadonlySet<string>>(new Set());
  const toolset = () => params.get('toolset') || undefined;
  const filter = createMemo(() => {
    const kind = params.get('kind');
    const connection = params.get('connection');
    const kinds: readonly Kind[] = kind === 'all' ? KINDS : [kind];
    return {
      search: params.get('q'),
      kinds,
      connection_id: connection === '' ? undefined : connection,
      toolset: toolset(),
      expanded: view() === 'list' ? ('all' as const) : expanded(),
    };
  });
  const picture = createMemo<FlowPicture | undefined>((before) => {
    const given = props.layout.data();
    return given === undefined
      ? undefined
      : keepEqual(before, drawFlow(given, stats.data(), filter(), memberships.data()?.items));
  });
  /** Whether a search has found anything. */
  const found = () => (picture()?.groups.length ?? 0) > 0;
  const nothing = () => {
    const totals = props.layout.data()?.totals;
    return totals !== undefined && Object.values(totals).every((total) => total === 0);
  };

  return (
    <>
      <FilterBar
        search={{ label: 'Find by name, tag or address', value: params.get('q'), onInput: (q) => params.set({ q }) }}
        active={params.active('q', 'kind', 'connection', 'toolset')}
        onClear={() => params.clear('q', 'kind', 'connection', 'toolset')}
      >
        <FilterSelect
          of={params}
          name="connection"
          label="Connection"
          all="All connections"
          options={(props.layout.data()?.connections ?? []).map(({ id, name }) => ({ value: id, label: name }))}
        />
        <Show when={(memberships.data()?.items.length ?? 0) > 0}>
          <FilterSelect
            of={params}
            name="toolset"
            label="Toolset"
            all="All toolsets"
            options={(memberships.data()?.items ?? []).map(({ name, members }) => ({
              value: name,
              label: name,
              hint: plural(members.length, 'definition'),
            }))}
          />
        </Show>
        <SegmentedControl
          label="Show"
          value={params.get('kind')}
          onChange={(kind) => params.set({ kind })}
          options={KIND_CHOICES.map((value) => ({ value, label: value === 'all' ? 'All' : `${capital(value)}s` }))}
        />
      </FilterBar>
      <Failed of={props.layout} />
      <Show when={memberships.data()?.items.find(({ name }) => name === toolset())}>
        {(shown) => (
          <p class="small">
            <Link href={`/toolsets/${shown().id}`} class="mono">
              {shown().name}
            </Link>{' '}
            <TokenCost toolset={shown().name} />
          </p>
        )}
      </Show>
      <Switch fallback={<SkeletonList rows={6} label="Flow" />}>
        <Match when={nothing()}>
          <EmptyState
            framed
            icon="flow"
            title="Nothing is configured yet"
            action={<LinkButton href="/connections/new">Connect a database</LinkButton>}
          >
            Connect a database and create a tool from one of its tables to see them here.
          </EmptyState>
        </Match>
        <Match when={picture() && !found() && (filter().search !== '' || toolset() !== undefined)}>
          <EmptyState framed title="No results">
            Change the search or the filters.
          </EmptyState>
        </Match>
        <Match when={view() === 'list' && picture()}>{(found) => <FlowList picture={found()} />}</Match>
        <Match when={picture()}>
          {(found) => <FlowCanvas picture={found()} onOpen={(href) => router.navigate(href)} onExpand={setExpanded} />}
        </Match>
      </Switch>
    </>
  );
}
