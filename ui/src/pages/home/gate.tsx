import { Match, Show, Switch } from 'solid-js';
import { Wave } from '#ui/src/components/shell/brand.tsx';
import { Button } from '#ui/src/components/button.tsx';
import { Link } from '#ui/src/components/link.tsx';
import { Ago } from '#ui/src/components/time.tsx';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import type { Deployment } from '#ui/src/features/deploy/deployment.ts';
import { Bullets } from '#ui/src/components/show/bullets.tsx';
import { outcome } from '#ui/src/features/deploy/receipt.tsx';
import { plural } from '#ui/src/kernel/words.ts';
import './gate.css';

/** The working copy, the deploy, what clients get: how a configuration reaches the hosts. */
export function Gate(props: { deployment: Deployment; onDeploy: () => void; onStop: () => void }) {
  const { commands, router, session } = useKernel();
  /** Who may not deploy reads what would change. */
  const review = () => (session.may('deploy.run') ? props.onDeploy() : router.navigate('/deploy'));
  const status = () => props.deployment.status.data();
  const pending = () => status()?.pending_changes ?? 0;
  const shown = () => (props.deployment.phase() === 'deploying' ? 'deploying' : (status()?.status ?? 'stopped'));
  /** Read out: the receipt itself appears too late to be a live region. */
  const announced = () => {
    const receipt = props.deployment.receipt();
    return shown() === 'deploying' ? 'Deploying' : receipt && outcome(receipt, false);
  };
  const calm = () => pending() === 0 && shown() === 'running';
  const faults = () => props.deployment.problem()?.errors ?? [];
  const fault = () => props.deployment.problem()?.detail ?? status()?.last_error ?? undefined;

  return (
    <section class="gate" aria-label="Deployment">
      <div class="gate-words">
        <div class="gate-side">
          <h2>Working copy</h2>
          <Switch fallback={<p class="gate-value">No changes</p>}>
            <Match when={status() === undefined}>
              <span class="skeleton" />
            </Match>
            <Match when={pending() > 0}>
              <p class="gate-value num" data-tone="warning">
                {plural(pending(), 'change')} to deploy
              </p>
              <p>
                <button type="button" class="link-button" onClick={review}>
                  Review changes
                </button>
              </p>
            </Match>
          </Switch>
          <Show when={status() && pending() === 0}>
            <p>{status()?.snapshot_version === null ? 'A deploy needs a connection and a tool.' : 'Everything is live.'}</p>
          </Show>
        </div>

        <div class="gate-middle">
          <Button
            needs="deploy.run"
            kind="gate"
            data-calm={calm() ? 'true' : undefined}
            busy={props.deployment.phase() === 'deploying'}
            blocked={props.deployment.phase() === 'stopping' || status() === undefined}
            aria-keyshortcuts="d"
            onPress={() => props.onDeploy()}
          >
            {shown() === 'deploying' ? 'Deploying' : calm() ? 'Deploy again' : 'Deploy'}
            <Show when={commands.keys()}>
              <kbd aria-hidden="true">d</kbd>
            </Show>
          </Button>
          <p class="visually-hidden" role="status">
            {announced()}
          </p>
        </div>

        <div class="gate-side gate-down">
          <h2>Live</h2>
          <Switch fallback={<span class="skeleton" />}>
            <Match when={status()?.status === 'stopped' && status()?.snapshot_version === null}>
              <p class="gate-value">Not deployed yet</p>
              <p>MCP clients get 503 until the first deploy.</p>
            </Match>
            <Match when={status()?.status === 'stopped'}>
              <p class="gate-value">Stopped</p>
              <p>MCP clients get 503 until the next deploy.</p>
            </Match>
            <Match when={status()?.status === 'error'}>
              <p class="gate-value" data-tone="bad">
                No host is serving
              </p>
              <p>Start a host. It loads the deployed version automatically.</p>
            </Match>
            <Match when={status()}>
              {(live) => (
                <>
                  <p class="gate-value num">
                    <Link href="/deploy?view=versions">Version {live().snapshot_version ?? '–'}</Link>
                  </p>
                  <p class="num">
                    {plural(live().hosts.length, 'host')}
                    <Show when={live().deployed_at}>
                      {(iso) => (
                        <>
                          , deployed <Ago iso={iso()} />
                        </>
                      )}
                    </Show>
                  </p>
                  <Show when={session.may('deploy.stop')}>
                    <p>
                      <button type="button" class="link-button" onClick={() => props.onStop()}>
                        Stop serving
                      </button>
                    </p>
                  </Show>
                </>
              )}
            </Match>
          </Switch>
        </div>
      </div>

      <Show when={fault()}>
        <div class="gate-fault" role="alert">
          <p>{fault()}</p>
          <Bullets of={faults().map(({ message }) => message)} />
        </div>
      </Show>

      <div class="flow" data-state={shown()} data-pending={pending() > 0 ? 'true' : 'false'} aria-hidden="true">
        <div class="flow-reach flow-up">
          <div class="flow-water">
            <Wave />
          </div>
        </div>
        <div class="flow-reach flow-down">
          <div class="flow-water">
            <Wave />
          </div>
        </div>
        <div class="flow-post">
          <div class="flow-leaf" />
        </div>
      </div>
    </section>
  );
}
