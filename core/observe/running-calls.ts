import type { WithSources } from '#core/sources/source-pool.ts';
import type { WithHosts } from '#core/hosts/host-registry.ts';
import type { Platform } from '#core/platform/platform.ts';
import { gte } from 'drizzle-orm';
import { onSignal, signal } from '#core/platform/signals.ts';
import { AppError } from '#core/errors.ts';
import type { Handlers } from '#core/context/context.ts';

/** Hosts report every 5 s; a report older than this is of a host that is gone. */
export const REPORT_MS = 15_000;

export const runningCallHandlers: Pick<Handlers<WithSources & WithHosts>, `calls.${'running' | 'cancel'}`> = {
  'calls.running': async ({ app }) => {
    const running = await reported(app);
    return { items: running.toSorted((a, b) => (a.since === b.since ? (a.id < b.id ? -1 : 1) : a.since < b.since ? -1 : 1)) };
  },
  'calls.cancel': async ({ app }, { id }) => {
    const running = await reported(app);
    if (!running.some((call) => call.id === id)) {
      throw new AppError('not_found', 'This call is not running. It may have ended.');
    }
    app.hosts.publish({ event: 'cancel', data: { id } });
    await signal(app, 'cancel', id);
    return {};
  },
};

/** Hands on to the hosts of this server what another server was asked to cancel. */
export const followCancels = (app: Platform & WithHosts): (() => void) =>
  onSignal(app, 'cancel', (id) => app.hosts.publish({ event: 'cancel', data: { id } }));

async function reported(app: Platform) {
  const { host_reports } = app.store.tables;
  const recent = new Date(app.clock().getTime() - REPORT_MS).toISOString();
  const reports = await app.store.db
    .select({ host: host_reports.host_id, running: host_reports.running })
    .from(host_reports)
    .where(gte(host_reports.reported_at, recent));
  return reports.flatMap(({ host, running }) =>
    (running ?? []).map(({ since, caller, ...call }) => ({
      ...call,
      host,
      since: new Date(since).toISOString(),
      person: caller?.person ?? null,
    })),
  );
}
