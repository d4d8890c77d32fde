import { createEffect, createSignal, For, on, Show } from 'solid-js';
import type { OauthRequest } from '#core/contract/identity/oauth.ts';
import { Button } from '#ui/src/components/button.tsx';
import { Switch } from '#ui/src/components/form/choice.tsx';
import { Notice, ProblemNotice } from '#ui/src/components/notice.tsx';
import { Entry } from '#ui/src/components/shell/entry.tsx';
import { KeyValue } from '#ui/src/components/show/key-value.tsx';
import { SkeletonList } from '#ui/src/components/skeleton.tsx';
import { CLIENT_KINDS, clientTitle, isVouchedFor } from '#ui/src/features/sign-in/client-words.ts';
import { SignInHere } from '#ui/src/features/sign-in/sign-in-here.tsx';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { type Problem, toProblem } from '#ui/src/kernel/problem.ts';
import { isSafeTarget } from './target.ts';
import { WORDS } from './words.ts';
import './consent.css';

/** Who asks to sign in, for what and as whom; and the decision. */
export function Consent() {
  const { call, session } = useKernel();
  const id = new URLSearchParams(window.location.search).get('request') ?? '';
  const [request, setRequest] = createSignal<OauthRequest>();
  const [problem, setProblem] = createSignal<Problem>();
  const [going, setGoing] = createSignal(false);
  const load = async () => {
    setProblem(undefined);
    try {
      setRequest(await call('oauth_requests.get', { id }));
    } catch (fault) {
      setRequest(undefined);
      setProblem(toProblem(fault));
    }
  };
  // Who signs in changes what can be granted.
  createEffect(on(session.state, (state) => void (state !== 'loading' && load())));

  const decide = async (decision: 'approve' | 'deny', scopes?: readonly string[]) => {
    setProblem(undefined);
    try {
      const { redirect_to } = await call('oauth_requests.decide', {
        id,
        decision,
        ...(scopes === undefined ? {} : { scopes: [...scopes] }),
      });
      const is_safe = isSafeTarget(redirect_to);
      setGoing(is_safe);
      if (is_safe) window.location.assign(redirect_to);
      else setProblem({ code: 'forbidden', detail: WORDS.unsafe, errors: [] });
    } catch (fault) {
      setProblem(toProblem(fault));
    }
  };
  createEffect(() => {
    const asked = request();
    if (asked?.client.trusted && asked.person !== null && asked.refused === null) void decide('approve');
  });

  const title = () => {
    const asked = request();
    if (problem()?.code === 'not_found') return WORDS.gone_title;
    if (asked === undefined) return 'Sign in';
    return asked.agent ? WORDS.title_agent(asked.client.name) : WORDS.title(asked.client.name);
  };
  const lead = () => {
    const asked = request();
    if (problem()?.code === 'not_found') return WORDS.gone;
    if (asked === undefined) return '';
    return asked.person === null ? WORDS.lead_anonymous : WORDS.lead_signed_in(asked.person.username);
  };

  return (
    <Entry title={title()} lead={lead()}>
      <Show when={problem()?.code !== 'not_found' && problem()}>
        {(shown) => <ProblemNotice problem={shown()} onRetry={request() === undefined ? () => void load() : undefined} />}
      </Show>
      <Show
        when={!going()}
        fallback={
          <Notice tone="good" live title={WORDS.going}>
            <p>{WORDS.stay}</p>
          </Notice>
        }
      >
        <Show
          when={request()}
          fallback={<Show when={problem() === undefined}>{<SkeletonList rows={4} label="Loading the request" />}</Show>}
        >
          {(asked) => (
            <>
              <Facts asked={asked()} />
              <Show
                when={asked().person}
                fallback={
                  <>
                    <SignInHere />
                    <Button kind="quiet" onPress={() => void decide('deny')}>
                      {WORDS.deny}
                    </Button>
                  </>
                }
              >
                <Decision asked={asked()} onDecide={decide} />
              </Show>
            </>
          )}
        </Show>
      </Show>
    </Entry>
  );
}

function Facts(props: { asked: OauthRequest }) {
  const isKnown = () => isVouchedFor(props.asked.client);
  return (
    <div class="stack entry-facts">
      <KeyValue
        items={[
          { label: WORDS.client, value: clientTitle(props.asked.client) },
          { label: WORDS.kind, value: CLIENT_KINDS[props.asked.client.kind] },
          props.asked.client.host !== null && { label: WORDS.host, value: props.asked.client.host, mono: true },
          { label: WORDS.answer, value: WORDS.target(props.asked), mono: props.asked.redirect_host !== null },
          { label: WORDS.resource, value: props.asked.resource, mono: true },
        ]}
      />
      <Show when={!isKnown() || props.asked.redirect_host === null}>
        <Notice tone="brass">
          <p>{isKnown() ? WORDS.careful_local : WORDS.careful}</p>
        </Notice>
      </Show>
    </div>
  );
}

function Decision(props: {
  asked: OauthRequest;
  onDecide: (decision: 'approve' | 'deny', scopes?: readonly string[]) => Promise<void>;
}) {
  const { session, toasts } = useKernel();
  const leave = async () => {
    const failed = await session.logout();
    if (failed !== undefined) toasts.show(failed.detail, 'bad');
  };
  const [left_out, setLeftOut] = createSignal<readonly string[]>([]);
  const [busy, setBusy] = createSignal(false);
  const chosen = () => props.asked.scopes.map(({ name }) => name).filter((name) => !left_out().includes(name));
  const decide = async (decision: 'approve' | 'deny') => {
    setBusy(true);
    await props.onDecide(decision, decision === 'approve' ? chosen() : undefined);
    setBusy(false);
  };
  const toggle = (name: string, on: boolean) =>
    setLeftOut((names) => (on ? names.filter((other) => other !== name) : [...names, name]));
  return (
    <>
      <Show when={props.asked.refused}>
        {(reason) => (
          <Notice tone="bad" live>
            <p>{reason()}</p>
          </Notice>
        )}
      </Show>
      <Show when={props.asked.agent}>
        <Notice tone="brass">
          <p>{WORDS.agent}</p>
        </Notice>
      </Show>
      <section class="stack" aria-label={WORDS.scopes}>
        <h2 class="consent-scopes">{WORDS.scopes}</h2>
        <Show when={props.asked.narrowed && props.asked.refused === null}>
          <Notice>
            <p>{WORDS.narrowed}</p>
          </Notice>
        </Show>
        <ul class="consent-list">
          <For each={props.asked.scopes}>
            {(scope) => (
              <li>
                <Show
                  when={scope.optional}
                  fallback={
                    <div>
                      <b>{scope.title}</b>
                      <p class="field-hint">{scope.description}</p>
                    </div>
                  }
                >
                  <Switch
                    label={scope.title}
                    hint={scope.description}
                    checked={!left_out().includes(scope.name)}
                    onChange={(on) => toggle(scope.name, on)}
                  />
                </Show>
                <p class="small soft consent-tools">{WORDS.tools(scope.tools, scope.tools_total)}</p>
              </li>
            )}
          </For>
        </ul>
        <Show when={chosen().length === 0 && props.asked.refused === null}>
          <p class="small soft" role="status">
            {WORDS.none}
          </p>
        </Show>
      </section>
      <div class="entry-buttons">
        <Button
          kind="primary"
          busy={busy()}
          blocked={chosen().length === 0 || props.asked.refused !== null}
          onPress={() => void decide('approve')}
        >
          {WORDS.approve}
        </Button>
        <Button busy={busy()} onPress={() => void decide('deny')}>
          {WORDS.deny}
        </Button>
      </div>
      <button type="button" class="link-button" onClick={() => void leave()}>
        {WORDS.other}
      </button>
    </>
  );
}
