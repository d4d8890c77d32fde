import { runEvery } from '#core/platform/run-every.ts';
import type { Platform } from '#core/platform/platform.ts';
import { CHECK_SIGNS_MS, type WithHosts } from './host-registry.ts';

/**
 * Disconnects hosts that give no sign of life. A frozen host, or one that is cut off from the network, leaves its connection open.
 * @returns a function that stops it.
 */
export function watchSigns(app: Platform & WithHosts): () => void {
  const work = async () => app.hosts.checkSigns();
  return runEvery(app, { every_ms: CHECK_SIGNS_MS, what: 'watching signs of life', work });
}
