import { createEffect, createMemo, createSignal, on, onCleanup, onMount, Show } from 'solid-js';
import { Badge } from '#ui/src/components/badge.tsx';
import { Button } from '#ui/src/components/button.tsx';
import { SegmentedControl } from '#ui/src/components/choice.tsx';
import { LinkButton } from '#ui/src/components/link.tsx';
import { Notice } from '#ui/src/components/notice.tsx';
import { Page } from '#ui/src/components/page.tsx';
import { useQuery } from '#ui/src/components/use-query.ts';
import { createDeployment } from '#ui/src/kernel/deployment.ts';
import { FIRST_STEPS } from '#ui/src/kernel/first-run.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { INTERVAL_SECONDS, PERIODS, startOf, toRows } from '#ui/src/kernel/metrics.ts';
import { createPoll } from '#ui/src/kernel/query.ts';
import { createSearchParams, oneOf } from '#ui/src/kernel/search-params.ts';
import { ChangesDialog } from './changes-dialog.tsx';
import { ConnectPanel } from './connect-panel.tsx';
import { Figures } from './figures.tsx';
import { Gate } from './gate.tsx';
import { ActivityPanel, ChangesPanel, FailuresPanel, TopPanel } from './lists.tsx';
import { Receipt } from './receipt.tsx';
import { TrafficPanel } from './traffic-panel.tsx';
import { STATUS_WORDS, WORDS } from './words.ts';
import './dashboard.css';

const STATUS_MS = 2_000;
const QUEUE_MS = 5_000;
const POLL_MS = 15_000;
const SHOWN = 6;

/** What is deployed, what changed, what is slow and what failed. */
export function Overview() {
  const { call, commands, router } = useKernel();
  const [reviewing, setReviewing] = createSignal(false);
  const params = createSearchParams(router, { period: oneOf(['24h', '1h', '6h', '7d']) });
  const period = () => params.get('period');
  const slow = { every_ms: POLL_MS, watch: period };

  const health = useQuery((signal) => call('server.health', {}, signal), { every_ms: POLL_MS });
  const stats = useQuery((signal) => call('metrics.stats', { period: period() }, signal), slow);
  const series = useQuery(
    (signal) => call('metrics.timeseries', { period: period(), interval_seconds: INTERVAL_SECONDS[period()] }, signal),
    slow,
  );
  const failures = useQuery(
    (signal) => call('logs.list', { success: false, since: startOf(period(), Date.now()), limit: SHOWN }, signal),
    slow,
  );
  const queues = useQuery((signal) => call('queue.metrics', {}, signal), { every_ms: QUEUE_MS });
  const history = useQuery((signal) => call('history.list', { limit: SHOWN }, signal), { every_ms: POLL_MS });
  const rows = createMemo(() => {
    const given = stats.data();
    return given === undefined ? undefined : toRows(given);
  });

  const reloadAll = () =>
    void Promise.all([health.reload(), stats.reload(), series.reload(), failures.reload(), queues.reload(), history.reload()]);
  const deployment = createDeployment(call, reloadAll);
  const status = () => deployment.status.data();
  const offline = () => deployment.status.problem()?.code === 'offline';

  const review = () => {
    setReviewing(true);
    void deployment.diff.reload();
  };
  /** Straight away, unless a client that knows the live version may break: then the changes are shown first. */
  const deploy = async () => {
    if (deployment.phase() !== 'idle' || status() === undefined) return;
    if ((status()?.pending_changes ?? 0) > 0) {
      await deployment.diff.reload();
      if (deployment.diff.data()?.changes.some((change) => change.breaking.length > 0)) {
        setReviewing(true);
        return;
      }
    }
    await deployment.run();
  };

  const poll = createPoll({
    run: deployment.refresh,
    every_ms: STATUS_MS,
    visible: () => document.visibilityState === 'visible' && deployment.phase() === 'idle',
  });
  onMount(() => {
    void deployment.refresh();
    poll.start();
  });
  onCleanup(() => poll.stop());
  createEffect(
    on(
      () => status()?.pending_changes,
      (pending) => pending !== undefined && void deployment.diff.reload(),
    ),
  );
  onCleanup(
    commands.register([
      { id: 'deploy', title: 'Deploy', group: 'Server', key: 'd', run: () => void deploy() },
      { id: 'changes', title: 'See what the next deploy will change', group: 'Server', key: 'c', run: review },
      { id: 'reload', title: 'Read everything again', group: 'This page', key: 'r', run: reloadAll },
    ]),
  );

  return (
    <Page
      title={health.data()?.server_name ?? WORDS.title}
      badge={
        <Show when={status()}>
          {(live) => (
            <Badge tone={STATUS_WORDS[live().status].tone} dot pulse={live().status === 'deploying'}>
              {STATUS_WORDS[live().status].word}
            </Badge>
          )}
        </Show>
      }
      actions={
        <SegmentedControl
          label={WORDS.period}
          value={period()}
          onChange={(value) => params.set({ period: value })}
          options={PERIODS.map((value) => ({ value, label: value }))}
        />
      }
    >
      <Show when={offline()}>
        <p class="banner" role="alert">
          {WORDS.offline}
        </p>
      </Show>
      <FirstSteps />
      <Gate deployment={deployment} onDeploy={() => void deploy()} onReview={review} />
      <Show when={deployment.receipt()}>{(receipt) => <Receipt receipt={receipt()} onDismiss={deployment.dismiss} />}</Show>
      <Figures
        period={period()}
        rows={rows()}
        series={series.data()}
        status={status()}
        health={health.data()}
        queues={queues.data()}
      />
      <div class="dash">
        <div class="stack">
          <TrafficPanel period={period()} series={series.data()} />
          <TopPanel period={period()} rows={rows()} />
          <FailuresPanel period={period()} failures={failures.data()} />
        </div>
        <div class="stack">
          <ChangesPanel diff={deployment.diff.data()} onReview={review} />
          <ActivityPanel history={history.data()} />
          <Show when={health.data()}>{(server) => <ConnectPanel server={server()} />}</Show>
        </div>
      </div>
      <ChangesDialog
        deployment={deployment}
        open={reviewing()}
        onClose={() => setReviewing(false)}
        onDeploy={() => {
          setReviewing(false);
          void deployment.run();
        }}
      />
    </Page>
  );
}

/** The way on for an installation that is not set up yet. */
function FirstSteps() {
  const { first_run } = useKernel();
  onMount(() => void first_run.reload());
  const left = () => FIRST_STEPS.length - (first_run.done()?.size ?? 0);
  return (
    <Show when={first_run.shown() && left() > 0}>
      <div class="dash-steps">
        <Notice
          title={WORDS.steps_title}
          action={
            <>
              <LinkButton href="/welcome" kind="primary" size="small">
                {WORDS.steps_go}
              </LinkButton>
              <Button kind="quiet" size="small" onPress={() => first_run.dismiss()}>
                {WORDS.steps_skip}
              </Button>
            </>
          }
        >
          <p>{WORDS.steps_text(left())}</p>
        </Notice>
      </div>
    </Show>
  );
}
