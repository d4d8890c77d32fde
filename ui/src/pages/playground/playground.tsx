import { createEffect, createMemo, createSignal, For, Match, on, Show, Switch } from 'solid-js';
import { SegmentedControl } from '#ui/src/components/form/choice.tsx';
import { EmptyState } from '#ui/src/components/empty-state.tsx';
import { LinkButton } from '#ui/src/components/link.tsx';
import { Button } from '#ui/src/components/button.tsx';
import { Breakable } from '#ui/src/components/show/breakable.tsx';
import { Notice, ProblemNotice } from '#ui/src/components/notice.tsx';
import { Page } from '#ui/src/components/page.tsx';
import { Panel } from '#ui/src/components/panel.tsx';
import { Select } from '#ui/src/components/form/select.tsx';
import { SkeletonList } from '#ui/src/components/skeleton.tsx';
import { useQuery } from '#ui/src/components/use-query.ts';
import { useKernel, useLine } from '#ui/src/kernel/kernel.ts';
import { type CallerChoice, NO_CALLER_CHOSEN } from '#ui/src/features/run/caller-choice.ts';
import { ShowAs } from '#ui/src/features/run/show-as.tsx';
import { RUNS_KEY } from '#ui/src/features/run/stored-runs.ts';
import { type Era, ERAS } from '#ui/src/features/run/mcp-client.ts';
import { createPlayground, type Memory, type Offer, type Playground as State } from './state.ts';
import { browserStorage, type Storage, tabStorage } from '#ui/src/kernel/storage.ts';
import { CallForm } from './call-form.tsx';
import { FromCall } from './from-call.tsx';
import { History } from './history.tsx';
import { QuestionDialog } from './question-dialog.tsx';
import { OfferList } from './offer-list.tsx';
import { ResultPanel } from './result-panel.tsx';
import { createSavedCalls, type SavedCall } from './saved-calls.ts';
import { TokenPanel } from './token-panel.tsx';
import './playground.css';

const memory = (storage: Storage, key: string): Memory => ({
  read: () => storage.read(key),
  write: (text) => storage.write(key, text),
});
const PLAYGROUND_RUNS = memory(tabStorage, RUNS_KEY);

const ERA_HINTS: Readonly<Record<Era, string>> = {
  '2026-07-28': 'MCP revision, without sessions',
  '2025-11-25': 'MCP revision, with a session',
};
const LINKED = ['tool', 'resource', 'prompt'] as const;

/** Calls tools, resources and prompts through the deployed MCP endpoint. */
export function Playground() {
  const { call, send, router, session, toasts } = useKernel();
  const state = createPlayground({
    send,
    runs: PLAYGROUND_RUNS,
    // The next REST call detects the ended session and reports it.
    onSessionEnd: () => void call('deploy.status', {}).catch(() => undefined),
  });
  const saved = createSavedCalls(memory(browserStorage, `playground.calls ${session.username()}`));
  /** Fills the form once: later visits to the tool show the arguments of its last call. */
  const [given, setGiven] = createSignal<SavedCall>();
  const [as_token, setAsToken] = createSignal(false);
  const [as_caller, setAsCaller] = createSignal(false);
  const [choice, setChoice] = createSignal(NO_CALLER_CHOSEN);
  const callAs = (choice: CallerChoice) => {
    setChoice(choice);
    state.setCaller(choice.caller);
  };
  const callAsYourself = () => {
    setAsToken(false);
    setAsCaller(false);
    callAs(NO_CALLER_CHOSEN);
  };
  const status = useQuery((read) => read('deploy.status', {}));
  // The next request opens a session automatically.
  useLine({ open: () => undefined, close: state.close });
  // Reloads the lists when a host has another version.
  const versions = createMemo(() =>
    status
      .data()
      ?.hosts.map(({ id, snapshot_version }) => `${id} ${snapshot_version}`)
      .join(),
  );
  const isNothing = () => status.data()?.status === 'stopped' || status.data()?.snapshot_version === null;
  const serves = () => status.data()?.hosts.some(({ snapshot_version }) => snapshot_version !== null);
  createEffect(
    on(versions, () => {
      if (serves()) void state.load();
    }),
  );

  const chosen = createMemo(() => offerOf(state.offers() ?? [], router.query()));
  const linked = () => LINKED.map((noun) => router.query().get(noun)).find((name) => name !== null) ?? undefined;
  /** Includes the selected host even when it is gone, so that another one can be selected. */
  const hosts = createMemo(() => {
    const connected = status.data()?.hosts.flatMap(({ id, url }) => (url === null ? [] : [id])) ?? [];
    const chosen = state.host();
    return chosen === undefined || connected.includes(chosen) ? connected : [...connected, chosen];
  });
  const choose = (offer: Offer) => {
    const noun = offer.noun === 'template' ? 'resource' : offer.noun;
    router.navigate(`/playground?${new URLSearchParams({ [noun]: offer.name })}`, { replace: true });
  };

  const fillIn = (call: SavedCall) => {
    const offer = state.offers()?.find(({ key }) => key === call.key);
    if (offer === undefined) return toasts.show('This call names a tool, resource or prompt that is not deployed.', 'bad');
    // A new object each time, so that the same call fills the form again.
    setGiven({ ...call });
    choose(offer);
  };

  return (
    <Page
      title="Playground"
      lead="Calls what is deployed, as an MCP client would."
      width="full"
      actions={
        <div class="row play-options">
          <Show when={hosts().length > 1 || state.host() !== undefined}>
            <Select
              label="Host"
              hide_label
              value={state.host() ?? 'any'}
              onChange={(host) => state.setHost(host === 'any' ? undefined : host)}
              options={[{ value: 'any', label: 'Any host' }, ...hosts().map((value) => ({ value, label: value }))]}
            />
          </Show>
          <Show when={!as_caller() && !as_token()}>
            <Button size="small" kind="quiet" needs="preview.execute" onPress={() => setAsCaller(true)}>
              View as…
            </Button>
          </Show>
          <Show when={!as_token()}>
            <Button size="small" kind="quiet" onPress={() => setAsToken(true)}>
              Use an access token
            </Button>
          </Show>
          <p class="small faint">{ERA_HINTS[state.era()]}</p>
          <SegmentedControl
            label="Protocol"
            value={state.era()}
            onChange={state.setEra}
            options={ERAS.map((value) => ({ value, label: value }))}
          />
        </div>
      }
    >
      <QuestionDialog question={state.question()} />
      <Show when={as_caller() && !as_token()}>
        <Panel
          title="View as another caller"
          lead="Lists and calls use the toolsets, values, masks and session values of the chosen caller."
          actions={
            <Button size="small" onPress={callAsYourself}>
              Call as yourself
            </Button>
          }
          flush
        >
          <div class="panel-body">
            <ShowAs label="Caller" nobody="Yourself" choice={choice()} onChange={callAs} />
          </div>
        </Panel>
      </Show>
      <Show when={as_token() || state.refusal()?.reason === 'unauthorized'}>
        <TokenPanel state={state} onClose={callAsYourself} />
      </Show>
      <Show when={state.refusal() && state.refusal()?.reason !== 'unauthorized' ? state.refusal() : undefined}>
        {(refusal) => (
          <Notice
            tone="bad"
            live
            title="The deployed server cannot be reached"
            action={
              <Button size="small" onPress={() => void state.load()}>
                Try again
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
        <Match when={serves() === true && as_caller() && state.offers()?.length === 0}>
          <EmptyState framed icon="play" title="This caller sees nothing">
            None of the caller’s toolsets holds a deployed tool, resource or prompt.
          </EmptyState>
        </Match>
        <Match when={isNothing() || state.offers()?.length === 0}>
          <EmptyState
            framed
            icon="play"
            title="Nothing is deployed"
            action={<LinkButton href="/deploy">Go to Deploy</LinkButton>}
          >
            The server offers no tool, resource or prompt. Deploy first, then call it here.
          </EmptyState>
        </Match>
        <Match when={state.offers()}>
          {(offers) => (
            <div class="page-columns play">
              <div class="stack play-side" data-gap="5">
                <OfferList offers={offers()} current={chosen()?.key} onChoose={choose} />
                <div class="stack play-history" data-gap="5">
                  <History state={state} saved={saved} onAgain={(run) => choose(run.offer)} onSaved={fillIn} />
                </div>
              </div>
              <div class="stack" data-gap="5">
                <Show when={router.query().get('call')} keyed>
                  {(id) => <FromCall id={id} onArguments={(name, values) => setGiven({ key: `tool:${name}`, values })} />}
                </Show>
                <Show when={chosen()} keyed fallback={<NotChosen linked={linked()} />}>
                  {(offer) => <Bench state={state} offer={offer} given={given()} onGiven={() => setGiven(undefined)} />}
                </Show>
              </div>
            </div>
          )}
        </Match>
        <Match when={serves() === false && !state.loading()}>
          <EmptyState framed icon="play" title="No host is connected">
            Hosts serve the deployed version, and connect automatically when they start.
          </EmptyState>
        </Match>
        <Match when={serves() === undefined || state.loading()}>
          <SkeletonList rows={5} label="Loading the deployed version" />
        </Match>
      </Switch>
    </Page>
  );
}

/** The definition in the address: `?tool=list_orders`, `?resource=order`, `?prompt=sales_report`. */
function offerOf(offers: readonly Offer[], query: URLSearchParams): Offer | undefined {
  const noun = LINKED.find((candidate) => query.get(candidate) !== null);
  if (noun === undefined) return undefined;
  const name = query.get(noun);
  return offers.find(
    (offer) => offer.name === name && (offer.noun === noun || (noun === 'resource' && offer.noun === 'template')),
  );
}

function NotChosen(props: { linked: string | undefined }) {
  return (
    <div class="panel">
      <Show
        when={props.linked}
        fallback={
          <EmptyState icon="play" title="Choose what to call">
            The list shows the tools, resources and prompts of the deployed version.
          </EmptyState>
        }
      >
        {(name) => <EmptyState title={`${name()} is not deployed`}>It may be disabled, not deployed yet, or renamed.</EmptyState>}
      </Show>
    </div>
  );
}

function Bench(props: { state: State; offer: Offer; given: SavedCall | undefined; onGiven: () => void }) {
  const [defined, setDefined] = createSignal(false);
  const run = () => {
    const shown = props.state.shown();
    return shown?.offer.key === props.offer.key ? shown : undefined;
  };
  return (
    <div class="play-bench">
      <Panel
        title={props.offer.title ?? props.offer.name}
        lead={
          <>
            <Show when={props.offer.uri ?? (props.offer.title === undefined ? undefined : props.offer.name)}>
              {(address) => (
                <span class="mono faint small play-about">
                  <Breakable text={address()} />
                </span>
              )}
            </Show>
            <span class="play-about">{props.offer.description}</span>
          </>
        }
        actions={
          <Button size="small" kind="quiet" aria-expanded={defined()} onPress={() => setDefined(!defined())}>
            Definition
          </Button>
        }
      >
        <Show when={defined()}>
          <Definition offer={props.offer} />
        </Show>
        <CallForm
          state={props.state}
          offer={props.offer}
          again={run()}
          given={props.given?.key === props.offer.key ? props.given : undefined}
          onGiven={props.onGiven}
        />
      </Panel>
      <Show when={run()} keyed>
        {(shown) => <ResultPanel run={shown} />}
      </Show>
    </div>
  );
}

function Definition(props: { offer: Offer }) {
  const lines = () => Object.entries(props.offer.listing).filter(([name]) => name !== 'description');
  return (
    <div class="stack">
      <p class="small faint">What a model reads before it decides to call.</p>
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
