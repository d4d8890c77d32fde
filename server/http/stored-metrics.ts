import type { NoticeEvent } from '#core/contract/observe/notices.ts';
import type { ControlPlane } from '#core/control-plane/control-plane.ts';
import { metric, type Sample } from '#core/lib/metrics/metrics-text.ts';
import { readCertificate } from '#core/server-config/certificates.ts';
import { BACKUP_AT, readMeta } from '#core/store/meta.ts';
import { readDeployment } from '#core/versions/deployment.ts';
import { and, count, eq, gte, inArray, isNotNull, isNull, min, sql } from 'drizzle-orm';

/** Notices that last until their cause is gone. */
const LASTING = [
  'host_gone',
  'host_disk',
  'tool_failing',
  'queue_full',
  'sign_ins_refused',
] as const satisfies readonly NoticeEvent[];
/** A token is about to end in the last fifth of its lifetime, at most in its last week, if that is a day or longer. */
const LAST_SHARE = 1 / 5;
const LAST_DAYS = 7;
const DAY_MS = 24 * 3_600_000;

/** What the metadata database and the disk say of the installation; the same on each of its servers. */
export async function storedMetrics(app: ControlPlane): Promise<string> {
  const parts = [certificate, database, backups, webhooks, notices, hosts, tokens];
  return (await Promise.all(parts.map((part) => part(app)))).join('');
}

async function certificate(app: ControlPlane): Promise<string> {
  const { valid_until, failures } = await readCertificate(app);
  return (
    metric(
      'gauge',
      'sluice_certificate_expiry_timestamp_seconds',
      'End of the certificate of automatic HTTPS, in seconds since 1970.',
      valid_until === null ? null : secondsOf(valid_until),
    ) + metric('gauge', 'sluice_certificate_failures', 'Failed orders of a certificate since the last success.', failures)
  );
}

const SIZES = {
  sqlite: sql<number>`(select page_count * page_size from pragma_page_count(), pragma_page_size())`,
  postgresql: sql<number>`pg_database_size(current_database())::double precision`,
};

async function database({ store }: ControlPlane): Promise<string> {
  const { meta } = store.tables;
  const [row] = await store.db.select({ bytes: SIZES[store.dialect] }).from(meta).limit(1);
  return metric('gauge', 'sluice_database_size_bytes', 'Size of the metadata database.', row?.bytes ?? null);
}

async function backups({ store }: ControlPlane): Promise<string> {
  const at = await readMeta(store, store.db, BACKUP_AT);
  const help =
    'Last backup of the metadata database that was made or recorded with sluice backup, in seconds since 1970; 0: none.';
  return metric('gauge', 'sluice_backup_timestamp_seconds', help, at === null ? 0 : secondsOf(at));
}

async function webhooks(app: ControlPlane): Promise<string> {
  const { notice_deliveries: deliveries } = app.store.tables;
  const [row] = await app.store.db
    .select({ waiting: count(), oldest: min(deliveries.created_at) })
    .from(deliveries)
    .where(eq(deliveries.status, 'waiting'));
  const since = new Date(app.clock().getTime() - DAY_MS).toISOString();
  const given_up = await app.store.db.$count(
    deliveries,
    and(eq(deliveries.status, 'failed'), gte(deliveries.last_attempt_at, since)),
  );
  const oldest = row?.oldest ?? null;
  const age = oldest === null ? 0 : Math.max(0, app.clock().getTime() / 1_000 - secondsOf(oldest));
  return (
    metric('gauge', 'sluice_webhook_deliveries_waiting', 'Deliveries of webhooks that wait for an attempt.', row?.waiting ?? 0) +
    metric('gauge', 'sluice_webhook_oldest_waiting_seconds', 'Age of the oldest delivery that waits; 0: none waits.', age) +
    metric('gauge', 'sluice_webhook_deliveries_given_up', 'Deliveries of webhooks that were given up in the last day.', given_up)
  );
}

async function notices({ store }: ControlPlane): Promise<string> {
  const { notice_events: table } = store.tables;
  const open = await store.db
    .select({ event: table.event, notices: count() })
    .from(table)
    .where(and(inArray(table.event, [...LASTING]), isNotNull(table.key), isNull(table.ended_at)))
    .groupBy(table.event);
  const counts = new Map(open.map((row) => [row.event, row.notices]));
  const samples = LASTING.map((event): Sample => [{ event }, counts.get(event) ?? 0]);
  return metric('gauge', 'sluice_notices_open', 'Notices whose cause lasts, by event.', samples);
}

/** A host reports at least once a minute; older reports are of hosts that ended. */
const REPORTED_MS = 10 * 60_000;

async function hosts(app: ControlPlane): Promise<string> {
  const { host_reports } = app.store.tables;
  const now = app.clock().getTime();
  const listed = app.hosts.list();
  const [{ active_version }, reports] = await Promise.all([
    readDeployment(app),
    app.store.db
      .select({ host: host_reports.host_id, at: host_reports.reported_at })
      .from(host_reports)
      .where(gte(host_reports.reported_at, new Date(now - REPORTED_MS).toISOString())),
  ]);
  const newest = new Map<string, string>();
  for (const { host, at } of reports) if (at > (newest.get(host) ?? '')) newest.set(host, at);
  const behind = listed.filter(({ snapshot_version }) => active_version !== null && snapshot_version !== active_version);
  return [
    metric('gauge', 'sluice_hosts_listed', 'MCP hosts connected to any server of the installation.', listed.length),
    metric('gauge', 'sluice_hosts_behind', 'Connected hosts that do not serve the active version.', behind.length),
    metric(
      'gauge',
      'sluice_host_report_age_seconds',
      'Time since the last report of calls and queues, by host.',
      [...newest].map(([host, at]): Sample => [{ host }, Math.max(0, now / 1_000 - secondsOf(at))]),
    ),
  ].join('');
}

async function tokens(app: ControlPlane): Promise<string> {
  const { mcp_tokens, agent_tokens, agent_clients, oauth_apps } = app.store.tables;
  const now = app.clock().getTime();
  const [access, agent, clients, apps] = await Promise.all([
    app.store.db.select().from(mcp_tokens).where(eq(mcp_tokens.revoked, false)),
    app.store.db.select().from(agent_tokens).where(eq(agent_tokens.revoked, false)),
    app.store.db.select().from(agent_clients).where(eq(agent_clients.revoked, false)),
    app.store.db.select().from(oauth_apps).where(isNotNull(oauth_apps.expires_at)),
  ]);
  const isEnding = (from: number, life_ms: number): boolean => {
    const left = from + life_ms - now;
    return life_ms >= DAY_MS && left > 0 && left < Math.min(life_ms * LAST_SHARE, LAST_DAYS * DAY_MS);
  };
  const isExpiring = ({ created_at, expires_at }: { readonly created_at: string; readonly expires_at: string | null }): boolean =>
    expires_at !== null && isEnding(Date.parse(created_at), Date.parse(expires_at) - Date.parse(created_at));
  const ending = access.filter(
    (token) =>
      isExpiring(token) ||
      isEnding(Date.parse(token.last_used_at ?? token.created_at), (token.idle_timeout_minutes ?? 0) * 60_000),
  );
  return metric(
    'gauge',
    'sluice_tokens_ending',
    'Tokens and secrets in the last fifth of their lifetime or idle timeout, at most the last week, of those that last a day or longer.',
    [
      [{ kind: 'access' }, ending.length],
      [{ kind: 'agent' }, agent.filter(isExpiring).length],
      [{ kind: 'client' }, clients.filter(isExpiring).length],
      [{ kind: 'app' }, apps.filter(isExpiring).length],
    ],
  );
}

const secondsOf = (iso: string): number => Date.parse(iso) / 1_000;
