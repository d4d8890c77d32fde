import { createMemo, createSignal, For, Match, Show, Switch } from 'solid-js';
import { Button } from '#ui/src/components/button.tsx';
import { ChangeList } from '#ui/src/features/deploy/change-list.tsx';
import { StatusDot } from '#ui/src/components/badge.tsx';
import { ComingWarnings } from '#ui/src/features/deploy/coming-warnings.tsx';
import { EmptyState } from '#ui/src/components/empty-state.tsx';
import { TextField } from '#ui/src/components/form/field.tsx';
import { focusInvalid } from '#ui/src/components/form/focus-invalid.ts';
import { KeyValue } from '#ui/src/components/show/key-value.tsx';
import { LinkButton } from '#ui/src/components/link.tsx';
import { Menu } from '#ui/src/components/menu.tsx';
import { Notice, ProblemNotice } from '#ui/src/components/notice.tsx';
import { Panel } from '#ui/src/components/panel.tsx';
import { SkeletonList } from '#ui/src/components/skeleton.tsx';
import { Ago } from '#ui/src/components/time.tsx';
import { Loaded } from '#ui/src/components/show/loaded.tsx';
import { breakingCount, summary } from '#ui/src/features/deploy/changes.ts';
import type { Deployment, Status } from '#ui/src/features/deploy/deployment.ts';
import { LastProblem } from '#ui/src/features/deploy/gate-findings.tsx';
import { Breaking } from '#ui/src/features/deploy/deploy-dialog.tsx';
import { Totals } from '#ui/src/features/deploy/totals.tsx';
import { ReplayDrawer } from '#ui/src/features/replay/replay-drawer.tsx';
import { Receipt } from '#ui/src/features/deploy/receipt.tsx';
import { SERVING_TONES } from '#ui/src/features/deploy/serving-badge.tsx';
import { SERVING_CHOICES } from '#core/contract/deploy/deploy.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { fieldError } from '#ui/src/kernel/problem.ts';

/** The changes of the next deploy, the deploy button, and the receipt. */
export function ChangesPanel(props: {
  deployment: Deployment;
  onStop: () => void;
  onCandidate: () => void;
  onCanary: () => void;
}) {
  const { session } = useKernel();
  const [replaying, setReplaying] = createSignal(false);
  const status = () => props.deployment.status.data();
  const changes = createMemo(() => props.deployment.diff.data()?.changes ?? []);
  const breaking = createMemo(() => breakingCount(changes()));
  const nothing = () => props.deployment.diff.data() !== undefined && changes().length === 0;
  const fresh = () => nothing() && status()?.snapshot_version === null;
  const idle = () => props.deployment.phase() === 'idle';
  /** The receipt of a canary that has ended is shown by the canary panel. */
  const receipt = () => {
    const latest = props.deployment.receipt();
    const now = status()?.canary;
    return latest?.canary !== undefined && now?.id === latest.canary.id && now.status !== 'running' ? undefined : latest;
  };
  const label = () => {
    if (props.deployment.phase() === 'deploying') return 'Deploying';
    if (breaking() > 0 && props.deployment.problem()?.code !== 'gate_failed') return 'Deploy anyway';
    return nothing() && status()?.status === 'running' ? 'Deploy again' : 'Deploy';
  };
  const deploy = (event: SubmitEvent) => {
    event.preventDefault();
    const form = event.currentTarget instanceof HTMLElement ? event.currentTarget : undefined;
    void props.deployment.run().then((done) => done || focusInvalid(form));
  };

  return (
    <div class="page-columns deploy">
      <div class="stack">
        <LastProblem deployment={props.deployment} beside={['note']} />
        <Show when={receipt()}>
          {(receipt) => (
            <Receipt receipt={receipt()} rehearsed={props.deployment.rehearsed()} onDismiss={props.deployment.dismiss} />
          )}
        </Show>
        <Panel
          title="What will change"
          lead={changes().length > 0 ? summary(changes()) : undefined}
          count={changes().length || undefined}
          flush
        >
          <Show when={breaking() > 0}>
            <div class="deploy-warning">
              <Breaking count={breaking()} />
            </div>
          </Show>
          <Show when={props.deployment.diff.problem()}>
            {(problem) => (
              <div class="panel-body">
                <ProblemNotice problem={problem()} onRetry={() => void props.deployment.diff.reload()} />
              </div>
            )}
          </Show>
          <Switch>
            <Match when={props.deployment.diff.data() === undefined}>
              <SkeletonList rows={3} label="Loading changes" failed={props.deployment.diff.problem()} />
            </Match>
            <Match when={fresh()}>
              <EmptyState
                icon="rocket"
                title="Nothing to serve yet"
                action={
                  <LinkButton href="/connections/new" icon="plus">
                    Connect a database
                  </LinkButton>
                }
              >
                <p>Connect a database and create a tool, then deploy it.</p>
              </EmptyState>
            </Match>
            <Match when={nothing()}>
              <EmptyState
                icon="check"
                title="Nothing to deploy"
                action={<LinkButton href="/deploy?view=versions">See what the last deploy changed</LinkButton>}
              >
                <p>Everything is live.</p>
              </EmptyState>
            </Match>
            <Match when={changes().length > 0}>
              <ChangeList changes={changes()} label="Changes of the next deploy" />
            </Match>
          </Switch>
        </Panel>
      </div>

      <div class="stack deploy-side">
        <Show when={session.may('deploy.run')}>
          <Panel title="Deploy" flush>
            <form class="panel-body stack" onSubmit={deploy}>
              <ComingWarnings warnings={props.deployment.diff.data()?.warnings} />
              <Totals totals={props.deployment.diff.data()?.totals} />
              <TextField
                label="Note"
                optional
                value={props.deployment.note()}
                onInput={props.deployment.setNote}
                error={fieldError(props.deployment.problem(), 'note')}
                hint="Shown with this version in the history."
              />
              <div class="row">
                <Button
                  type="submit"
                  kind={breaking() > 0 ? 'danger' : 'primary'}
                  icon="rocket"
                  busy={props.deployment.phase() === 'deploying'}
                  blocked={!idle() || status() === undefined}
                >
                  {label()}
                </Button>
                <Button
                  busy={props.deployment.phase() === 'rehearsing'}
                  blocked={!idle() || status() === undefined}
                  onPress={() => void props.deployment.rehearse()}
                >
                  Dry run
                </Button>
                <Menu
                  label="Try first"
                  trigger="Try first"
                  items={[
                    {
                      label: 'New candidate',
                      hint: 'Serves the working copy at a URL of its own.',
                      icon: 'link',
                      needs: 'candidates.create',
                      onSelect: props.onCandidate,
                    },
                    {
                      label: 'Start canary',
                      hint: 'Serves it to a share of the callers, and rolls back on failures.',
                      icon: 'rocket',
                      disabled: nothing() || !idle() || status()?.status !== 'running' || status()?.canary?.status === 'running',
                      onSelect: props.onCanary,
                    },
                    {
                      label: 'Replay recent calls',
                      hint: 'Runs recent calls on both versions and compares the answers.',
                      icon: 'refresh',
                      needs: 'replay.run',
                      disabled: status()?.status !== 'running',
                      onSelect: () => setReplaying(true),
                    },
                  ]}
                />
              </div>
            </form>
          </Panel>
        </Show>
        <ReplayDrawer open={replaying()} onClose={() => setReplaying(false)} />
        <Loaded of={props.deployment.status} rows={2} label="Loading the state">
          {(live) => <Live status={live()} busy={props.deployment.phase() === 'stopping'} onStop={props.onStop} />}
        </Loaded>
      </div>
    </div>
  );
}

/** The live version and its hosts. */
function Live(props: { status: Status; busy: boolean; onStop: () => void }) {
  return (
    <Panel
      title="Live"
      actions={
        <Show when={props.status.status !== 'stopped'}>
          <Button size="small" icon="stop" needs="deploy.stop" busy={props.busy} onPress={props.onStop}>
            Stop serving
          </Button>
        </Show>
      }
    >
      <KeyValue
        items={[
          {
            label: 'State',
            value: <StatusDot tone={SERVING_TONES[props.status.status]} label={SERVING_CHOICES[props.status.status].label} />,
          },
          { label: 'Version', value: <span class="num">{props.status.snapshot_version ?? '–'}</span> },
          {
            label: 'Deployed',
            value: (
              <Show when={props.status.deployed_at} fallback="Never">
                {(iso) => <Ago iso={iso()} />}
              </Show>
            ),
          },
        ]}
      />
      <Show when={props.status.last_error}>{(error) => <Notice tone="bad">{error()}</Notice>}</Show>
      <div>
        <h3 class="sub-head">Hosts</h3>
        <ul class="stack host-list" data-gap="2" aria-label="Hosts">
          <For
            each={props.status.hosts}
            fallback={<li class="soft small">No host is connected. A host loads the deployed version as soon as it connects.</li>}
          >
            {(host) => (
              <li>
                <StatusDot
                  tone={
                    host.snapshot_version === null
                      ? 'plain'
                      : host.snapshot_version === props.status.snapshot_version
                        ? 'good'
                        : 'warning'
                  }
                  label={host.snapshot_version === null ? 'not serving' : `serves version ${host.snapshot_version}`}
                />
                <span class="mono small">{host.id}</span>
                <span class="small faint mono">{host.url ?? ''}</span>
                <span class="small faint">
                  {[
                    host.program_version === null ? null : `Sluice ${host.program_version}`,
                    host.address && `from ${host.address}`,
                  ]
                    .filter((part) => part !== null)
                    .join(', ')}
                </span>
                <span class="small faint">
                  {'connected'} <Ago iso={host.connected_at} />
                </span>
                <Show when={host.error}>{(error) => <span class="small">{`Rejected the latest version: ${error()}`}</span>}</Show>
                <Show when={host.disk_fault}>
                  {(fault) => (
                    <Notice tone="warning">{`${fault()} If this host restarts while the server is away, it uses older copies.`}</Notice>
                  )}
                </Show>
              </li>
            )}
          </For>
        </ul>
      </div>
    </Panel>
  );
}
