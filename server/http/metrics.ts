import type { ControlPlane } from '#core/control-plane/control-plane.ts';
import { and, gt, isNull } from 'drizzle-orm';
import { createRequestDurations, metric } from '#core/lib/metrics/metrics-text.ts';
import { createProcessMetrics } from '#core/lib/metrics/process-metrics.ts';
import { readDeployment } from '#core/versions/deployment.ts';
import { statusOf } from '#core/deploy/status.ts';
import { snapshotToServe } from '#core/deploy/exposure.ts';

/** Metrics of the control plane for Prometheus. */
export interface ServerMetrics {
  add(method: string, path: string, status: number, ms: number): void;
  text(): Promise<string>;
}

/** Requests that change the running server, and their labels. */
const DEPLOYS: Readonly<Record<string, string>> = { '/api/v1/deploy': 'deploy', '/api/v1/deploy/stop': 'stop' };

export function createServerMetrics(app: ControlPlane): ServerMetrics {
  const requests = createRequestDurations('Requests to the server.');
  const deploys = new Map<string, { kind: string; outcome: string; count: number }>();
  const processMetrics = createProcessMetrics();

  return {
    add(method, path, status, ms) {
      requests.add(method, status, ms);
      const kind = DEPLOYS[path] ?? (/^\/api\/v1\/snapshots\/\d+\/activate$/.test(path) ? 'activate' : undefined);
      if (kind === undefined || method !== 'POST') return;
      const outcome = status < 400 ? 'succeeded' : 'refused';
      const found = deploys.get(`${kind} ${outcome}`);
      if (found === undefined) deploys.set(`${kind} ${outcome}`, { kind, outcome, count: 1 });
      else found.count++;
    },
    async text() {
      const { sessions } = app.store.tables;
      const now = app.clock().toISOString();
      const [state, { refused }, live] = await Promise.all([
        readDeployment(app),
        snapshotToServe(app),
        app.store.db.$count(sessions, and(isNull(sessions.revoked_at), gt(sessions.expires_at, now))),
      ]);
      return [
        requests.text(),
        metric(
          'counter',
          'sluice_deploys_total',
          'Deploys, stops and activations requested from this server.',
          [...deploys.values()].map(({ kind, outcome, count }) => [{ kind, outcome }, count]),
        ),
        metric('gauge', 'sluice_deployment_status', 'The state of the MCP server: 1 for the current one.', [
          [{ status: await statusOf(app, state, refused) }, 1],
        ]),
        state.active_version === null
          ? ''
          : metric('gauge', 'sluice_active_snapshot_info', 'The active snapshot.', [[{ version: state.active_version }, 1]]),
        metric('gauge', 'sluice_hosts_connected', 'MCP hosts connected to this server.', app.hosts.local().size),
        metric('gauge', 'sluice_admin_sessions', 'Sessions of all people who are signed in.', live),
        metric('counter', 'sluice_auth_failures_total', 'Requests answered with 401.', requests.count(401)),
        metric('counter', 'sluice_rate_limited_total', 'Requests answered with 429.', requests.count(429)),
        await processMetrics(),
      ].join('');
    },
  };
}
