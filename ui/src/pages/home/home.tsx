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
import { ActivityPanel, ChangesPanel, FailuresPanel } from './lists.tsx';
import { NeedsPanel } from './needs-panel.tsx';
import './home.css';

const SHOWN = 6;

/** What is live, what waits for a deploy, what fails, and what waits for the person. */
export function Home() {
  const { cache, router, session } = useKernel();
  const reads_logs = session.may('logs.failures');
  const params = createSearchParams(router, { period: oneOf(['24h', '1h', '6h', '7d']) });
  const period = () => params.get('period');
  const by_period = { watch: period };

  const health = useQuery((read) => read('server.health', {}));
  const stats = useQuery((read) => read('metrics.stats', { period: period() }), by_period);
  const series = useQuery(
    (read) => read('metrics.timeseries', { period: period(), interval_seconds: INTERVAL_SECONDS[period()] }),
    by_period,
  );
  const failures = useQuery(
    async (read) => (reads_logs ? read('logs.failures', { since: startOf(period(), Date.now()), limit: SHOWN }) : undefined),
    by_period,
  );
  const queues = useQuery((read) => read('queue.metrics', {}));
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
      title={health.data()?.server_name ?? 'Home'}
      tab="Home"
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
      <div class="page-columns home">
        <div class="stack" data-gap="5">
          <NeedsPanel />
          <Show when={reads_logs}>
            <Aging of={failures}>
              <FailuresPanel period={period()} failures={failures.data()} failed={failures.problem()} />
            </Aging>
          </Show>
          <Show when={session.may('insights.list')}>
            <InsightsPanel />
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
      <div class="home-steps">
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
