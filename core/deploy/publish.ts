import type { Platform } from '#core/platform/platform.ts';
import type { WithGenerated } from '#core/deploy/generated.ts';
import type { WithHosts } from '#core/hosts/host-registry.ts';
import type { WithSnapshots, StoredSnapshot } from '#core/versions/stored-snapshots.ts';
import { gte } from 'drizzle-orm';
import { afterCommit } from '#core/platform/after-commit.ts';
import { type GateFinding, isNetworkHost, type Receipt } from '#core/contract/deploy/deploy.ts';
import { signal } from '#core/platform/signals.ts';
import { writeGenerated } from './generated.ts';
import { publishSnapshot } from './snapshot-event.ts';

/** A host that reported within this time is expected to reconnect: it, this server or the network was interrupted. */
const RECENT_MS = 30_000;

export interface Published {
  readonly changed: boolean;
  readonly warnings: readonly string[];
  readonly findings?: readonly GateFinding[];
  /** `performance.now()` when the work began. */
  readonly started: number;
}

/** Sends a stored snapshot to every connected host. Call `receipt` outside of `inSwitch`: it waits for the answers. */
export async function publish(
  app: Platform & WithGenerated & WithHosts & WithSnapshots,
  snapshot: StoredSnapshot,
  published: Published,
): Promise<{ readonly receipt: () => Promise<Receipt> }> {
  // The snapshot is stored, so it is deployed even if the hosts of other servers cannot be read.
  await app.hosts.refresh().catch(() => undefined);
  const is_expected = app.hosts.list().length > 0 || (await isHostExpected(app).catch(() => false));
  // Listens first: a host may answer before the snapshot was sent to the last one.
  const acknowledged = app.hosts.acknowledged(snapshot.checksum, app.waits.hosts_ms, is_expected);
  await afterCommit(app, 'sending a version to hosts', () => publishSnapshot(app, snapshot));
  await signal(app, 'deployment');
  if (app.writes_projects !== false) app.background(writeGenerated(app, snapshot));
  return { receipt: async () => toReceipt(app, snapshot, published, await acknowledged) };
}

function toReceipt(
  app: Platform,
  snapshot: StoredSnapshot,
  { changed, warnings, findings, started }: Published,
  hosts: Receipt['hosts'],
): Receipt {
  const late = hosts
    .filter(({ acked_ms }) => acked_ms === null)
    .map(({ id }) => `The host ${id} is connected but has not answered. Deploys do not wait for it until it does.`);
  const refused = hosts.flatMap(({ id, error }) => (error === null ? [] : [`The host ${id} rejected the snapshot: ${error}`]));
  const absent = !hosts.some(({ id }) => isNetworkHost(id))
    ? ['No host is connected. The snapshot is served as soon as one connects.']
    : [];
  const receipt: Receipt = {
    status: 'running',
    snapshot_version: snapshot.version,
    checksum: snapshot.checksum,
    changed,
    counts: snapshot.counts,
    warnings: [...warnings, ...refused, ...late, ...absent],
    ...(findings !== undefined && { findings: [...findings] }),
    duration_ms: elapsed(started),
    hosts,
  };
  const log = app.log.from('deploy');
  log.info('deployed', { version: snapshot.version, changed, duration_ms: receipt.duration_ms, hosts: hosts.length });
  for (const warning of receipt.warnings) log.warning('deploy warning', { version: snapshot.version, warning });
  return receipt;
}

/** Whether a host will connect soon: it starts with this server, or it disconnected a moment ago. */
async function isHostExpected(app: Platform): Promise<boolean> {
  if (app.env.SVC_ROLE === 'all') return true;
  const { host_reports } = app.store.tables;
  const recent = new Date(app.clock().getTime() - RECENT_MS).toISOString();
  return (await app.store.db.$count(host_reports, gte(host_reports.reported_at, recent))) > 0;
}

/** Milliseconds since `started`, with two decimals. */
export const elapsed = (started: number): number => Math.round((performance.now() - started) * 100) / 100;
