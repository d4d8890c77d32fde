import type { Platform } from '#core/platform/platform.ts';
import type { WithGenerated } from '#core/deploy/generated.ts';
import type { WithHosts } from '#core/hosts/host-registry.ts';
import { type WithSnapshots, readSnapshot, type StoredSnapshot, textsOf } from '#core/versions/stored-snapshots.ts';
import { deltaBetween } from '#snapshots/format/tree.ts';
import { stateOf, wasDeployed } from '#core/versions/deployment.ts';
import { snapshotToServe } from './exposure.ts';
import type { HostEvent, SnapshotEvent } from '#core/contract/deploy/control.ts';
import { gte } from 'drizzle-orm';
import { turnsOfEventLoop } from '#core/lib/slices.ts';
import { afterCommit } from '#core/platform/after-commit.ts';
import { type GateFinding, isNetworkHost, type Receipt } from '#core/contract/deploy/deploy.ts';
import { signal } from '#core/platform/signals.ts';
import { writeGenerated } from './generated.ts';
import { publishSigned, type WithSigning } from './signing/sign.ts';

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
  app: Platform & WithGenerated & WithHosts & WithSnapshots & WithSigning,
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
  const unsaved = hosts.flatMap(({ id, disk_fault }) => (disk_fault === undefined ? [] : [`The host ${id}: ${disk_fault}`]));
  const absent = !hosts.some(({ id }) => isNetworkHost(id))
    ? ['No host is connected. The snapshot is served as soon as one connects.']
    : [];
  const receipt: Receipt = {
    status: 'running',
    snapshot_version: snapshot.version,
    checksum: snapshot.checksum,
    changed,
    counts: snapshot.counts,
    warnings: [...warnings, ...refused, ...late, ...unsaved, ...absent],
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

/**
 * The event that sends a snapshot to a host: the difference to what it serves, everything when that is not stored, and no content when
 * it is the same. @param have `<version>:<checksum>` of what it serves.
 */
async function snapshotEvent(app: Platform & WithSnapshots, snapshot: StoredSnapshot, have: string | null): Promise<HostEvent> {
  const { version, checksum, created_at } = snapshot;
  const is_current = have === `${version}:${checksum}`;
  const data = is_current ? { version, checksum, created_at } : await snapshotDelta(app, snapshot, have);
  return { event: 'snapshot', data: JSON.stringify(data) };
}

/** The difference between a snapshot and what a host serves. */
export async function snapshotDelta(
  app: Platform & WithSnapshots,
  snapshot: StoredSnapshot,
  have: string | null,
): Promise<SnapshotEvent> {
  const { version, checksum, created_at, tree } = snapshot;
  const base = await baseOf(app, have);
  const { added, removed } = deltaBetween(base?.tree ?? null, tree);
  const texts = await textsOf(app, added);
  const blobs = added.map(({ kind, name, hash }) => [kind, name, hash, texts.get(hash)!] as const);
  return { version, checksum, created_at, delta: { from: base?.checksum ?? null, removed, blobs } };
}

async function baseOf(app: Platform & WithSnapshots, have: string | null): Promise<StoredSnapshot | null> {
  const [, number, checksum] = /^(\d{1,9}):(.*)$/.exec(have ?? '') ?? [];
  const base = number === undefined ? null : await readSnapshot(app, Number(number));
  return base?.checksum === checksum ? base : null;
}

/** A stream takes the second event in the turn after the first one. */
const TURNS_TO_SEND = 2;

/** Sends a snapshot to every host of this server. */
export async function publishSnapshot(
  app: Platform & WithHosts & WithSnapshots & WithSigning,
  snapshot: StoredSnapshot,
): Promise<void> {
  await publishSigned(app, snapshot);
  const events = new Map<string | null, HostEvent>();
  const missing = () => app.hosts.serving().filter((have) => !events.has(have));
  // Hosts may connect or answer while texts are read, so this repeats until each host has an event. Sending follows without a pause.
  for (let more = missing(); more.length > 0; more = missing()) {
    for (const have of more) events.set(have, await snapshotEvent(app, snapshot, have));
  }
  app.hosts.publish((have) => events.get(have) ?? { event: 'ping', data: {} });
  await turnsOfEventLoop(TURNS_TO_SEND);
  app.hosts.sent = stateOf({ desired: 'running', active_version: snapshot.version });
}

/** Sends to every host of this server that it is to stop serving. */
export function publishStop({ hosts }: WithHosts): void {
  hosts.publish({ event: 'stop', data: {} });
  hosts.sent = null;
}

/** The event for a host that connects. */
export async function eventForHost(app: Platform & WithSnapshots, have: string | null): Promise<HostEvent> {
  const { snapshot } = await snapshotToServe(app);
  // A server with an empty database does not stop a host that serves what was deployed elsewhere.
  if (snapshot === null && (have ?? '') !== '' && !(await wasDeployed(app))) return { event: 'ping', data: {} };
  return snapshot === null ? { event: 'stop', data: {} } : snapshotEvent(app, snapshot, have);
}
