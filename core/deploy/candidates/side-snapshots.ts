import type { Platform } from '#core/platform/platform.ts';
import type { WithHosts } from '#core/hosts/host-registry.ts';
import { publishSigned, type WithSigning } from '#core/deploy/signing/sign.ts';
import type { WithSnapshots } from '#core/versions/stored-snapshots.ts';
import { afterCommit } from '#core/platform/after-commit.ts';
import { signal } from '#core/platform/signals.ts';
import { canonical, checksum } from '#snapshots/format/canonical.ts';
import type { SideSnapshotsEvent, HostEvent } from '#core/contract/deploy/control.ts';
import { readsOnly } from './issuer.ts';
import { runningCanary } from '#core/versions/deployment.ts';
import { candidateHeads } from '#core/versions/stored-candidates.ts';

/** The request id in the answer of a host that has loaded a revision. */
const sideSnapshotsRequest = (revision: string): string => `beside:${revision}`;

/** The candidates, and the canary, that hosts should serve beside the live version. */
export async function readSideSnapshots(app: Platform): Promise<SideSnapshotsEvent> {
  const row = await runningCanary(app);
  // Candidates without an address are only for replays. Hosts request them by name.
  const heads = (await candidateHeads(app)).filter(({ id, digest }) => digest !== null || id === row?.candidate_id);
  const snapshots = heads.map(({ id, checksum: sum, expires_at, digest, token_prefix, actor }) => ({
    id,
    checksum: sum,
    expires_at: digest === null ? null : expires_at,
    digest,
    token_prefix,
    reads_only: readsOnly(actor),
  }));
  const canary = row && { id: row.id, candidate: row.candidate_id, percent: row.percent, seed: row.seed };
  const state = { snapshots, canary };
  return { revision: checksum(canonical(state)).slice(-16), ...state };
}

export const sideSnapshotsEvent = async (app: Platform): Promise<HostEvent> => ({
  event: 'beside',
  data: await readSideSnapshots(app),
});

/** Sends the candidates and the canary to every host, and waits for the answers. @returns the refusals. */
export async function publishSideSnapshots(app: Platform & WithHosts & WithSnapshots & WithSigning): Promise<string[]> {
  const refused = await afterCommit(app, 'telling hosts of candidates', async () => {
    await app.hosts.refresh().catch(() => undefined);
    await publishSigned(app);
    const data = await readSideSnapshots(app);
    return app.hosts.answers(sideSnapshotsRequest(data.revision), app.waits.hosts_ms, async () => {
      app.hosts.publish({ event: 'beside', data });
      await signal(app, 'deployment');
    });
  });
  return refused ?? [];
}
