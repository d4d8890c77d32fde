import type { WithSources } from '#core/sources/source-pool.ts';
import type { WithHosts } from '#core/hosts/host-registry.ts';
import type { Platform } from '#core/platform/platform.ts';
import { gte } from 'drizzle-orm';
import { onSignal, signal } from '#core/platform/signals.ts';
import { AppError } from '#core/errors.ts';
import type { Handlers } from '#core/context/context.ts';
import { tokenNames } from './token-names.ts';

/** Hosts report at least every 10 s, so a host with an older report has disconnected. */
export const REPORT_MS = 25_000;

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

/** Forwards cancellations from other servers to the hosts of this server. */
export const followCancels = (app: Platform & WithHosts): (() => void) =>
  onSignal(app, 'cancel', (id) => app.hosts.publish({ event: 'cancel', data: { id } }));

async function reported(app: Platform) {
  const { host_reports } = app.store.tables;
  const recent = new Date(app.clock().getTime() - REPORT_MS).toISOString();
  const reports = await app.store.db
    .select({ host: host_reports.host_id, running: host_reports.running })
    .from(host_reports)
    .where(gte(host_reports.reported_at, recent));
  const calls = reports.flatMap(({ host, running }) => (running ?? []).map((call) => ({ ...call, host })));
  const names = await tokenNames(
    app,
    calls.map(({ caller }) => caller?.token),
  );
  return calls.map(({ since, caller, ...call }) => ({
    ...call,
    since: new Date(since).toISOString(),
    token_name: names.get(caller?.token ?? '') ?? null,
    person: caller?.person ?? null,
  }));
}
