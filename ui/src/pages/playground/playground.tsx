import { createEffect, createMemo, createSignal, For, Match, on, onCleanup, Show, Switch } from 'solid-js';
import { SegmentedControl } from '#ui/src/components/choice.tsx';
import { EmptyState } from '#ui/src/components/empty-state.tsx';
import { LinkButton } from '#ui/src/components/link.tsx';
import { Button } from '#ui/src/components/button.tsx';
import { Notice, ProblemNotice } from '#ui/src/components/notice.tsx';
import { Page } from '#ui/src/components/page.tsx';
import { Panel } from '#ui/src/components/panel.tsx';
import { Select } from '#ui/src/components/select.tsx';
import { SkeletonList } from '#ui/src/components/skeleton.tsx';
import { useQuery } from '#ui/src/components/use-query.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { ERAS } from '#ui/src/kernel/playground-client.ts';
import { createPlayground, type Offer, type Playground as State } from '#ui/src/kernel/playground.ts';
import { CallForm } from './call-form.tsx';
import { History } from './history.tsx';
import { OfferList } from './offer-list.tsx';
import { ResultPanel } from './result-panel.tsx';
import { TokenPanel } from './token-panel.tsx';
import { ERA_HINTS, ERA_WORDS, WORDS } from './words.ts';
import './playground.css';

const POLL_MS = 5_000;
const LINKED = ['tool', 'resource', 'prompt'] as const;

/** Calls tools, resources and prompts through the deployed MCP endpoint. */
export function Playground() {
  const { call, router } = useKernel();
  const state = createPlayground({
    // The next call of the REST API finds out that the session is over, and says so.
    onSessionEnd: () => void call('deploy.status', {}).catch(() => undefined),
  });
  const status = useQuery((signal) => call('deploy.status', {}, signal), { every_ms: POLL_MS });
  onCleanup(() => void state.close());
  // Another version offers other things, as soon as a host has it.
  const versions = createMemo(() =>
    status
      .data()
      ?.hosts.map(({ id, snapshot_version }) => `${id} ${snapshot_version}`)
      .join(),
  );
  const serves = () => status.data()?.hosts.some(({ snapshot_version }) => snapshot_version !== null);
  createEffect(
    on(versions, () => {
      if (serves()) void state.load();
    }),
  );

  const chosen = createMemo(() => offerOf(state.offers() ?? [], router.query()));
  const wanted = () => LINKED.map((noun) => router.query().get(noun)).find((name) => name !== null) ?? undefined;
  const hosts = () => status.data()?.hosts.filter(({ url }) => url !== null) ?? [];
  const choose = (offer: Offer) => {
    const noun = offer.noun === 'template' ? 'resource' : offer.noun;
    router.navigate(`/playground?${new URLSearchParams({ [noun]: offer.name })}`, { replace: true });
  };

  return (
    <Page
      title={WORDS.title}
      lead={WORDS.lead}
      width="full"
      actions={
        <div class="play-options">
          <Show when={hosts().length > 1}>
            <Select
              label={WORDS.host}
              hide_label
              value={state.host() ?? 'any'}
              onChange={(host) => state.setHost(host === 'any' ? undefined : host)}
              options={[{ value: 'any', label: WORDS.any_host }, ...hosts().map(({ id }) => ({ value: id, label: id }))]}
            />
          </Show>
          <p class="small faint">{ERA_HINTS[state.era()]}</p>
          <SegmentedControl
            label={WORDS.era}
            value={state.era()}
            onChange={state.setEra}
            options={ERAS.map((value) => ({ value, label: ERA_WORDS[value] }))}
          />
        </div>
      }
    >
      <Show when={state.refusal()?.reason === 'unauthorized' || state.token() !== ''}>
        <TokenPanel state={state} />
      </Show>
      <Show when={state.refusal() && state.refusal()?.reason !== 'unauthorized' ? state.refusal() : undefined}>
        {(refusal) => (
          <Notice
            tone="bad"
            live
            title={WORDS.unreachable}
            action={
              <Button size="small" onPress={() => void state.load()}>
                {WORDS.retry}
              </Button>
            }
          >
            <p>{refusal().detail}</p>
          </Notice>
        )}
      </Show>
      <Switch>
        <Match when={status.data() === undefined && status.problem()}>
          {(problem) => <ProblemNotice problem={problem()} onRetry={() => void status.reload()} />}
        </Match>
        <Match when={serves() === false || state.offers()?.length === 0}>
          <div class="panel">
            <EmptyState icon="play" title={WORDS.nothing} action={<LinkButton href="/deploy">{WORDS.to_deploy}</LinkButton>}>
              {WORDS.nothing_text}
            </EmptyState>
          </div>
        </Match>
        <Match when={state.offers()}>
          {(offers) => (
            <div class="play">
              <div class="play-side">
                <OfferList offers={offers()} current={chosen()?.key} onChoose={choose} />
                <div class="play-history">
                  <History state={state} onAgain={(run) => choose(run.offer)} />
                </div>
              </div>
              <div class="play-main">
                <Show when={chosen()} keyed fallback={<NotChosen wanted={wanted()} />}>
                  {(offer) => <Bench state={state} offer={offer} />}
                </Show>
              </div>
            </div>
          )}
        </Match>
        <Match when={serves() === undefined || state.loading()}>
          <SkeletonList rows={5} label={WORDS.loading} />
        </Match>
      </Switch>
    </Page>
  );
}

/** What the address names: `?tool=list_orders`, `?resource=order`, `?prompt=sales_report`. */
function offerOf(offers: readonly Offer[], query: URLSearchParams): Offer | undefined {
  const noun = LINKED.find((candidate) => query.get(candidate) !== null);
  if (noun === undefined) return undefined;
  const name = query.get(noun);
  return offers.find(
    (offer) => offer.name === name && (offer.noun === noun || (noun === 'resource' && offer.noun === 'template')),
  );
}

function NotChosen(props: { wanted: string | undefined }) {
  return (
    <div class="panel">
      <Show
        when={props.wanted}
        fallback={
          <EmptyState icon="play" title={WORDS.pick}>
            {WORDS.pick_text}
          </EmptyState>
        }
      >
        {(name) => <EmptyState title={WORDS.gone(name())}>{WORDS.gone_text}</EmptyState>}
      </Show>
    </div>
  );
}

function Bench(props: { state: State; offer: Offer }) {
  const [defined, setDefined] = createSignal(false);
  const run = () => {
    const shown = props.state.shown();
    return shown?.offer.key === props.offer.key ? shown : undefined;
  };
  return (
    <>
      <Panel
        title={props.offer.title ?? props.offer.name}
        lead={
          <>
            <span class="mono faint small">{props.offer.uri ?? props.offer.name}</span>
            <span class="play-about">{props.offer.description}</span>
          </>
        }
        actions={
          <Button size="small" kind="quiet" aria-expanded={defined()} onPress={() => setDefined(!defined())}>
            {WORDS.definition}
          </Button>
        }
      >
        <div class="panel-body stack">
          <Show when={defined()}>
            <Definition offer={props.offer} />
          </Show>
          <CallForm state={props.state} offer={props.offer} again={run()} />
        </div>
      </Panel>
      <Show when={run()} keyed>
        {(shown) => <ResultPanel run={shown} />}
      </Show>
    </>
  );
}

function Definition(props: { offer: Offer }) {
  const lines = () => Object.entries(props.offer.listing).filter(([name]) => name !== 'description');
  return (
    <div class="stack">
      <p class="small faint">{WORDS.definition_hint}</p>
      <dl class="play-definition">
        <For each={lines()}>
          {([name, value]) => (
            <div>
              <dt class="mono">{name}</dt>
              <dd class="mono">{typeof value === 'string' ? value : JSON.stringify(value, null, 1)}</dd>
            </div>
          )}
        </For>
      </dl>
    </div>
  );
}
