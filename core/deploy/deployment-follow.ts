import type { Platform } from '#core/platform/platform.ts';
import type { WithHosts } from '#core/hosts/host-registry.ts';
import type { WithSnapshots } from '#core/versions/stored-snapshots.ts';
import { runEvery } from '#core/platform/run-every.ts';
import { besideNews } from './candidates/beside.ts';
import { readDeployment } from '#core/versions/deployment.ts';
import { snapshotToServe } from './exposure.ts';
import { publishSnapshot } from './snapshot-event.ts';

/** Contract section 0: a deploy reaches every host without Redis. */
const FOLLOW_MS = 2_000;

/** Brings the hosts of this server to what another server deployed or stopped, and to what they could not be told. @returns a function that ends it. */
export function followDeployments(app: Platform & WithHosts & WithSnapshots, every_ms = FOLLOW_MS): () => void {
  let known: string | null = null;
  let beside: string | null = null;
  const look = async (): Promise<void> => {
    const { desired, active_version } = await readDeployment(app);
    const now = `${desired}:${active_version}`;
    // The first time too: hosts may have come before, and who has it is told no more than that.
    if (known !== now) {
      const { snapshot } = await snapshotToServe(app);
      if (snapshot !== null) await publishSnapshot(app, snapshot);
      // Before the first deploy there is nothing to stop, and hosts may serve what another installation deployed.
      else if (active_version !== null) app.hosts.publish({ event: 'stop', data: {} });
      known = now;
    }
    const news = await besideNews(app);
    if (beside === news.revision) return;
    app.hosts.publish({ event: 'beside', data: news });
    beside = news.revision;
  };
  return runEvery(app, { every_ms, what: 'reading the deployment', work: look, wake: 'deployment' });
}
