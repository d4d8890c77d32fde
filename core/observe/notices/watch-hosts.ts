import type { Platform } from '#core/platform/platform.ts';
import type { WithHosts } from '#core/hosts/host-registry.ts';
import { type HostState, isNetworkHost } from '#core/contract/deploy/deploy.ts';
import { runEvery } from '#core/platform/run-every.ts';
import { beginNotice, markEmitted, emitOnce, endNotice, lastingKeys } from '#core/records/events.ts';

const LOOK_MS = 2_000;
/** Counted from the last sign of life. A host that restarts reconnects within this time. */
const GONE_MS = 30_000;
/** Every server checks, but only one reports a lost host. A host that signed off is not reported. */
const ONCE_MS = 5 * 60_000;
/** Maximum difference between the clocks of servers. */
const SKEW_MS = 5_000;

/** Reports hosts that were connected and are not any more. @returns a function that stops it. */
export function watchHosts(app: Platform & WithHosts): () => void {
  const look = createHostWatch(app);
  return runEvery(app, { every_ms: LOOK_MS, what: 'watching the hosts', work: look, at_once: true });
}

/** @returns a function that checks once. */
export function createHostWatch(app: Platform & WithHosts): () => Promise<void> {
  const seen = new Map<string, { readonly url: string | null; readonly at: number }>();
  let checked: string | null = null;
  return async () => {
    const now = app.clock().getTime();
    const present = app.hosts.list().filter(({ id }) => isNetworkHost(id));
    for (const { id, url } of present) seen.set(id, { url, at: now - app.hosts.silent_ms(id) });
    const connected = new Set(present.map(({ id }) => id));
    for (const [id, { url, at }] of seen) {
      if (connected.has(id) || now - at < GONE_MS) continue;
      const path = stableId(id);
      // It crashed and restarted with a new id.
      const is_back = present.some((host) => stableId(host.id) === path && Date.parse(host.connected_at) > at - SKEW_MS);
      const data = { id, url, seen_at: new Date(at).toISOString() };
      if (!is_back) await emitOnce(app, 'host_gone', data, { key: id, within_ms: ONCE_MS, lasting: keyOf(id) });
      // Tried again at the next check until it is stored.
      seen.delete(id);
    }
    // The same hosts in the same state, and no notice was written since.
    const written = app.store.lastWrite();
    const state = written === null ? null : JSON.stringify([written, present.map(({ id, disk_fault }) => [id, disk_fault])]);
    if (state !== null && state === checked) return;
    checked = null;
    const here = new Set(present.map(({ id }) => keyOf(id)));
    for (const key of await lastingKeys(app, 'host_gone')) if (here.has(key)) await endNotice(app, key);
    await noticeDisks(app, present);
    checked = state;
  };
}

/** Begins and ends the notices of hosts that cannot save what they serve. */
async function noticeDisks(app: Platform, present: readonly HostState[]): Promise<void> {
  const noticed = await lastingKeys(app, 'host_disk');
  const failing = new Set<string>();
  for (const { id, url, disk_fault } of present) {
    if (disk_fault === null) continue;
    const key = diskKeyOf(id);
    failing.add(key);
    if (!noticed.has(key)) await beginNotice(app, 'host_disk', key, { id, url, fault: disk_fault });
  }
  for (const key of new Set(present.map(({ id }) => diskKeyOf(id)))) {
    if (noticed.has(key) && !failing.has(key)) await endNotice(app, key);
  }
}

/** Records that a host signed off, so that it is not reported as lost. */
export const recordSignOff = (app: Platform, id: string): Promise<void> =>
  markEmitted(app, 'host_gone', { key: id, within_ms: ONCE_MS });

const keyOf = (id: string): string => `host_gone:${stableId(id)}`;
const diskKeyOf = (id: string): string => `host_disk:${stableId(id)}`;

/** The part of a host's id that stays the same across restarts, without the random suffix. */
const stableId = (id: string): string => id.replace(/-[0-9a-f]{8}$/, '');
