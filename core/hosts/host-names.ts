import type { Platform } from '#core/platform/platform.ts';
import type { WithHosts } from '#core/hosts/host-registry.ts';
import type { HostEvent } from '#core/contract/deploy/control.ts';
import { domainsOf } from '#core/settings/public-urls.ts';
import { type Outcome, runEvery } from '#core/platform/run-every.ts';
import { readSettings } from '#core/settings/settings.ts';

/** The domains of the configuration, which hosts accept in the Host header in addition to those of their environment. */
export async function namesEvent(app: Platform): Promise<HostEvent> {
  const { settings } = await readSettings(app);
  return { event: 'names', data: { names: domainsOf(settings) } };
}

/** Without Redis, changes of other servers are noticed this often. */
const FOLLOW_MS = 2_000;

/** Sends the domains to the hosts of this server when they change here or on another server. @returns a function that stops it. */
export function followNames(app: Platform & WithHosts, every_ms = FOLLOW_MS): () => void {
  let sent: string | null = null;
  const sendChanges = async (): Promise<Outcome> => {
    const event = await namesEvent(app);
    const now = JSON.stringify(event.data);
    if (now !== sent) app.hosts.publish(event);
    sent = now;
    return 'idle';
  };
  return runEvery(app, { every_ms, what: 'reading the domains', work: sendChanges, at_once: true, wake: 'names' });
}
