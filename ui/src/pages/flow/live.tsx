import { createMemo, createSignal, Match, Show, Switch, untrack } from 'solid-js';
import { StatusDot } from '#ui/src/components/badge.tsx';
import { EmptyState } from '#ui/src/components/empty-state.tsx';
import { SegmentedControl } from '#ui/src/components/form/choice.tsx';
import { LinkButton } from '#ui/src/components/link.tsx';
import { Notice, ProblemNotice } from '#ui/src/components/notice.tsx';
import { Ago } from '#ui/src/components/time.tsx';
import { usePoll, useQuery } from '#ui/src/components/use-query.ts';
import { keepEqual } from '#ui/src/kernel/data/query.ts';
import { hourTime } from '#ui/src/kernel/dates.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { callsHref, UNNAMED_CLIENT } from '#ui/src/kernel/metrics.ts';
import { count, percent } from '#ui/src/kernel/numbers.ts';
import { createSearchParams, text } from '#ui/src/kernel/route/search-params.ts';
import { duration } from '#ui/src/kernel/words.ts';
import { LiveGraph } from './live-graph.tsx';
import { LiveList } from './live-list.tsx';
import { definitionsOf, drawPicture, type FlowLayout, numbersOf, type Picture } from './picture.ts';
import { Timeline } from './timeline.tsx';
import { addAnswer, type Hour, type Moment, type Pair, pairsOf, shownAt } from './traffic.ts';
import { ALL_CLIENTS, OTHER_CLIENTS } from './words.ts';
const CURRENT_MS = 2_000;
const MINUTE_MS = 60_000;
/** What a host tells late belongs to a minute before the running one. */
const LATE_MS = 2 * MINUTE_MS;

/**
 * The calls between clients, tools and databases: now, in a minute of the last hour, or in all of it. Without calls the drawing has every
 * definition.
 */
export function Live(props: { layout: FlowLayout; first: Hour; view: 'graph' | 'list' }) {
  const { router } = useKernel();
  const params = createSearchParams(router, { at: text() });
  const [hour, setHour] = createSignal<Hour>(untrack(() => props.first));
  const [expanded, setExpanded] = createSignal<ReadonlySet<string>>(new Set());
  const [width, setWidth] = createSignal(0);
  const traffic = useQuery(async (read) => {
    const last = Math.floor(Date.parse(hour().until) / MINUTE_MS) * MINUTE_MS;
    const answer = await read('flow.traffic', { since: new Date(last - LATE_MS).toISOString() });
    setHour((before) => addAnswer(before, answer));
    return answer;
  });
  // Calls of the last minute become calls of an earlier one, without any change.
  usePoll(async () => {
    if ((hour().now?.calls ?? 0) > 0) await traffic.reload();
  }, CURRENT_MS);
  const at = createMemo(() => shownAt(params.get('at'), hour().until));
  const queues = useQuery(async (read) => (await read('queue.metrics', {})).connections);
  const status = useQuery((read) => read('deploy.status', {}));
  const deploys = useQuery((read) => read('snapshots.list', { limit: 20 }));
  const whole = useQuery(
    async (read) => (at() === 'hour' ? addAnswer(undefined, await read('flow.traffic', { interval_seconds: 3_600 })) : undefined),
    { watch: at },
  );

  const pairs = createMemo<Pair[]>((before) => keepEqual(before, pairsOf(hour())), []);
  const isQuiet = createMemo(() => hour().moments.size === 0 && !hour().now?.calls);
  const pages = createMemo(() => definitionsOf(props.layout));
  /** Only who called what, so that more calls alone draw nothing anew. */
  const shape = createMemo(() =>
    pairs()
      .map(({ client, definition }) => `${client}\n${definition}`)
      .toSorted()
      .join('\n\n'),
  );
  const picture = createMemo<Picture>((before) => {
    shape();
    const { definitions } = hour();
    const next = drawPicture({ layout: props.layout, definitions, pairs: pairs(), expanded: expanded(), width: width() });
    return { ...next, boxes: keepEqual(before?.boxes, next.boxes), edges: keepEqual(before?.edges, next.edges) };
  });
  const moment = createMemo<Moment | undefined>(() => {
    if (at() === '') return hour().now;
    if (at() === 'hour') return [...(whole.data()?.moments.values() ?? [])][0];
    return hour().moments.get(at());
  });
  const hours = createMemo(() => numbersOf(picture(), { pairs: pairs(), p95: new Map() }, hour().definitions));
  /** The hour is read only when somebody wants it; until then its minutes are what is known of it. */
  const isKnown = () => at() !== 'hour' || whole.data() !== undefined;
  const numbers = createMemo(() => (isKnown() ? numbersOf(picture(), moment(), hour().definitions) : hours()));
  const seconds = () => moment()?.seconds ?? (at() === 'hour' ? 3_600 : 60);
  const known = (text: string) => (isKnown() ? text : '–');
  /** Nothing was called: there is no rate and no duration. */
  const ofCalls = (format: (shown: Moment) => string): string => {
    const shown = moment();
    return shown === undefined || shown.calls === 0 ? '–' : format(shown);
  };
  const span = () => {
    if (at() === '') return { from: hour().now?.timestamp ?? hour().until, until: hour().until };
    if (at() === 'hour') return { from: new Date(Date.parse(hour().until) - 60 * MINUTE_MS).toISOString(), until: hour().until };
    return { from: at(), until: new Date(Date.parse(at()) + MINUTE_MS).toISOString() };
  };
  const filtersOf = (id: string): Readonly<Record<string, string>> => {
    const box = picture().boxes.find((one) => one.id === id);
    if (box === undefined) return {};
    const connection: Readonly<Record<string, string>> = box.connection_id === null ? {} : { connection: box.connection_id };
    if (box.kind === 'client') return box.name === ALL_CLIENTS ? {} : { client: box.name === '' ? UNNAMED_CLIENT : box.name };
    return box.definition === undefined ? connection : { ...connection, kind: box.definition.kind, name: box.definition.name };
  };
  const hrefOf = (id: string) => {
    if (isQuiet()) {
      const connection_id = picture().boxes.find((box) => box.id === id && box.kind === 'connection')?.connection_id;
      return pages().get(id)?.href ?? (typeof connection_id === 'string' ? `/connections/${connection_id}` : undefined);
    }
    const [from = '', to] = id.split('\n');
    // No filter of the log means many clients.
    if (picture().boxes.some((box) => box.id === from && box.kind === 'client' && box.name === OTHER_CLIENTS)) return undefined;
    return callsHref({ ...(to === undefined ? {} : filtersOf(to)), ...filtersOf(from), ...span() });
  };
  const toggle = (id: string) =>
    setExpanded((before) => new Set(before.has(id) ? [...before].filter((other) => other !== id) : [...before, id]));
  const is_hostless = () => status.data()?.hosts.length === 0;
  const offline = () => is_hostless() || traffic.problem() !== undefined;
  const readAgain = () => void Promise.all([traffic.reload(), whole.reload()]);

  return (
    <>
      <Show when={traffic.problem() ?? (at() === 'hour' ? whole.problem() : undefined)}>
        {(problem) => <ProblemNotice problem={problem()} onRetry={readAgain} />}
      </Show>
      <Show when={is_hostless()}>
        <Notice tone="warning">Not connected to a host. This is the last data it sent.</Notice>
      </Show>
      <Show when={!isQuiet() || pages().size > 0} fallback={<NoDefinitions />}>
        <section class="panel live" aria-label="Live flow">
          <Show when={!isQuiet()} fallback={<Quiet last={hour().last_called_at} />}>
            <div class="live-head">
              <Switch>
                <Match when={at() === ''}>
                  <StatusDot tone={offline() ? 'plain' : 'good'} pulse={!offline()} label="Last minute" />
                </Match>
                <Match when={at() === 'hour'}>
                  <StatusDot tone="plain" label="Last hour" />
                </Match>
                <Match when={true}>
                  <StatusDot
                    tone="info"
                    label={`${hourTime(new Date(at()))} to ${hourTime(new Date(Date.parse(at()) + MINUTE_MS))}`}
                  />
                </Match>
              </Switch>
              <dl class="live-sums num">
                <div>
                  <dt>Calls</dt>
                  <dd>{known(count(moment()?.calls ?? 0))}</dd>
                </div>
                <div data-bad={(moment()?.errors ?? 0) > 0 ? 'true' : undefined}>
                  <dt>Failed</dt>
                  <dd>{known(ofCalls(({ calls, errors }) => percent(errors / calls)))}</dd>
                </div>
                <div>
                  <dt>p95</dt>
                  <dd>{known(ofCalls(({ p95_ms }) => duration(p95_ms)))}</dd>
                </div>
                <Show when={at() === ''}>
                  <div>
                    <dt>Waiting</dt>
                    <dd>{count(Object.values(queues.data() ?? {}).reduce((sum, { waiting }) => sum + waiting, 0))}</dd>
                  </div>
                </Show>
              </dl>
              <SegmentedControl
                label="Time"
                value={at() === 'hour' ? 'hour' : 'minute'}
                onChange={(value) => params.set({ at: value === 'hour' ? 'hour' : '' })}
                options={[
                  { value: 'minute' as const, label: 'Minute' },
                  { value: 'hour' as const, label: 'Hour' },
                ]}
              />
            </div>
          </Show>
          <Show
            when={props.view === 'graph'}
            fallback={<LiveList picture={picture()} numbers={numbers()} hour={hours()} hrefOf={hrefOf} onToggle={toggle} />}
          >
            <LiveGraph
              picture={picture()}
              numbers={numbers()}
              hour={hours()}
              seconds={seconds()}
              moves={at() === '' && !offline()}
              queues={at() === '' ? (queues.data() ?? {}) : {}}
              hrefOf={hrefOf}
              onToggle={toggle}
              onWidth={setWidth}
            />
          </Show>
          <Show when={!isQuiet()}>
            <Timeline
              hour={hour()}
              deploys={deploys.data()?.items ?? []}
              at={at() === '' || at() === 'hour' ? undefined : at()}
              onMove={(to) => params.set({ at: to ?? '' })}
            />
          </Show>
          <Show when={props.view === 'graph'}>
            <p class="live-legend faint small">
              {isQuiet()
                ? 'Every definition with its connection. Select one to open it, or a group to expand it.'
                : 'Thicker lines mean more calls; red means failures. Select a line, tool or client to see its calls, or a group to expand it.'}
            </p>
          </Show>
        </section>
      </Show>
    </>
  );
}

/** The head of the drawing while nothing is called. */
function Quiet(props: { last: string | null }) {
  return (
    <div class="live-head">
      <StatusDot tone="plain" label="No calls in the last hour" />
      <p class="live-sums soft small">
        <Show when={props.last} fallback="New calls appear here within seconds.">
          {(last) => (
            <span>
              The last call was <Ago iso={last()} />. New calls appear here within seconds.
            </span>
          )}
        </Show>
      </p>
      <LinkButton href="/access" size="small">
        Connect a client
      </LinkButton>
      <LinkButton href="/playground" kind="quiet" size="small">
        Open the playground
      </LinkButton>
    </div>
  );
}

function NoDefinitions() {
  return (
    <EmptyState
      framed
      icon="flow"
      title="No definitions yet"
      action={
        <LinkButton href="/connections/new" kind="primary">
          Connect a database
        </LinkButton>
      }
    >
      Connect a database and create a tool from one of its tables. This page then shows its calls.
    </EmptyState>
  );
}
