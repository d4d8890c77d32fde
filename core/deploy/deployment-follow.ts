import type { Platform } from '#core/platform/platform.ts';
import type { WithHosts } from '#core/hosts/host-registry.ts';
import type { WithSnapshots } from '#core/versions/stored-snapshots.ts';
import { type Outcome, runEvery } from '#core/platform/run-every.ts';
import { readSideSnapshots } from './candidates/side-snapshots.ts';
import { readDeployment } from '#core/versions/deployment.ts';
import { snapshotToServe } from './exposure.ts';
import { publishSnapshot } from './publish.ts';
import { publishSigned, type WithSigning } from './signing/sign.ts';

/** Without Redis, deploys of other servers are noticed this often. */
const FOLLOW_MS = 2_000;

/** Sends to the hosts of this server what other servers deployed or stopped, and what could not be sent before. @returns a function that stops it. */
export function followDeployments(app: Platform & WithHosts & WithSnapshots & WithSigning, every_ms = FOLLOW_MS): () => void {
  let known: string | null = null;
  let side_revision: string | null = null;
  const sendChanges = async (): Promise<Outcome> => {
    const { desired, active_version } = await readDeployment(app);
    const now = `${desired}:${active_version}`;
    // Also the first time: hosts may have connected before. A host that has the snapshot receives only its version.
    if (known !== now) {
      const { snapshot } = await snapshotToServe(app);
      if (snapshot !== null) await publishSnapshot(app, snapshot);
      // Before the first deploy there is nothing to stop: hosts may serve what another installation deployed.
      else if (active_version !== null) app.hosts.publish({ event: 'stop', data: {} });
      known = now;
    }
    const side_snapshots = await readSideSnapshots(app);
    if (side_revision !== side_snapshots.revision) {
      await publishSigned(app);
      app.hosts.publish({ event: 'beside', data: side_snapshots });
      side_revision = side_snapshots.revision;
    }
    return 'idle';
  };
  return runEvery(app, { every_ms, what: 'reading the deployment', work: sendChanges, wake: 'deployment' });
}
