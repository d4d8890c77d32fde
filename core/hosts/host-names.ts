import type { Platform } from '#core/platform/platform.ts';
import type { WithHosts } from '#core/hosts/host-registry.ts';
import type { HostEvent } from '#core/contract/deploy/control.ts';
import { domainsOf } from '#core/settings/public-urls.ts';
import { runEvery } from '#core/platform/run-every.ts';
import { readSettings } from '#core/settings/settings.ts';

/** The domains of the configuration: names that hosts accept in the Host header, beside those of their environment. */
export async function namesEvent(app: Platform): Promise<HostEvent> {
  const { settings } = await readSettings(app);
  return { event: 'names', data: { names: domainsOf(settings) } };
}

/** Without Redis other servers' changes count after so long. */
const FOLLOW_MS = 2_000;

/** Tells the hosts of this server the names whenever they changed, here or on another server. @returns a function that ends it. */
export function followNames(app: Platform & WithHosts, every_ms = FOLLOW_MS): () => void {
  let told: string | null = null;
  const look = async (): Promise<void> => {
    const event = await namesEvent(app);
    const now = JSON.stringify(event.data);
    if (now === told) return;
    app.hosts.publish(event);
    told = now;
  };
  return runEvery(app, { every_ms, what: 'reading the domains', work: look, at_once: true, wake: 'names' });
}
