import type { Confirmation, QueueGauge, UsageKind } from '#core/contract/monitoring.ts';
import type { Histogram } from '#core/lib/histogram.ts';
import type { Kit } from './kit.ts';

/** What hosts report: calls, their series and queues. */
export function usageTables(k: Kit) {
  /** Every call of the deployed server, without arguments and values. */
  const request_logs = k.table(
    'request_logs',
    {
      id: k.counter().primaryKey(),
      timestamp: k.text().notNull(),
      kind: k.text().$type<UsageKind>().notNull(),
      name: k.text().notNull(),
      connection_id: k.text(),
      client: k.text(),
      token_prefix: k.text(),
      duration_ms: k.real().notNull(),
      wait_ms: k.real().notNull(),
      rows: k.int().notNull(),
      success: k.bool().notNull(),
      error: k.text(),
      snapshot_version: k.int(),
      confirmation: k.text().$type<Confirmation>(),
    },
    (t) => [k.index('request_logs_time').on(t.timestamp, t.id), k.index('request_logs_name').on(t.name, t.timestamp)],
  );
  /** Calls of one name within a minute or an hour (`seconds`) from `start` on; `all` counts every call of a minute. */
  const usage_series = k.table(
    'usage_series',
    {
      seconds: k.int().$type<60 | 3_600>().notNull(),
      start: k.text().notNull(),
      kind: k.text().$type<UsageKind | 'all'>().notNull(),
      name: k.text().notNull(),
      entity_id: k.text(),
      calls: k.int().notNull(),
      errors: k.int().notNull(),
      duration_ms: k.real().notNull(),
      rows: k.real().notNull(),
      bytes: k.real().notNull(),
      last_called_at: k.text().notNull(),
      histogram: k.json<Histogram>().notNull(),
    },
    (t) => [k.unique('usage_series_key').on(t.seconds, t.start, t.kind, t.name)],
  );
  /** One row for each start of a host: the last batch that was stored, and its queues as they were then. */
  const host_reports = k.table(
    'host_reports',
    {
      boot_id: k.text().primaryKey(),
      host_id: k.text().notNull(),
      seq: k.int().notNull(),
      queues: k.json<QueueGauge[]>().notNull(),
      reported_at: k.text().notNull(),
    },
    (t) => [k.index('host_reports_time').on(t.reported_at)],
  );
  return { request_logs, usage_series, host_reports };
}
