import { createEffect, on, onCleanup, onMount, Show } from 'solid-js';
import { Badge } from '#ui/src/components/badge.tsx';
import { Page } from '#ui/src/components/page.tsx';
import { Tabs } from '#ui/src/components/tabs.tsx';
import { breakingCount } from '#ui/src/kernel/deploy-changes.ts';
import { createDeployment } from '#ui/src/kernel/deployment.ts';
import { useKernel } from '#ui/src/kernel/kernel.ts';
import { createPoll } from '#ui/src/kernel/query.ts';
import { createSearchParams, oneOf, whole } from '#ui/src/kernel/search-params.ts';
import { ChangesPanel } from './changes-panel.tsx';
import { CodePanel } from './code-panel.tsx';
import { SnapshotsPanel } from './snapshots-panel.tsx';
import { STATUS, WORDS } from './words.ts';
import './deploy.css';

const POLL_MS = 2_000;

/** What waits, what is live, what was live before. */
export function Deploy() {
  const { call, commands, router, dialogs, toasts } = useKernel();
  const params = createSearchParams(router, {
    view: oneOf(['changes', 'versions', 'code']),
    from: whole(0),
    to: whole(0),
    version: whole(0),
  });
  const deployment = createDeployment(call, () => void deployment.diff.reload());
  const status = () => deployment.status.data();
  const poll = createPoll({
    run: deployment.refresh,
    every_ms: POLL_MS,
    visible: () => document.visibilityState === 'visible' && deployment.phase() === 'idle',
  });
  onMount(() => {
    void deployment.refresh();
    void deployment.diff.reload();
    poll.start();
  });
  onCleanup(() => poll.stop());
  createEffect(
    on(
      () => deployment.receipt(),
      (receipt) => {
        if (receipt !== undefined) void deployment.diff.reload();
      },
      { defer: true },
    ),
  );

  const stop = async () => {
    const live = status();
    if (live === undefined || live.status === 'stopped') return;
    const agreed = await dialogs.confirm({
      title: WORDS.stop_title,
      text: WORDS.stop_text,
      action: WORDS.stop,
      cancel: WORDS.stop_keep,
      danger: true,
    });
    if (agreed && (await deployment.stop())) toasts.show(WORDS.stopped);
  };
  const show = (view: 'changes' | 'versions' | 'code') => params.set({ view });
  /** By a key or the palette: what may break a client is looked at first, and deployed by its button. */
  const deploy = async () => {
    show('changes');
    await deployment.diff.reload();
    const breaking = breakingCount(deployment.diff.data()?.changes ?? []);
    if (breaking > 0) toasts.show(WORDS.breaking(breaking));
    else await deployment.run();
  };
  const rehearse = async () => {
    show('changes');
    await deployment.rehearse();
  };
  onCleanup(
    commands.register([
      { id: 'deploy', title: 'Deploy', group: 'Server', key: 'd', run: () => void deploy() },
      {
        id: 'deploy-dry',
        title: 'Try the deploy without deploying',
        group: 'Server',
        keywords: 'dry run rehearse',
        run: () => void rehearse(),
      },
      { id: 'deploy-stop', title: 'Stop serving MCP clients', group: 'Server', run: () => void stop() },
      { id: 'deploy-versions', title: 'See deployed versions', group: 'Server', run: () => show('versions') },
      { id: 'deploy-code', title: 'See the generated code', group: 'Server', run: () => show('code') },
    ]),
  );

  return (
    <Page
      title={WORDS.title}
      lead={WORDS.lead}
      width="full"
      badge={
        <Show when={status()}>
          {(live) => (
            <Badge tone={STATUS[live().status].tone} dot pulse={live().status === 'deploying'}>
              {STATUS[live().status].label}
            </Badge>
          )}
        </Show>
      }
    >
      <Tabs
        label={WORDS.parts}
        value={params.get('view')}
        onChange={show}
        tabs={[
          {
            value: 'changes',
            label: WORDS.changes,
            count: status()?.pending_changes,
            panel: () => <ChangesPanel deployment={deployment} onStop={() => void stop()} />,
          },
          {
            value: 'versions',
            label: WORDS.snapshots,
            panel: () => (
              <SnapshotsPanel
                deployment={deployment}
                from={params.get('from')}
                to={params.get('to')}
                onCompare={(from, to) => params.set({ from, to })}
                onCode={(version) => params.set({ view: 'code', version })}
              />
            ),
          },
          {
            value: 'code',
            label: WORDS.code,
            panel: () => (
              <CodePanel
                version={params.get('version')}
                onVersion={(version) => params.set({ version })}
                active={status()?.snapshot_version ?? null}
              />
            ),
          },
        ]}
      />
    </Page>
  );
}
