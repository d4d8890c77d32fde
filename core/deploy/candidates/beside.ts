import type { Platform } from '#core/platform/platform.ts';
import type { WithHosts } from '#core/hosts/host-registry.ts';
import { afterCommit } from '#core/platform/after-commit.ts';
import { signal } from '#core/platform/signals.ts';
import { canonical, checksum } from '#snapshots/format/canonical.ts';
import type { SideSnapshotsEvent, HostEvent } from '#core/contract/deploy/control.ts';
import { readsOnly } from './issuer.ts';
import { runningCanary } from '#core/versions/running-canary.ts';
import { candidateHeads } from '#core/versions/stored-candidates.ts';

/** What an answer names that a host gives when it holds a state. */
export const besideRequest = (revision: string): string => `beside:${revision}`;

/** What hosts hold beside the live version now. */
export async function besideNews(app: Platform): Promise<SideSnapshotsEvent> {
  const row = await runningCanary(app);
  // What is stored for a replay alone, hosts ask for by its name.
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

export const sideSnapshotsEvent = async (app: Platform): Promise<HostEvent> => ({ event: 'beside', data: await besideNews(app) });

/** Brings every host to what is stored that it is to hold, and waits for the answers. @returns what hosts say against it. */
export async function publishSideSnapshots(app: Platform & WithHosts): Promise<string[]> {
  const refused = await afterCommit(app, 'telling hosts of candidates', async () => {
    await app.hosts.refresh().catch(() => undefined);
    const news = await besideNews(app);
    return app.hosts.answers(besideRequest(news.revision), app.waits.hosts_ms, async () => {
      app.hosts.publish({ event: 'beside', data: news });
      await signal(app, 'deployment');
    });
  });
  return refused ?? [];
}
