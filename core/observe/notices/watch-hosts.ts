import type { Platform } from '#core/platform/platform.ts';
import type { WithHosts } from '#core/hosts/host-registry.ts';
import { isNetworkHost } from '#core/contract/deploy/deploy.ts';
import { runEvery } from '#core/platform/run-every.ts';
import { markEmitted, emitOnce, endNotice, lastingKeys } from '#core/records/events.ts';

const LOOK_MS = 5_000;
/** A host that restarts is back by then. */
const GONE_MS = 30_000;
/** Every server looks; one tells, none of a host that left. */
const ONCE_MS = 5 * 60_000;
/** Clocks of servers differ by less. */
const SKEW_MS = 5_000;

/** Tells of hosts that were connected and are not any more. @returns a function that ends it. */
export function watchHosts(app: Platform & WithHosts): () => void {
  const look = createHostWatch(app);
  return runEvery(app, { every_ms: LOOK_MS, what: 'watching the hosts', work: look, at_once: true });
}

/** @returns one look. */
export function createHostWatch(app: Platform & WithHosts): () => Promise<void> {
  const seen = new Map<string, { readonly url: string | null; readonly at: number }>();
  return async () => {
    const now = app.clock().getTime();
    const present = app.hosts.list().filter(({ id }) => isNetworkHost(id));
    for (const { id, url } of present) seen.set(id, { url, at: now });
    for (const [id, { url, at }] of seen) {
      if (now - at < GONE_MS) continue;
      const place = placeOf(id);
      // It crashed and was started again, under a new id.
      const is_back = present.some((host) => placeOf(host.id) === place && Date.parse(host.connected_at) > at - SKEW_MS);
      const data = { id, url, seen_at: new Date(at).toISOString() };
      if (!is_back) await emitOnce(app, 'host_gone', data, { key: id, within_ms: ONCE_MS, lasting: keyOf(id) });
      // Until it is kept, every look tries again.
      seen.delete(id);
    }
    const here = new Set(present.map(({ id }) => keyOf(id)));
    for (const key of await lastingKeys(app, 'host_gone')) if (here.has(key)) await endNotice(app, key);
  };
}

/** A host that ends by itself is not lost. */
export const noteLeft = (app: Platform, id: string): Promise<void> =>
  markEmitted(app, 'host_gone', { key: id, within_ms: ONCE_MS });

const keyOf = (id: string): string => `host_gone:${placeOf(id)}`;

/** What the id of a host keeps over its starts, each of which has a last part of its own. */
const placeOf = (id: string): string => id.replace(/-[0-9a-f]{8}$/, '');
