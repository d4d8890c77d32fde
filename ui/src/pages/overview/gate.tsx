import { createSignal, For, Match, Show, Switch } from 'solid-js';
import { Wave } from '#ui/src/components/brand.tsx';
import { Button } from '#ui/src/components/button.tsx';
import { Dialog } from '#ui/src/components/dialog.tsx';
import { Ago } from '#ui/src/components/time.tsx';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import type { Deployment } from '#ui/src/kernel/deployment.ts';
import { plural } from '#ui/src/kernel/words.ts';
import { outcome } from './receipt.tsx';

/** The working copy, the deploy, what clients get: how a configuration reaches the hosts. */
export function Gate(props: { deployment: Deployment; onDeploy: () => void; onReview: () => void }) {
  const { commands } = useKernel();
  const [stopping, setStopping] = createSignal(false);
  const status = () => props.deployment.status.data();
  const pending = () => status()?.pending_changes ?? 0;
  const shown = () => (props.deployment.phase() === 'deploying' ? 'deploying' : (status()?.status ?? 'stopped'));
  /** Read out: the receipt itself appears too late to be a live region. */
  const announced = () => {
    const receipt = props.deployment.receipt();
    return shown() === 'deploying' ? 'Deploying' : receipt && outcome(receipt);
  };
  const calm = () => pending() === 0 && shown() === 'running';
  const faults = () => props.deployment.problem()?.errors ?? [];
  const fault = () => props.deployment.problem()?.detail ?? status()?.last_error ?? undefined;

  return (
    <section class="gate" aria-label="Deployment">
      <div class="gate-words">
        <div class="gate-side">
          <h2>Working copy</h2>
          <Switch fallback={<p class="gate-figure">Nothing to deploy</p>}>
            <Match when={status() === undefined}>
              <span class="skeleton" />
            </Match>
            <Match when={pending() > 0}>
              <p class="gate-figure num" data-tone="brass">
                {plural(pending(), 'change')} waiting
              </p>
              <p>
                <button type="button" class="link-button" onClick={() => props.onReview()}>
                  See what will change
                </button>
              </p>
            </Match>
          </Switch>
          <Show when={status() && pending() === 0}>
            <p>
              {status()?.snapshot_version === null
                ? 'A deploy needs a connection and a tool.'
                : 'Clients have what you see here.'}
            </p>
          </Show>
        </div>

        <div class="gate-middle">
          <Button
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
              <p class="gate-figure">Not deployed yet</p>
              <p>MCP clients are turned away.</p>
            </Match>
            <Match when={status()?.status === 'stopped'}>
              <p class="gate-figure">Stopped</p>
              <p>MCP clients are turned away until the next deploy.</p>
            </Match>
            <Match when={status()?.status === 'error'}>
              <p class="gate-figure" data-tone="bad">
                No host serves
              </p>
              <p>Start a host; it takes the newest version by itself.</p>
            </Match>
            <Match when={status()}>
              {(live) => (
                <>
                  <p class="gate-figure num">Version {live().snapshot_version ?? '–'}</p>
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
                  <p>
                    <button type="button" class="link-button" onClick={() => setStopping(true)}>
                      Stop serving
                    </button>
                  </p>
                </>
              )}
            </Match>
          </Switch>
        </div>
      </div>

      <Show when={fault()}>
        <div class="gate-fault" role="alert">
          <p>{fault()}</p>
          <ul class="bullets">
            <For each={faults()}>
              {(error) => (
                <li>
                  <span class="mono">{error.field}</span>: {error.message}
                </li>
              )}
            </For>
          </ul>
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

      <Dialog
        open={stopping()}
        title="Stop serving MCP clients?"
        onClose={() => setStopping(false)}
        foot={
          <>
            <Button autofocus onPress={() => setStopping(false)}>
              Keep serving
            </Button>
            <Button
              kind="danger"
              onPress={() => {
                setStopping(false);
                void props.deployment.stop();
              }}
            >
              Stop serving
            </Button>
          </>
        }
      >
        <p>
          Running calls get ten seconds to finish. After that every request is answered 503 until the next deploy. Hosts stay
          alive and nothing is deleted.
        </p>
      </Dialog>
    </section>
  );
}
