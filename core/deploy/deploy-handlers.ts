import { deployCandidate, rehearseCanary, rehearseCandidate, startCanary } from './candidates/canary.ts';
import { exclusively, inUrgentSwitch, type WithDeployLock } from './deploy-locks.ts';
import { deploy, rehearse, pendingWarnings, activeWarnings, recordSwitch } from './deploys.ts';
import type { WithSources } from '#core/sources/source-pool.ts';
import { inShare } from '#core/platform/in-share.ts';
import { isPerson } from '#core/context/roles.ts';
import type { Context, Handlers } from '#core/context/context.ts';
import type { DeployApp } from './app.ts';
import { afterCommit } from '#core/platform/after-commit.ts';
import { signal } from '#core/platform/signals.ts';
import { lastErrorOf, statusOf } from './status.ts';
import { readDeployment, writeDeployment } from '#core/versions/deployment.ts';
import { sideSnapshotsEvent } from './candidates/side-snapshots.ts';
import { endCanary, lastCanary } from './candidates/stored-canaries.ts';
import { runningCanary } from '#core/versions/deployment.ts';
import { snapshotToServe } from './exposure.ts';
import { publishStop } from './publish.ts';
import { markSuperusers, pendingChanges, pendingState, pendingTotals } from './pending.ts';

/** Deploys of one token that run or wait at the same time. */
const MAX_PER_TOKEN = 2;

export const deployHandlers: Pick<Handlers<DeployApp>, 'deploy.run' | 'deploy.status' | 'deploy.diff' | 'deploy.stop'> = {
  'deploy.run': async (context, { dry_run, candidate, canary, ...request }) => {
    const { app } = context;
    if (dry_run && canary !== undefined) return rehearseCanary(context, candidate ?? null, canary, request);
    if (dry_run) return candidate === undefined ? rehearse(context, request) : rehearseCandidate(context, candidate, request);
    const served = await readDeployment(app);
    return withinShare(context, () =>
      exclusively(
        app,
        () => {
          if (canary !== undefined) return startCanary(context, candidate ?? null, canary, request);
          return candidate === undefined ? deploy(context, request, served) : deployCandidate(context, candidate, request);
        },
        context,
      ),
    );
  },
  'deploy.status': async ({ app }) => {
    await app.hosts.refresh();
    const state = await readDeployment(app);
    const { refused } = await snapshotToServe(app);
    const { count, checksum } = await pendingState(app);
    return {
      status: await statusOf(app, state, refused),
      snapshot_version: state.active_version,
      deployed_at: state.deployed_at,
      pending_changes: count,
      pending_checksum: checksum,
      hosts: app.hosts.list(),
      last_error: lastErrorOf(app, state, refused),
      warnings: await activeWarnings(app, state),
      canary: await lastCanary(app),
    };
  },
  'deploy.diff': async ({ app }, { values }) => {
    const { checksum, changes } = await pendingChanges(app);
    return {
      from_version: (await readDeployment(app)).active_version,
      checksum,
      changes: values ? await markSuperusers(app, changes) : changes.map((change) => ({ ...change, values: {} })),
      totals: await pendingTotals(app),
      warnings: await pendingWarnings(app),
    };
  },
  'deploy.stop': (context) =>
    inUrgentSwitch(
      context.app,
      async () => {
        const { app } = context;
        const ended = await app.store.write(async (tx) => {
          await recordSwitch(context, tx, 'stopped');
          await writeDeployment(app, tx, { desired: 'stopped', last_error: null });
          const canary = await runningCanary(app, tx);
          if (canary !== null) await endCanary(context, tx, canary, { status: 'aborted', reason: 'The server was stopped.' });
          return canary !== null;
        });
        publishStop(app);
        if (ended)
          await afterCommit(app, 'telling hosts of the canary', async () => app.hosts.publish(await sideSnapshotsEvent(app)));
        await signal(app, 'deployment');
        app.log.from('deploy').info('server stopped');
        return { status: 'stopped' as const };
      },
      context,
    ),
};

/** Limits the deploys of one token, so that others can deploy as well. */
async function withinShare<T>({ app, actor }: Context<WithSources & WithDeployLock>, work: () => Promise<T>): Promise<T> {
  if (isPerson(actor, 'viewer') || actor?.id == null) return work();
  const sentence = 'A deploy of this token runs and another one waits. Wait for them to finish.';
  return inShare(app.waiting_deploys, actor.id, { most: MAX_PER_TOKEN, sentence }, work);
}
