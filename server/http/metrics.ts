import { and, gt, isNull, sql } from 'drizzle-orm';
import type { App } from '#core/app.ts';
import { type Buckets, createBuckets, createProcessFigures, figure, histogram, observe } from '#core/lib/metrics-text.ts';
import { readDeployment, statusOf } from '#core/deploy/deployment.ts';
import { snapshotToServe } from '#core/deploy/exposure.ts';

/** Figures of the control plane for Prometheus. */
export interface ServerMetrics {
  add(method: string, path: string, status: number, ms: number): void;
  text(): Promise<string>;
}

/** What people and agents change the running server with. */
const DEPLOYS: Readonly<Record<string, string>> = { '/api/v1/deploy': 'deploy', '/api/v1/deploy/stop': 'stop' };
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PATCH', 'PUT', 'DELETE', 'OPTIONS']);

export function createServerMetrics(app: App): ServerMetrics {
  const requests = new Map<string, { method: string; status: number; buckets: Buckets }>();
  const deploys = new Map<string, { kind: string; outcome: string; count: number }>();
  const processFigures = createProcessFigures();
  const total = (status: number) =>
    [...requests.values()]
      .filter((request) => request.status === status)
      .reduce((sum, { buckets }) => sum + buckets.counts.reduce((a, b) => a + b, 0), 0);

  return {
    add(given, path, status, ms) {
      const method = METHODS.has(given) ? given : '_other';
      const key = `${method} ${status}`;
      let request = requests.get(key);
      if (request === undefined) requests.set(key, (request = { method, status, buckets: createBuckets() }));
      observe(request.buckets, ms / 1_000);
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
        app.store.db
          .select({ total: sql<number | string>`count(*)` })
          .from(sessions)
          .where(and(isNull(sessions.revoked_at), gt(sessions.expires_at, now))),
      ]);
      const one = (value: number) => [[{}, value]] as const;
      return [
        histogram(
          'http_server_request_duration_seconds',
          'Requests to the server.',
          [...requests.values()].map(({ method, status, buckets }) => [
            { http_request_method: method, http_response_status_code: status },
            buckets,
          ]),
        ),
        figure(
          'counter',
          'sluice_deploys_total',
          'Deploys, stops and activations requested from this server.',
          [...deploys.values()].map(({ kind, outcome, count }) => [{ kind, outcome }, count]),
        ),
        figure('gauge', 'sluice_deployment_status', 'The state of the MCP server: 1 for the current one.', [
          [{ status: statusOf(app, state, refused) }, 1],
        ]),
        state.active_version === null
          ? ''
          : figure('gauge', 'sluice_active_snapshot_info', 'The active snapshot.', [[{ version: state.active_version }, 1]]),
        figure('gauge', 'sluice_hosts_connected', 'MCP hosts connected to this server.', one(app.hosts.own().size)),
        figure('gauge', 'sluice_admin_sessions', 'Sessions of administrators.', one(Number(live[0]?.total ?? 0))),
        figure('counter', 'sluice_auth_failures_total', 'Requests answered with 401.', one(total(401))),
        figure('counter', 'sluice_rate_limited_total', 'Requests answered with 429.', one(total(429))),
        await processFigures(),
      ].join('');
    },
  };
}
