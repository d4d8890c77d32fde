import type { Platform } from '#core/platform/platform.ts';
import type { WithHosts } from '#core/hosts/host-registry.ts';
import type { WithSnapshots } from '#core/versions/stored-snapshots.ts';
import { type Outcome, runEvery } from '#core/platform/run-every.ts';
import { readSideSnapshots } from './candidates/side-snapshots.ts';
import { readDeployment, stateOf } from '#core/versions/deployment.ts';
import { snapshotToServe } from './exposure.ts';
import { publishSnapshot, publishStop } from './publish.ts';
import { publishSigned, type WithSigning } from './signing/sign.ts';

/** Without Redis, deploys of other servers are noticed this often. */
const FOLLOW_MS = 2_000;

/** Sends to the hosts of this server what other servers deployed or stopped, and what could not be sent before. @returns a function that stops it. */
export function followDeployments(app: Platform & WithHosts & WithSnapshots & WithSigning, every_ms = FOLLOW_MS): () => void {
  let side_revision: string | null = null;
  const sendChanges = async (): Promise<Outcome> => {
    const state = await readDeployment(app);
    const now = stateOf(state);
    // Also the first time: hosts may have connected before. A host that has the snapshot receives only its version.
    if (app.hosts.sent !== now) {
      const { snapshot } = await snapshotToServe(app);
      if (snapshot !== null) await publishSnapshot(app, snapshot);
      // Before the first deploy there is nothing to stop: hosts may serve what another installation deployed.
      else if (state.active_version !== null) publishStop(app);
      app.hosts.sent = now;
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
