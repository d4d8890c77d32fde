import { createEffect, createSignal, For, type JSX, Match, on, onCleanup, Show, Switch } from 'solid-js';
import { CLIENT_CHOICES } from '#core/contract/identity/oauth.ts';
import type { ConfirmationRequest } from '#core/contract/identity/confirmations.ts';
import { Button } from '#ui/src/components/button.tsx';
import { Notice, ProblemNotice } from '#ui/src/components/notice.tsx';
import { Entry } from '#ui/src/components/shell/entry.tsx';
import { KeyValue } from '#ui/src/components/show/key-value.tsx';
import { SkeletonList } from '#ui/src/components/skeleton.tsx';
import { clientTitle } from '#ui/src/features/sign-in/client-words.ts';
import { createCountdown } from '#ui/src/features/sign-in/countdown.ts';
import { SignInHere } from '#ui/src/features/sign-in/sign-in-here.tsx';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { num } from '#ui/src/kernel/numbers.ts';
import { type Problem, toProblem } from '#ui/src/kernel/problem.ts';
import { clock, plural } from '#ui/src/kernel/words.ts';
import './confirm.css';

type Decision = 'approve' | 'decline';

/** The changes that a tool would make, for the person whose client called it, with the decision. */
export function Confirm() {
  const { call, session, toasts } = useKernel();
  const request = new URLSearchParams(window.location.search).get('request') ?? '';
  const countdown = createCountdown();
  onCleanup(() => countdown.stop());
  const [asked, setAsked] = createSignal<ConfirmationRequest>();
  const [problem, setProblem] = createSignal<Problem>();
  const [decided, setDecided] = createSignal<Decision>();
  const [busy, setBusy] = createSignal<Decision>();
  const isAnonymous = () => session.state() === 'anonymous' || session.state() === 'setup';
  const load = async () => {
    // The page stays as it is while the person signs in again in the dialog.
    if (session.state() === 'expired') return;
    setProblem(undefined);
    if (session.state() !== 'signed_in') {
      setAsked(undefined);
      return;
    }
    try {
      const open = await call('confirmations.get', { request });
      countdown.start((Date.parse(open.expires_at) - Date.now()) / 1_000);
      setAsked(open);
    } catch (fault) {
      setAsked(undefined);
      setProblem(toProblem(fault));
    }
  };
  /** The clock of the browser may be wrong, so the server decides whether a request is still open. */
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
  // Reloads for the person who signed in.
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
    if (decided() === 'approve')
      return {
        title: 'Approved',
        lead: 'The tool runs now if your client is still waiting. If the number of rows changes before that, you are asked again.',
      };
    if (decided() === 'decline') return { title: 'Declined', lead: 'Nothing was changed.' };
    if (isGone())
      return {
        title: 'This request is no longer open',
        lead: 'It expired, was already decided, or the link is incomplete. If you still want the change, ask your client to call the tool again.',
      };
    if (isForAnother())
      return {
        title: 'This request is for another person',
        lead: 'Only the person whose client called the tool can see it and decide. Sign in as that person.',
      };
    if (open === undefined)
      return {
        title: 'Confirm a change',
        lead: isAnonymous() ? 'Sign in as the person whose client sent you here. Nothing is changed before you approve.' : '',
      };
    return {
      title: `Change ${plural(open.affected_rows, 'row')}?`,
      lead: `Your client asks you, ${open.person.username}, before a tool changes data.`,
    };
  };
  const leave = async () => {
    const failed = await session.logout();
    if (failed !== undefined) toasts.show(failed.detail, 'bad');
  };
  const otherAccount = (): JSX.Element => (
    <button type="button" class="link-button" onClick={() => void leave()}>
      Use another account
    </button>
  );

  return (
    <Entry title={head().title} lead={head().lead}>
      <Switch fallback={<SkeletonList rows={4} label="Loading the request" />}>
        <Match when={decided()}>
          {(decision) => (
            <Notice tone={decision() === 'approve' ? 'good' : 'plain'} live>
              <p>You can close this window and return to your client.</p>
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
              <p class="small soft">
                {countdown.left() === 0 ? 'This request expires soon.' : `Expires in ${clock(countdown.left())}.`} Nothing has
                been changed yet.
              </p>
              <div class="entry-buttons">
                <Button
                  kind="danger"
                  busy={busy() === 'approve'}
                  blocked={busy() !== undefined}
                  onPress={() => void decide('approve')}
                >
                  {`Change ${plural(open().affected_rows, 'row')}`}
                </Button>
                <Button busy={busy() === 'decline'} blocked={busy() !== undefined} onPress={() => void decide('decline')}>
                  Decline
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

function affected({ affected_rows, direct_rows }: ConfirmationRequest): string {
  const rows = plural(affected_rows, 'row');
  if (direct_rows === null || direct_rows === affected_rows) return rows;
  return `${rows}: ${num(direct_rows)} directly, ${num(affected_rows - direct_rows)} through cascades, triggers or functions`;
}

function Facts(props: { asked: ConfirmationRequest }) {
  return (
    <div class="stack entry-facts">
      <Show when={props.asked.rows_before}>
        {(before) => (
          <Notice tone="warning">
            <p>{`The number of rows changed since you were asked. It was ${num(before())}.`}</p>
          </Notice>
        )}
      </Show>
      <KeyValue
        items={[
          { label: 'Tool', value: props.asked.title === null ? props.asked.tool : `${props.asked.title} (${props.asked.tool})` },
          props.asked.statement !== null && { label: 'Statement', value: props.asked.statement, mono: true },
          { label: 'Affected', value: affected(props.asked) },
          { label: 'Arguments', value: <Arguments asked={props.asked} /> },
          { label: 'Client', value: clientTitle(props.asked.client) },
          { label: 'Identity', value: CLIENT_CHOICES[props.asked.client.kind].help },
          props.asked.client.host !== null && { label: 'From', value: props.asked.client.host, mono: true },
          { label: 'Server', value: props.asked.resource, mono: true },
        ]}
      />
    </div>
  );
}

function Arguments(props: { asked: ConfirmationRequest }) {
  return (
    <Show when={props.asked.arguments.length > 0} fallback="None">
      <ul class="confirm-arguments" tabindex="0" aria-label="Arguments">
        <For each={props.asked.arguments}>{({ name, value }) => <li class="mono">{`${name} = ${value}`}</li>}</For>
      </ul>
    </Show>
  );
}
