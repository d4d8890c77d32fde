import type { App } from '#core/app.ts';
import { type Counts, isNetworkHost, type Receipt } from '#core/contract/deploy/deploy.ts';
import { AppError } from '#core/errors.ts';
import type { SnapshotContent } from '#snapshots/format.ts';
import { signal } from '#core/cluster/signals.ts';
import { serverOf, snapshotEvent, type StoredSnapshot } from './deployment.ts';

/** How long a receipt waits for hosts (contract section 9). */
const ACK_TIMEOUT_MS = 5_000;

/** A new address is opened before the old one closes; a host that cannot bind it refuses the deploy. */
export async function probeListener(app: App, active: StoredSnapshot | null, { server }: SnapshotContent): Promise<void> {
  const old = active === null ? null : serverOf(active);
  if (old?.host === server.host && old.port === server.port) return;
  await app.hosts.refresh();
  const refusals = await app.hosts.probe(server.host, server.port, app.ids(), ACK_TIMEOUT_MS);
  if (refusals.length > 0) {
    throw new AppError('cannot_deploy', `The MCP host cannot listen on ${server.host}:${server.port}: ${refusals.join(' ')}`);
  }
}

export interface Published {
  readonly changed: boolean;
  readonly content: SnapshotContent;
  readonly warnings: readonly string[];
  /** `performance.now()` when the work began. */
  readonly started: number;
}

/** Brings every connected host to a stored snapshot and waits for their answers. */
export async function publish(
  app: App,
  snapshot: StoredSnapshot,
  { changed, content, warnings, started }: Published,
): Promise<Receipt> {
  // What is stored is deployed, whatever is known of the hosts.
  await app.hosts.refresh().catch(() => undefined);
  app.hosts.publish((have) => snapshotEvent(snapshot, have));
  const acknowledged = app.hosts.acknowledged(snapshot.checksum, ACK_TIMEOUT_MS);
  await signal(app, 'deployment');
  const hosts = await acknowledged;
  const late = hosts
    .filter(({ acked_ms }) => acked_ms === null)
    .map(({ id }) => `The host ${id} is connected and has not answered; until it does, deploys do not wait for it.`);
  const refused = hosts.flatMap(({ id, error }) => (error === null ? [] : [`The host ${id} refused the snapshot: ${error}`]));
  const absent = !hosts.some(({ id }) => isNetworkHost(id))
    ? ['No host is connected: the snapshot is served as soon as one comes.']
    : [];
  const receipt: Receipt = {
    status: 'running',
    snapshot_version: snapshot.version,
    checksum: snapshot.checksum,
    changed,
    counts: countsOf(content),
    warnings: [...warnings, ...refused, ...late, ...absent],
    duration_ms: elapsed(started),
    hosts,
  };
  const log = app.log.from('deploy');
  log.info('deployed', { version: snapshot.version, changed, duration_ms: receipt.duration_ms, hosts: hosts.length });
  for (const warning of receipt.warnings) log.warning('deploy warning', { version: snapshot.version, warning });
  return receipt;
}

export const countsOf = (content: SnapshotContent): Counts => ({
  connections: content.connections.length,
  tools: content.tools.length,
  resources: content.resources.length,
  prompts: content.prompts.length,
});

/** Milliseconds since `started`, with two decimals. */
export const elapsed = (started: number): number => Math.round((performance.now() - started) * 100) / 100;
