import type { ControlPlane } from '#core/control-plane/control-plane.ts';
import { and, gt, isNull } from 'drizzle-orm';
import { createRequestDurations, metric } from '#core/lib/metrics/metrics-text.ts';
import { diskMetrics } from '#core/lib/metrics/disk-metrics.ts';
import { createProcessMetrics } from '#core/lib/metrics/process-metrics.ts';
import { buildInfo } from '#core/process/build-info.ts';
import { reasonOf } from '#core/process/log.ts';
import { readDeployment } from '#core/versions/deployment.ts';
import { statusOf } from '#core/deploy/status.ts';
import { storedMetrics } from './stored-metrics.ts';
import { snapshotToServe } from '#core/deploy/exposure.ts';

/** Metrics of the control plane for Prometheus. */
export interface ServerMetrics {
  add(method: string, path: string, status: number, ms: number): void;
  text(): Promise<string>;
}

/** Requests that change the running server, and their labels. */
const DEPLOYS: Readonly<Record<string, string>> = { '/api/v1/deploy': 'deploy', '/api/v1/deploy/stop': 'stop' };
const DEPLOY_KINDS = ['deploy', 'stop', 'activate'];
const SIGN_IN = '/api/v1/auth/login';

/** Refused because of what was sent, or failed in Sluice. */
const OUTCOMES = ['succeeded', 'refused', 'limited', 'failed'] as const;
const outcomeOf = (status: number): (typeof OUTCOMES)[number] =>
  status < 400 ? 'succeeded' : status === 429 ? 'limited' : status < 500 ? 'refused' : 'failed';

export function createServerMetrics(app: ControlPlane): ServerMetrics {
  const requests = createRequestDurations('Requests to the server.');
  // Every series begins at zero: a rate misses the first failure of one that begins with it.
  const counts = (kinds: readonly string[]) =>
    new Map(kinds.flatMap((kind) => OUTCOMES.map((outcome) => [`${kind} ${outcome}`, { kind, outcome, count: 0 }])));
  const deploys = counts(DEPLOY_KINDS);
  const sign_ins = counts(['password']);
  const processMetrics = createProcessMetrics();
  const fromDatabase = async (): Promise<string> => {
    const { sessions } = app.store.tables;
    const now = app.clock().toISOString();
    const [state, { refused }, live, stored] = await Promise.all([
      readDeployment(app),
      snapshotToServe(app),
      app.store.db.$count(sessions, and(isNull(sessions.revoked_at), gt(sessions.expires_at, now))),
      storedMetrics(app),
    ]);
    return [
      metric('gauge', 'sluice_deployment_status', 'The state of the MCP server: 1 for the current one.', [
        [{ status: await statusOf(app, state, refused) }, 1],
      ]),
      state.active_version === null
        ? ''
        : metric('gauge', 'sluice_active_snapshot_info', 'The active snapshot.', [[{ version: state.active_version }, 1]]),
      metric('gauge', 'sluice_admin_sessions', 'Sessions of all people who are signed in.', live),
      stored,
    ].join('');
  };

  return {
    add(method, path, status, ms) {
      requests.add(method, status, ms);
      if (method !== 'POST') return;
      const kind = DEPLOYS[path] ?? (/^\/api\/v1\/snapshots\/\d+\/activate$/.test(path) ? 'activate' : '');
      const count =
        path === SIGN_IN ? sign_ins.get(`password ${outcomeOf(status)}`) : deploys.get(`${kind} ${outcomeOf(status)}`);
      if (count !== undefined) count.count++;
    },
    async text() {
      const stored = await fromDatabase().catch((error: unknown) => {
        app.log.warning('metrics of the metadata database could not be read', { reason: reasonOf(error) });
        return null;
      });
      return [
        requests.text(),
        metric(
          'counter',
          'sluice_deploys_total',
          'Deploys, stops and activations requested from this server.',
          [...deploys.values()].map(({ kind, outcome, count }) => [{ kind, outcome }, count]),
        ),
        metric(
          'counter',
          'sluice_sign_ins_total',
          'Sign-ins with a password at this server.',
          [...sign_ins.values()].map(({ outcome, count }) => [{ outcome }, count]),
        ),
        metric('gauge', 'sluice_database_up', 'Whether the metadata database answers.', Number(stored !== null)),
        stored ?? '',
        metric('gauge', 'sluice_hosts_connected', 'MCP hosts connected to this server.', app.hosts.local().size),
        metric('counter', 'sluice_auth_failures_total', 'Requests answered with 401.', requests.count(401)),
        metric('counter', 'sluice_rate_limited_total', 'Requests answered with 429.', requests.count(429)),
        buildInfo('server'),
        await diskMetrics(app.env.SVC_DATA_DIR),
        await processMetrics(),
      ].join('');
    },
  };
}
