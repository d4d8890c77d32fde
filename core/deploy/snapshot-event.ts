import type { Platform } from '#core/platform/platform.ts';
import { type WithSnapshots, readSnapshot, type StoredSnapshot, textsOf } from '#core/versions/stored-snapshots.ts';
import type { WithHosts } from '#core/hosts/host-registry.ts';
import { deltaBetween } from '#snapshots/format/tree.ts';
import { wasDeployed } from '#core/versions/deployment.ts';
import { snapshotToServe } from './exposure.ts';
import type { HostEvent, SnapshotEvent } from '#core/contract/deploy/control.ts';

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

/** Sends a snapshot to every host of this server. */
export async function publishSnapshot(app: Platform & WithHosts & WithSnapshots, snapshot: StoredSnapshot): Promise<void> {
  const events = new Map<string | null, HostEvent>();
  const missing = () => app.hosts.serving().filter((have) => !events.has(have));
  // Hosts may connect or answer while texts are read, so this repeats until each host has an event. Sending follows without a pause.
  for (let more = missing(); more.length > 0; more = missing()) {
    for (const have of more) events.set(have, await snapshotEvent(app, snapshot, have));
  }
  app.hosts.publish((have) => events.get(have) ?? { event: 'ping', data: {} });
}

/** The event for a host that connects. */
export async function eventForHost(app: Platform & WithSnapshots, have: string | null): Promise<HostEvent> {
  const { snapshot } = await snapshotToServe(app);
  // A server with an empty database does not stop a host that serves what was deployed elsewhere.
  if (snapshot === null && (have ?? '') !== '' && !(await wasDeployed(app))) return { event: 'ping', data: {} };
  return snapshot === null ? { event: 'stop', data: {} } : snapshotEvent(app, snapshot, have);
}
