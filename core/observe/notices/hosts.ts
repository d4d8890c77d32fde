import type { App } from '#core/app.ts';
import { isNetworkHost } from '#core/contract/deploy/deploy.ts';
import { runEvery } from '#core/cluster/run-every.ts';
import { emitOnce } from './emit.ts';

const LOOK_MS = 5_000;
/** A host that restarts is back by then. */
const GONE_MS = 30_000;
/** Every server looks; one tells. */
const ONCE_MS = 60_000;

/** Tells of hosts that were connected and are not any more. @returns a function that ends it. */
export function watchHosts(app: App): () => void {
  const look = createHostWatch(app);
  return runEvery(app, { every_ms: LOOK_MS, what: 'watching the hosts', work: look, at_once: true });
}

/** @returns one look. */
export function createHostWatch(app: App): () => Promise<void> {
  const seen = new Map<string, { readonly url: string | null; readonly at: number }>();
  return async () => {
    const now = app.clock().getTime();
    for (const { id, url } of app.hosts.list()) if (isNetworkHost(id)) seen.set(id, { url, at: now });
    for (const [id, { url, at }] of seen) {
      if (now - at < GONE_MS) continue;
      await emitOnce(app, 'host_gone', { id, url, seen_at: new Date(at).toISOString() }, { key: id, within_ms: ONCE_MS });
      // Until it is kept, every look tries again.
      seen.delete(id);
    }
  };
}
