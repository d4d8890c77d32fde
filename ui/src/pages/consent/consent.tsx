import { createEffect, createSignal, For, on, Show } from 'solid-js';
import { CLIENT_CHOICES, type OauthRequest } from '#core/contract/identity/oauth.ts';
import { Button } from '#ui/src/components/button.tsx';
import { Switch } from '#ui/src/components/form/choice.tsx';
import { Fault, Notice, ProblemNotice } from '#ui/src/components/notice.tsx';
import { Entry } from '#ui/src/components/shell/entry.tsx';
import { KeyValue } from '#ui/src/components/show/key-value.tsx';
import { SkeletonList } from '#ui/src/components/skeleton.tsx';
import { clientTitle, isVouchedFor } from '#ui/src/features/sign-in/client-words.ts';
import { SignInHere } from '#ui/src/features/sign-in/sign-in-here.tsx';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { type Problem, toProblem } from '#ui/src/kernel/problem.ts';
import { isSafeTarget } from './target.ts';
import './consent.css';

const EDITORS: Readonly<Record<string, string>> = { 'cursor:': 'Cursor on this computer', 'vscode:': 'VS Code on this computer' };

/** The target of the redirect. */
function targetOf({ redirect_host, redirect_scheme }: OauthRequest): string {
  if (redirect_host !== null) return redirect_host;
  if (redirect_scheme === 'http:') return 'A program on this computer';
  return EDITORS[redirect_scheme] ?? `An app on this computer (${redirect_scheme})`;
}

function toolsOf(names: readonly string[], total: number): string {
  if (total === 0) return 'Nothing is deployed yet.';
  const more = total - names.length;
  return `${names.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

/** The client's sign-in request with its scopes and the account, and the decision. */
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
  // The grantable scopes depend on the signed-in person. Nothing reloads while the person signs in again in the dialog.
  createEffect(on(session.state, (state) => void (state !== 'loading' && state !== 'expired' && load())));

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
      else
        setProblem({
          code: 'forbidden',
          detail: 'The response would go to an address that is not safe to open. Nothing was sent.',
          errors: [],
        });
    } catch (fault) {
      setProblem(toProblem(fault));
    }
  };
  createEffect(() => {
    const shown = request();
    if (shown?.client.trusted && shown.person !== null && shown.refused === null) void decide('approve');
  });

  const title = () => {
    const shown = request();
    if (problem()?.code === 'not_found') return 'This sign-in request is no longer open';
    if (shown === undefined) return 'Sign in';
    return shown.agent ? `Allow ${shown.client.name} to administer this server?` : `Allow ${shown.client.name} to connect?`;
  };
  const lead = () => {
    const shown = request();
    if (problem()?.code === 'not_found')
      return 'It expired, was already decided, or started in another browser. Start again in your client.';
    if (shown === undefined) return '';
    return shown.person === null ? 'Sign in to decide.' : `It will act as you, ${shown.person.username}.`;
  };

  return (
    <Entry title={title()} lead={lead()}>
      <Show when={problem()?.code !== 'not_found' && problem()}>
        {(shown) => <ProblemNotice problem={shown()} onRetry={request() === undefined ? () => void load() : undefined} />}
      </Show>
      <Show
        when={!going()}
        fallback={
          <Notice tone="good" live title="Returning to your client…">
            <p>You can close this window if your client does not open automatically.</p>
          </Notice>
        }
      >
        <Show
          when={request()}
          fallback={<Show when={problem() === undefined}>{<SkeletonList rows={4} label="Loading the request" />}</Show>}
        >
          {(shown) => (
            <>
              <Facts shown={shown()} />
              <Show
                when={shown().person}
                fallback={
                  <>
                    <SignInHere />
                    <Button kind="quiet" onPress={() => void decide('deny')}>
                      Deny
                    </Button>
                  </>
                }
              >
                <Decision shown={shown()} onDecide={decide} />
              </Show>
            </>
          )}
        </Show>
      </Show>
    </Entry>
  );
}

function Facts(props: { shown: OauthRequest }) {
  const isKnown = () => isVouchedFor(props.shown.client);
  return (
    <div class="stack entry-facts">
      <KeyValue
        items={[
          { label: 'Client', value: clientTitle(props.shown.client) },
          { label: 'Identity', value: CLIENT_CHOICES[props.shown.client.kind].help },
          props.shown.client.host !== null && { label: 'From', value: props.shown.client.host, mono: true },
          { label: 'Response goes to', value: targetOf(props.shown), mono: props.shown.redirect_host !== null },
          { label: 'Access to', value: props.shown.resource, mono: true },
        ]}
      />
      <Show when={!isKnown() || props.shown.redirect_host === null}>
        <Notice tone="warning">
          <p>
            <Show when={props.shown.redirect_host === null}>
              A program on this computer will get this access, and this page can’t tell which one.{' '}
            </Show>
            Continue only if you started this sign-in yourself, a moment ago.
            {isKnown() ? '' : ' Anyone can register a client under any name and send you this page.'}
          </p>
        </Notice>
      </Show>
    </div>
  );
}

function Decision(props: {
  shown: OauthRequest;
  onDecide: (decision: 'approve' | 'deny', scopes?: readonly string[]) => Promise<void>;
}) {
  const { session, toasts } = useKernel();
  const leave = async () => {
    const failed = await session.logout();
    if (failed !== undefined) toasts.show(failed.detail, 'bad');
  };
  const [left_out, setLeftOut] = createSignal<readonly string[]>([]);
  const [busy, setBusy] = createSignal(false);
  const chosen = () => props.shown.scopes.map(({ name }) => name).filter((name) => !left_out().includes(name));
  const decide = async (decision: 'approve' | 'deny') => {
    setBusy(true);
    await props.onDecide(decision, decision === 'approve' ? chosen() : undefined);
    setBusy(false);
  };
  const toggle = (name: string, on: boolean) =>
    setLeftOut((names) => (on ? names.filter((other) => other !== name) : [...names, name]));
  return (
    <>
      <Fault text={props.shown.refused} />
      <Show when={props.shown.agent}>
        <Notice tone="warning">
          <p>This client can change this server within the permissions below.</p>
        </Notice>
      </Show>
      <section class="stack" aria-label="Permissions">
        <h2 class="consent-scopes">Permissions</h2>
        <Show when={props.shown.narrowed && props.shown.refused === null}>
          <Notice>
            <p>The client asked for permissions that you do not have. It gets only those listed here.</p>
          </Notice>
        </Show>
        <ul class="stack" data-gap="3">
          <For each={props.shown.scopes}>
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
                <p class="small soft consent-tools">{toolsOf(scope.tools, scope.tools_total)}</p>
              </li>
            )}
          </For>
        </ul>
        <Show when={chosen().length === 0 && props.shown.refused === null}>
          <p class="small soft" role="status">
            Turn on at least one permission.
          </p>
        </Show>
      </section>
      <div class="entry-buttons">
        <Button
          kind="primary"
          busy={busy()}
          blocked={chosen().length === 0 || props.shown.refused !== null}
          onPress={() => void decide('approve')}
        >
          Allow
        </Button>
        <Button busy={busy()} onPress={() => void decide('deny')}>
          Deny
        </Button>
      </div>
      <button type="button" class="link-button" onClick={() => void leave()}>
        Use another account
      </button>
    </>
  );
}
