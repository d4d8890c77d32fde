import { createEffect, createSignal, For, type JSX, Match, on, onCleanup, Show, Switch } from 'solid-js';
import type { ConfirmationRequest } from '#core/contract/identity/confirmations.ts';
import { Button } from '#ui/src/components/button.tsx';
import { Notice, ProblemNotice } from '#ui/src/components/notice.tsx';
import { Entry } from '#ui/src/components/shell/entry.tsx';
import { KeyValue } from '#ui/src/components/show/key-value.tsx';
import { SkeletonList } from '#ui/src/components/skeleton.tsx';
import { CLIENT_KINDS, clientTitle } from '#ui/src/features/sign-in/client-words.ts';
import { createCountdown } from '#ui/src/features/sign-in/countdown.ts';
import { SignInHere } from '#ui/src/features/sign-in/sign-in-here.tsx';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { type Problem, toProblem } from '#ui/src/kernel/problem.ts';
import { WORDS } from './words.ts';
import './confirm.css';

type Decision = 'approve' | 'decline';

/** What a tool would change, for the person whose client called it; and the decision. */
export function Confirm() {
  const { call, session, toasts } = useKernel();
  const request = new URLSearchParams(window.location.search).get('request') ?? '';
  const countdown = createCountdown();
  onCleanup(() => countdown.stop());
  const [asked, setAsked] = createSignal<ConfirmationRequest>();
  const [problem, setProblem] = createSignal<Problem>();
  const [decided, setDecided] = createSignal<Decision>();
  const [busy, setBusy] = createSignal<Decision>();
  const isAnonymous = () => session.state() === 'anonymous' || session.state() === 'setup' || session.state() === 'expired';
  const load = async () => {
    setProblem(undefined);
    setAsked(undefined);
    if (session.state() !== 'signed_in') return;
    try {
      const open = await call('confirmations.get', { request });
      countdown.start((Date.parse(open.expires_at) - Date.now()) / 1_000);
      setAsked(open);
    } catch (fault) {
      setProblem(toProblem(fault));
    }
  };
  /** Only the server knows whether a request is still open: the clock of this browser may be wrong. */
  const check = async () => {
    try {
      await call('confirmations.get', { request });
    } catch (fault) {
      if (decided() === undefined) setProblem(toProblem(fault));
    }
  };
  createEffect(
    on(countdown.left, (left) => {
      if (left === 0 && asked() !== undefined && decided() === undefined && busy() === undefined) void check();
    }),
  );
  // Whoever signs in sees what is theirs.
  createEffect(on(session.state, () => void load()));
  const decide = async (decision: Decision) => {
    setProblem(undefined);
    setBusy(decision);
    try {
      await call(`confirmations.${decision}`, { request });
      setDecided(decision);
    } catch (fault) {
      setProblem(toProblem(fault));
    }
    setBusy(undefined);
  };

  const isGone = () => decided() === undefined && problem()?.code === 'not_found';
  const isForAnother = () => problem()?.code === 'forbidden';
  const head = (): { readonly title: string; readonly lead: string } => {
    const open = asked();
    if (decided() === 'approve') return { title: WORDS.approved_title, lead: WORDS.approved };
    if (decided() === 'decline') return { title: WORDS.declined_title, lead: WORDS.declined };
    if (isGone()) return { title: WORDS.gone_title, lead: WORDS.gone };
    if (isForAnother()) return { title: WORDS.other_title, lead: WORDS.other_lead };
    if (open === undefined) return { title: WORDS.title_anonymous, lead: isAnonymous() ? WORDS.lead_anonymous : '' };
    return { title: WORDS.title(open), lead: WORDS.lead(open) };
  };
  const leave = async () => {
    const failed = await session.logout();
    if (failed !== undefined) toasts.show(failed.detail, 'bad');
  };
  const otherAccount = (): JSX.Element => (
    <button type="button" class="link-button" onClick={() => void leave()}>
      {WORDS.other}
    </button>
  );

  return (
    <Entry title={head().title} lead={head().lead}>
      <Switch fallback={<SkeletonList rows={4} label="Loading the request" />}>
        <Match when={decided()}>
          {(decision) => (
            <Notice tone={decision() === 'approve' ? 'good' : 'plain'} live>
              <p>{WORDS.close}</p>
            </Notice>
          )}
        </Match>
        <Match when={isGone()}>{null}</Match>
        <Match when={isForAnother()}>{otherAccount()}</Match>
        <Match when={isAnonymous()}>
          <SignInHere />
        </Match>
        <Match when={asked()}>
          {(open) => (
            <>
              <Show when={problem()}>{(shown) => <ProblemNotice problem={shown()} />}</Show>
              <Facts asked={open()} />
              <p class="small soft">{WORDS.expires(countdown.left())}</p>
              <div class="entry-buttons">
                <Button
                  kind="danger"
                  busy={busy() === 'approve'}
                  blocked={busy() !== undefined}
                  onPress={() => void decide('approve')}
                >
                  {WORDS.approve(open())}
                </Button>
                <Button busy={busy() === 'decline'} blocked={busy() !== undefined} onPress={() => void decide('decline')}>
                  {WORDS.decline}
                </Button>
              </div>
              {otherAccount()}
            </>
          )}
        </Match>
        <Match when={problem()}>{(shown) => <ProblemNotice problem={shown()} onRetry={() => void load()} />}</Match>
      </Switch>
    </Entry>
  );
}

function Facts(props: { asked: ConfirmationRequest }) {
  return (
    <div class="stack entry-facts">
      <Show when={props.asked.rows_before}>
        {(before) => (
          <Notice tone="brass">
            <p>{WORDS.changed(before())}</p>
          </Notice>
        )}
      </Show>
      <KeyValue
        items={[
          { label: WORDS.tool, value: WORDS.tool_name(props.asked) },
          props.asked.statement !== null && { label: WORDS.statement, value: props.asked.statement, mono: true },
          { label: WORDS.affected, value: WORDS.rows(props.asked) },
          { label: WORDS.arguments, value: <Arguments asked={props.asked} /> },
          { label: WORDS.client, value: clientTitle(props.asked.client) },
          { label: WORDS.kind, value: CLIENT_KINDS[props.asked.client.kind] },
          props.asked.client.host !== null && { label: WORDS.host, value: props.asked.client.host, mono: true },
          { label: WORDS.resource, value: props.asked.resource, mono: true },
        ]}
      />
    </div>
  );
}

function Arguments(props: { asked: ConfirmationRequest }) {
  return (
    <Show when={props.asked.arguments.length + props.asked.more_arguments > 0} fallback={WORDS.no_arguments}>
      <ul class="confirm-arguments">
        <For each={props.asked.arguments}>{({ name, value }) => <li class="mono">{`${name} = ${value}`}</li>}</For>
        <Show when={props.asked.more_arguments > 0}>
          <li>{WORDS.more(props.asked.more_arguments)}</li>
        </Show>
      </ul>
    </Show>
  );
}
