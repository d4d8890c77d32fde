import { createSignal, Show } from 'solid-js';
import { Page } from '#ui/src/components/page.tsx';
import { Tabs } from '#ui/src/components/tabs.tsx';
import { useCommands, useKernel } from '#ui/src/kernel/kernel.ts';
import { createSearchParams, oneOf, whole } from '#ui/src/kernel/route/search-params.ts';
import { CandidatesPanel } from './candidates-panel.tsx';
import { ChangesPanel } from './changes-panel.tsx';
import { CodePanel } from './code-panel.tsx';
import { SnapshotsPanel } from './snapshots-panel.tsx';
import { CanaryDialog } from '#ui/src/features/deploy/canary-dialog.tsx';
import { CanaryPanel } from '#ui/src/features/deploy/canary-panel.tsx';
import { DeployDialog } from '#ui/src/features/deploy/deploy-dialog.tsx';
import type { Status } from '#ui/src/features/deploy/deployment.ts';
import { useDeployment } from '#ui/src/features/deploy/use-deployment.ts';
import { ServingBadge } from '#ui/src/features/deploy/serving-badge.tsx';
import './deploy.css';

/** What waits, what is live, what was live before. */
export function Deploy() {
  const { router, session } = useKernel();
  const params = createSearchParams(router, {
    view: oneOf(['changes', 'candidates', 'versions', 'code']),
    from: whole(0),
    to: whole(0),
    version: whole(0),
  });
  const { deployment, asking, close, stop } = useDeployment();
  const status = () => deployment.status.data();
  const show = (view: 'changes' | 'candidates' | 'versions' | 'code') => params.set({ view });
  const [creating, setCreating] = createSignal(false);
  /** What a canary is to serve: a candidate, or nothing for the working copy; undefined: nobody asks for one. */
  const [wanted, setWanted] = createSignal<{ readonly candidate?: string }>();
  const running = () => status()?.canary?.status === 'running';
  const create = () => {
    show('candidates');
    setCreating(true);
  };
  const rehearse = async () => {
    show('changes');
    await deployment.rehearse();
  };
  useCommands([
    {
      id: 'deploy-dry',
      title: 'Dry run',
      group: 'Server',
      keywords: 'deploy check try',
      needs: 'deploy.run',
      run: () => void rehearse(),
    },
    {
      id: 'candidate-new',
      title: 'New candidate',
      group: 'Server',
      keywords: 'try preview',
      needs: 'candidates.create',
      run: create,
    },
    {
      id: 'canary-start',
      title: 'Start canary',
      group: 'Server',
      keywords: 'share callers rollout',
      needs: 'deploy.run',
      run: () => (running() ? show('changes') : setWanted({})),
    },
    { id: 'deploy-versions', title: 'See deployed versions', group: 'Server', run: () => show('versions') },
    { id: 'deploy-code', title: 'See the generated code', group: 'Server', needs: 'server.generated', run: () => show('code') },
  ]);

  const code = () => ({
    value: 'code' as const,
    label: 'Generated code',
    panel: () => (
      <CodePanel
        version={params.get('version')}
        onVersion={(version) => params.set({ version })}
        active={status()?.snapshot_version ?? null}
      />
    ),
  });

  return (
    <Page
      title="Deploy"
      lead="You edit a working copy. A deploy freezes it into a version and every host switches to it at once."
      width="full"
      badge={<ServingBadge of={status()} />}
    >
      <Show when={canaryToShow(status())}>
        {(canary) => <CanaryPanel deployment={deployment} canary={canary()} onRefused={() => show('changes')} />}
      </Show>
      <Tabs
        label="Deploy views"
        value={params.get('view')}
        onChange={show}
        tabs={[
          {
            value: 'changes',
            label: 'Changes',
            count: status()?.pending_changes,
            panel: () => (
              <ChangesPanel
                deployment={deployment}
                onStop={() => void stop()}
                onCandidate={create}
                onCanary={() => setWanted({})}
              />
            ),
          },
          {
            value: 'candidates',
            label: 'Candidates',
            panel: () => (
              <CandidatesPanel
                deployment={deployment}
                creating={creating()}
                onCreating={setCreating}
                onCanary={(candidate) => setWanted({ candidate })}
              />
            ),
          },
          {
            value: 'versions',
            label: 'Versions',
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
          ...(session.may('server.generated') ? [code()] : []),
        ]}
      />
      <CanaryDialog
        deployment={deployment}
        open={wanted() !== undefined}
        candidate={wanted()?.candidate}
        onClose={() => setWanted(undefined)}
        onStarted={() => {
          setWanted(undefined);
          show('changes');
        }}
      />
      <DeployDialog
        deployment={deployment}
        open={asking()}
        onClose={close}
        onDeploy={() => {
          show('changes');
          void deployment.run();
        }}
      />
    </Page>
  );
}

/** The one that runs, or how the last one ended, until the next deploy. */
function canaryToShow(status: Status | undefined): Status['canary'] | undefined {
  const canary = status?.canary;
  return canary?.status === 'running' || (canary?.ended_at ?? '') >= (status?.deployed_at ?? '') ? canary : undefined;
}
