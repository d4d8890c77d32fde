import type { Platform } from '#core/platform/platform.ts';
import { type WithSnapshots, readSnapshot, type StoredSnapshot, textsOf } from '#core/versions/stored-snapshots.ts';
import type { WithHosts } from '#core/hosts/host-registry.ts';
import { deltaBetween } from '#snapshots/format/tree.ts';
import { wasDeployed } from '#core/versions/deployment.ts';
import { snapshotToServe } from './exposure.ts';
import type { HostEvent, SnapshotEvent } from '#core/contract/deploy/control.ts';

/**
 * The event that brings a host to a snapshot: what its own lacks, everything when it has none that is stored, nothing when it has
 * this one. @param have `<version>:<checksum>` of what it serves.
 */
export async function snapshotEvent(
  app: Platform & WithSnapshots,
  snapshot: StoredSnapshot,
  have: string | null,
): Promise<HostEvent> {
  const { version, checksum, created_at } = snapshot;
  const is_there = have === `${version}:${checksum}`;
  const news = is_there ? { version, checksum, created_at } : await newsOf(app, snapshot, have);
  return { event: 'snapshot', data: JSON.stringify(news) };
}

/** What a host that serves `have` lacks of a snapshot. */
export async function newsOf(
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

/** Brings every host of this server to a snapshot. */
export async function publishSnapshot(app: Platform & WithHosts & WithSnapshots, snapshot: StoredSnapshot): Promise<void> {
  const events = new Map<string | null, HostEvent>();
  const lacking = () => app.hosts.serving().filter((have) => !events.has(have));
  // A host may come or answer while texts are read; between the last look and the sending nothing waits.
  for (let more = lacking(); more.length > 0; more = lacking()) {
    for (const have of more) events.set(have, await snapshotEvent(app, snapshot, have));
  }
  app.hosts.publish((have) => events.get(have) ?? { event: 'ping', data: {} });
}

/** What a host that connects now is to do. */
export async function eventForHost(app: Platform & WithSnapshots, have: string | null): Promise<HostEvent> {
  const { snapshot } = await snapshotToServe(app);
  // What it serves was deployed elsewhere: a server on an empty database has nothing to say about that.
  if (snapshot === null && (have ?? '') !== '' && !(await wasDeployed(app))) return { event: 'ping', data: {} };
  return snapshot === null ? { event: 'stop', data: {} } : snapshotEvent(app, snapshot, have);
}
