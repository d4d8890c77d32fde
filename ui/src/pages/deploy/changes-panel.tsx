import { createMemo, createSignal, For, Match, Show, Switch } from 'solid-js';
import { Button } from '#ui/src/components/button.tsx';
import { ChangeList } from '#ui/src/components/change-list.tsx';
import { StatusDot } from '#ui/src/components/badge.tsx';
import { EmptyState } from '#ui/src/components/empty-state.tsx';
import { TextField } from '#ui/src/components/field.tsx';
import { KeyValue } from '#ui/src/components/key-value.tsx';
import { LinkButton } from '#ui/src/components/link.tsx';
import { Notice, ProblemNotice } from '#ui/src/components/notice.tsx';
import { Panel } from '#ui/src/components/panel.tsx';
import { SkeletonList } from '#ui/src/components/skeleton.tsx';
import { Ago } from '#ui/src/components/time.tsx';
import { breakingCount, summary } from '#ui/src/kernel/deploy-changes.ts';
import type { Deployment, Status } from '#ui/src/kernel/deployment.ts';
import { ReceiptPanel } from './receipt-panel.tsx';
import { STATUS, WORDS } from './words.ts';

/** What the next deploy brings, the button that does it, what it did. */
export function ChangesPanel(props: { deployment: Deployment; onStop: () => void }) {
  const [note, setNote] = createSignal('');
  const status = () => props.deployment.status.data();
  const changes = createMemo(() => props.deployment.diff.data()?.changes ?? []);
  const breaking = createMemo(() => breakingCount(changes()));
  const nothing = () => props.deployment.diff.data() !== undefined && changes().length === 0;
  const fresh = () => nothing() && status()?.snapshot_version === null;
  const idle = () => props.deployment.phase() === 'idle';
  const label = () => {
    if (props.deployment.phase() === 'deploying') return WORDS.deploying;
    if (breaking() > 0) return WORDS.deploy_anyway;
    return nothing() && status()?.status === 'running' ? WORDS.deploy_again : WORDS.deploy;
  };
  const deploy = async (event: SubmitEvent) => {
    event.preventDefault();
    if (!idle()) return;
    await props.deployment.run(note());
    if (props.deployment.problem() === undefined) setNote('');
  };

  return (
    <div class="deploy">
      <div class="stack deploy-main">
        <Show when={props.deployment.problem()}>
          {(problem) => (
            <Notice tone="bad" live title={WORDS.refused}>
              <p>{problem().detail}</p>
              <ul class="bullets">
                <For each={problem().errors}>
                  {(error) => (
                    <li>
                      <span class="mono">{error.field}</span>: {error.message}
                    </li>
                  )}
                </For>
              </ul>
            </Notice>
          )}
        </Show>
        <Show when={props.deployment.receipt()}>
          {(receipt) => (
            <ReceiptPanel receipt={receipt()} rehearsed={props.deployment.rehearsed()} onDismiss={props.deployment.dismiss} />
          )}
        </Show>
        <Panel
          title={WORDS.changes_title}
          lead={changes().length > 0 ? summary(changes()) : undefined}
          count={changes().length || undefined}
          flush
        >
          <Show when={breaking() > 0}>
            <div class="deploy-warning">
              <Notice tone="brass" title={WORDS.breaking(breaking())}>
                <p>{WORDS.breaking_text}</p>
              </Notice>
            </div>
          </Show>
          <Switch>
            <Match when={props.deployment.diff.problem()}>
              {(problem) => (
                <div class="panel-body">
                  <ProblemNotice problem={problem()} onRetry={() => void props.deployment.diff.reload()} />
                </div>
              )}
            </Match>
            <Match when={props.deployment.diff.data() === undefined}>
              <SkeletonList rows={3} label="Reading changes" />
            </Match>
            <Match when={fresh()}>
              <EmptyState
                icon="rocket"
                title={WORDS.empty_title}
                action={
                  <LinkButton href="/connections/new" icon="plus">
                    {WORDS.empty_action}
                  </LinkButton>
                }
              >
                <p>{WORDS.empty}</p>
              </EmptyState>
            </Match>
            <Match when={nothing()}>
              <EmptyState icon="check" title={WORDS.nothing_title}>
                <p>{WORDS.nothing}</p>
              </EmptyState>
            </Match>
            <Match when={changes().length > 0}>
              <ChangeList changes={changes()} label={WORDS.changes_label} />
            </Match>
          </Switch>
        </Panel>
      </div>

      <div class="stack deploy-side">
        <Panel title={WORDS.deploy}>
          <form class="panel-body stack" onSubmit={(event) => void deploy(event)}>
            <TextField label={WORDS.note} optional value={note()} onInput={setNote} hint={WORDS.note_hint} />
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
                {WORDS.dry_run}
              </Button>
            </div>
          </form>
        </Panel>
        <Show when={status()} fallback={<SkeletonList rows={2} label="Reading the state" />}>
          {(live) => <Live status={live()} busy={props.deployment.phase() === 'stopping'} onStop={props.onStop} />}
        </Show>
      </div>
    </div>
  );
}

/** What clients get now, and from which hosts. */
function Live(props: { status: Status; busy: boolean; onStop: () => void }) {
  return (
    <Panel
      title={WORDS.state}
      actions={
        <Show when={props.status.status !== 'stopped'}>
          <Button size="small" icon="stop" busy={props.busy} onPress={props.onStop}>
            {WORDS.stop}
          </Button>
        </Show>
      }
    >
      <div class="panel-body stack">
        <KeyValue
          items={[
            {
              label: 'State',
              value: <StatusDot tone={STATUS[props.status.status].tone} label={STATUS[props.status.status].label} />,
            },
            { label: WORDS.version, value: <span class="num">{props.status.snapshot_version ?? '–'}</span> },
            {
              label: WORDS.since,
              value: (
                <Show when={props.status.deployed_at} fallback={WORDS.never}>
                  {(iso) => <Ago iso={iso()} />}
                </Show>
              ),
            },
          ]}
        />
        <Show when={props.status.last_error}>{(error) => <Notice tone="bad">{error()}</Notice>}</Show>
        <div>
          <h3 class="deploy-sub">{WORDS.hosts}</h3>
          <ul class="host-list" aria-label={WORDS.hosts}>
            <For each={props.status.hosts} fallback={<li class="soft small">{WORDS.no_hosts}</li>}>
              {(host) => (
                <li>
                  <StatusDot
                    tone={host.snapshot_version === props.status.snapshot_version ? 'good' : 'brass'}
                    label={host.snapshot_version === null ? WORDS.host_idle : WORDS.host_behind(host.snapshot_version)}
                  />
                  <span class="mono small">{host.id}</span>
                  <span class="small faint mono">{host.url ?? ''}</span>
                  <span class="small faint">
                    {WORDS.connected} <Ago iso={host.connected_at} />
                  </span>
                  <Show when={host.error}>{(error) => <span class="small">{WORDS.host_refused(error())}</span>}</Show>
                </li>
              )}
            </For>
          </ul>
        </div>
      </div>
    </Panel>
  );
}
