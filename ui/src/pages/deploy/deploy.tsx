import { createSignal, Show } from 'solid-js';
import { Page } from '#ui/src/components/page.tsx';
import { Views } from '#ui/src/components/show/views.tsx';
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

/** Pending changes, the live version, and earlier versions. */
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
  /** The canary to start: a candidate, or without one the working copy; undefined: the dialog is closed. */
  const [starting, setStarting] = createSignal<{ readonly candidate?: string }>();
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
      run: () => (running() ? show('changes') : setStarting({})),
    },
    { id: 'deploy-versions', title: 'See deployed versions', group: 'Server', run: () => show('versions') },
    { id: 'deploy-code', title: 'See the generated code', group: 'Server', needs: 'server.generated', run: () => show('code') },
  ]);

  const view = () => (params.get('view') === 'code' && !session.may('server.generated') ? 'changes' : params.get('view'));

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
      <Views
        value={view()}
        views={{
          changes: () => (
            <ChangesPanel
              deployment={deployment}
              onStop={() => void stop()}
              onCandidate={create}
              onCanary={() => setStarting({})}
            />
          ),
          candidates: () => (
            <CandidatesPanel
              deployment={deployment}
              creating={creating()}
              onCreating={setCreating}
              onCanary={(candidate) => setStarting({ candidate })}
            />
          ),
          versions: () => (
            <SnapshotsPanel
              deployment={deployment}
              from={params.get('from')}
              to={params.get('to')}
              onCompare={(from, to) => params.set({ from, to })}
              onCode={(version) => params.set({ view: 'code', version })}
            />
          ),
          code: () => (
            <CodePanel
              version={params.get('version')}
              onVersion={(version) => params.set({ version })}
              active={status()?.snapshot_version ?? null}
            />
          ),
        }}
      />
      <CanaryDialog
        deployment={deployment}
        open={starting() !== undefined}
        candidate={starting()?.candidate}
        onClose={() => setStarting(undefined)}
        onStarted={() => {
          setStarting(undefined);
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

/** The running canary, or the outcome of the last one, until the next deploy. */
function canaryToShow(status: Status | undefined): Status['canary'] | undefined {
  const canary = status?.canary;
  return canary?.status === 'running' || (canary?.ended_at ?? '') >= (status?.deployed_at ?? '') ? canary : undefined;
}
