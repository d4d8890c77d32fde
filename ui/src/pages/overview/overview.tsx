import { plural } from '#ui/src/kernel/words.ts';
import { createMemo, onMount, Show } from 'solid-js';
import { Button } from '#ui/src/components/button.tsx';
import { SegmentedControl } from '#ui/src/components/form/choice.tsx';
import { LinkButton } from '#ui/src/components/link.tsx';
import { Notice, ProblemNotice } from '#ui/src/components/notice.tsx';
import { Aging } from '#ui/src/components/show/aging.tsx';
import { Page } from '#ui/src/components/page.tsx';
import { useQuery } from '#ui/src/components/use-query.ts';
import { DeployDialog } from '#ui/src/features/deploy/deploy-dialog.tsx';
import { Receipt } from '#ui/src/features/deploy/receipt.tsx';
import { useDeployment } from '#ui/src/features/deploy/use-deployment.ts';
import { ServingBadge } from '#ui/src/features/deploy/serving-badge.tsx';
import { FIRST_STEPS } from '#ui/src/kernel/first-run.ts';
import { useCommands, useKernel } from '#ui/src/kernel/kernel.ts';
import { INTERVAL_SECONDS, PERIODS, startOf, toRows } from '#ui/src/kernel/metrics.ts';
import { createSearchParams, oneOf } from '#ui/src/kernel/route/search-params.ts';
import { ConnectPanel } from '#ui/src/features/connect/connect-panel.tsx';
import { Stats } from './stats.tsx';
import { Gate } from './gate.tsx';
import { InsightsPanel } from './insights-panel.tsx';
import { ActivityPanel, ChangesPanel, FailuresPanel, TopPanel } from './lists.tsx';
import { TrafficPanel } from './traffic-panel.tsx';
import './dashboard.css';

const QUEUE_MS = 5_000;
const POLL_MS = 15_000;
const SHOWN = 6;

/** What is deployed, what changed, what is slow and what failed. */
export function Overview() {
  const { cache, router, session } = useKernel();
  const reads_logs = session.may('logs.list');
  const params = createSearchParams(router, { period: oneOf(['24h', '1h', '6h', '7d']) });
  const period = () => params.get('period');
  const slow = { every_ms: POLL_MS, watch: period };

  const health = useQuery((read) => read('server.health', {}), {
    every_ms: POLL_MS,
    // The read itself asks the databases.
    moves: () => true,
  });
  const stats = useQuery((read) => read('metrics.stats', { period: period() }), slow);
  const series = useQuery(
    (read) => read('metrics.timeseries', { period: period(), interval_seconds: INTERVAL_SECONDS[period()] }),
    slow,
  );
  const failures = useQuery(
    async (read) =>
      reads_logs ? read('logs.list', { success: false, since: startOf(period(), Date.now()), limit: SHOWN }) : undefined,
    slow,
  );
  const queues = useQuery((read) => read('queue.metrics', {}), { every_ms: QUEUE_MS });
  const history = useQuery((read) => read('history.list', { limit: SHOWN }));
  const rows = createMemo(() => {
    const given = stats.data();
    return given === undefined ? undefined : toRows(given);
  });

  const { deployment, asking, ask, close, stop } = useDeployment();
  const status = () => deployment.status.data();
  const queries = [deployment.status, deployment.diff, health, stats, series, failures, queues, history];
  const failed = () => queries.find(({ problem }) => problem() !== undefined);

  useCommands([{ id: 'reload', title: 'Reload the metrics', group: 'This page', key: 'r', run: () => cache.invalidate() }]);

  return (
    <Page
      title={health.data()?.server_name ?? 'Overview'}
      tab="Overview"
      badge={<ServingBadge of={status()} />}
      actions={
        <SegmentedControl
          label="Period"
          value={period()}
          onChange={(value) => params.set({ period: value })}
          options={PERIODS.map((value) => ({ value, label: value }))}
        />
      }
    >
      <Show when={failed()}>
        {(query) => (
          <Show when={query().problem()}>
            {(problem) => <ProblemNotice problem={problem()} onRetry={() => cache.invalidate()} />}
          </Show>
        )}
      </Show>
      <FirstSteps />
      <Gate deployment={deployment} onDeploy={ask} onStop={() => void stop()} />
      <Show when={deployment.receipt()}>
        {(receipt) => <Receipt receipt={receipt()} rehearsed={false} onDismiss={deployment.dismiss} />}
      </Show>
      <Stats
        period={period()}
        rows={rows()}
        series={series.data()}
        status={status()}
        health={health.data()}
        queues={queues.data()}
        failed={failed() !== undefined}
      />
      <div class="page-columns dash">
        <div class="stack" data-gap="5">
          <Show when={session.may('insights.list')}>
            <InsightsPanel />
          </Show>
          <Aging of={series}>
            <TrafficPanel period={period()} series={series.data()} />
          </Aging>
          <TopPanel period={period()} rows={rows()} failed={stats.problem()} />
          <Show when={reads_logs}>
            <Aging of={failures}>
              <FailuresPanel period={period()} failures={failures.data()} failed={failures.problem()} />
            </Aging>
          </Show>
        </div>
        <div class="stack" data-gap="5">
          <ChangesPanel
            diff={deployment.diff.data()}
            onReview={session.may('deploy.run') ? ask : () => router.navigate('/deploy')}
          />
          <ActivityPanel history={history.data()} failed={history.problem()} />
          <Show when={health.data()}>{(server) => <ConnectPanel server={server()} address />}</Show>
        </div>
      </div>
      <DeployDialog deployment={deployment} open={asking()} onClose={close} onDeploy={() => void deployment.run()} />
    </Page>
  );
}

/** The way on for an installation that is not set up yet. */
function FirstSteps() {
  const { first_run, session } = useKernel();
  onMount(() => {
    if (session.may('config.update')) void first_run.reload();
  });
  const left = () => FIRST_STEPS.length - (first_run.done()?.size ?? 0);
  return (
    <Show when={first_run.shown() && left() > 0}>
      <div class="dash-steps">
        <Notice
          title="Finish setting up"
          action={
            <>
              <LinkButton href="/welcome" kind="primary" size="small">
                Continue
              </LinkButton>
              <Button kind="quiet" size="small" onPress={() => first_run.dismiss()}>
                Not now
              </Button>
            </>
          }
        >
          <p>{`${plural(left(), 'step')} to a client that calls your tools.`}</p>
        </Notice>
      </div>
    </Show>
  );
}
