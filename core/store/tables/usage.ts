import { sql } from 'drizzle-orm';
import type { Confirmation, RefusalKind, UsageKind } from '#core/contract/observe/calls.ts';
import type { QueueGauge, RunningCall } from '#core/contract/observe/usage-batch.ts';
import type { Histogram } from '#core/lib/histogram.ts';
import type { Kit } from '../kit.ts';

/** Reports of hosts: calls, their series and queues. */
export function usageTables(k: Kit) {
  /** Every call of the deployed server. */
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
      database_ms: k.real().notNull().default(0),
      bytes: k.real().notNull().default(0),
      tokens: k.int().notNull().default(0),
      error_message: k.text(),
      sqlstate: k.text(),
      trace_id: k.text(),
      /** Id in `mcp_sessions`. */
      session_id: k.int(),
      /** The encrypted arguments, if the tool logs them. Empty after their deletion. */
      arguments: k.text(),
      /** Whether the result ended at a limit. */
      truncated: k.bool().notNull().default(false),
      /** The canary that handled the call. */
      canary: k.text(),
      /** Arguments that the tool does not declare. Null when there are none. */
      ignored_arguments: k.json<string[]>(),
    },
    (t) => [
      k.index('request_logs_time').on(t.timestamp, t.id),
      k.index('request_logs_name').on(t.name, t.timestamp),
      k.index('request_logs_session').on(t.session_id, t.timestamp),
      // Few calls fail, and the log filters by them. With the columns of other filters, so that only rows on the page are read.
      k
        .index('request_logs_failed')
        .on(t.timestamp, t.id, t.error, t.name, t.kind, t.connection_id)
        .where(sql`error is not null`),
      k
        .index('request_logs_failed_name')
        .on(t.name, t.timestamp)
        .where(sql`error is not null`),
      k.index('request_logs_connection').on(t.connection_id, t.timestamp),
      // Few calls have arguments, which are deleted long before the call.
      k
        .index('request_logs_arguments')
        .on(t.timestamp)
        .where(sql`arguments > ''`),
      // Few results are truncated, and insights search for them.
      k
        .index('request_logs_truncated')
        .on(t.name, t.timestamp)
        .where(sql`truncated`),
      // Nearly all calls are of tools, so they are not indexed.
      k
        .index('request_logs_kind')
        .on(t.kind, t.timestamp, t.id, t.name, t.connection_id, t.error)
        .where(sql`kind <> 'tool'`),
      // Few calls are handled by a canary, and the log filters by them.
      k
        .index('request_logs_canary')
        .on(t.canary, t.timestamp)
        .where(sql`canary is not null`),
      k
        .index('request_logs_failed_session')
        .on(t.session_id, t.timestamp)
        .where(sql`error is not null`),
    ],
  );
  /**
   * Activity of a client without a long pause: a session of the protocol, or calls of the same caller and client. Contains what
   * its calls have in common.
   */
  const mcp_sessions = k.table(
    'mcp_sessions',
    {
      id: k.cyclicCounter().primaryKey(),
      /** Identifies the session, or the caller and client. */
      key: k.text().notNull(),
      session: k.text(),
      client: k.text(),
      token_prefix: k.text(),
      person: k.text(),
      token: k.text(),
      client_id: k.text(),
      started_at: k.text().notNull(),
      last_at: k.text().notNull(),
      lists: k.int().notNull().default(0),
      calls: k.int().notNull(),
      errors: k.int().notNull(),
      rows: k.real().notNull(),
      tokens: k.real().notNull(),
    },
    (t) => [
      k.unique('mcp_sessions_key').on(t.key, t.started_at),
      k.index('mcp_sessions_time').on(t.last_at, t.id),
      k.index('mcp_sessions_client').on(t.client, t.last_at),
    ],
  );
  /** The tools, resources and prompts that a session called. */
  const mcp_session_names = k.table(
    'mcp_session_names',
    {
      session_id: k.int().notNull(),
      name: k.text().notNull(),
      calls: k.int().notNull(),
      errors: k.int().notNull(),
    },
    (t) => [k.unique('mcp_session_names_key').on(t.name, t.session_id), k.index('mcp_session_names_session').on(t.session_id)],
  );
  /** Lists that clients requested. */
  const mcp_lists = k.table(
    'mcp_lists',
    {
      id: k.counter().primaryKey(),
      session_id: k.int().notNull(),
      timestamp: k.text().notNull(),
      method: k.text().notNull(),
      duration_ms: k.real().notNull(),
    },
    (t) => [k.index('mcp_lists_session').on(t.session_id, t.timestamp), k.index('mcp_lists_time').on(t.timestamp)],
  );
  /** The last requests that were refused before they became a call, and their number per hour. */
  const refusals = k.table('refusals', {
    id: k.counter().primaryKey(),
    timestamp: k.text().notNull(),
    kind: k.text().$type<RefusalKind>().notNull(),
    status: k.int().notNull(),
    reason: k.text().notNull(),
    address: k.text(),
    client: k.text(),
    called: k.text(),
  });
  const refusal_counts = k.table(
    'refusal_counts',
    {
      hour: k.text().notNull(),
      kind: k.text().$type<RefusalKind>().notNull(),
      count: k.real().notNull(),
    },
    (t) => [k.unique('refusal_counts_key').on(t.hour, t.kind)],
  );
  /** Columns with the sums of a series. */
  const counted = () => ({
    seconds: k.int().$type<60 | 3_600 | 86_400>().notNull(),
    start: k.text().notNull(),
    kind: k.text().$type<UsageKind | 'all'>().notNull(),
    name: k.text().notNull(),
    entity_id: k.text(),
    calls: k.int().notNull(),
    errors: k.int().notNull(),
    // Errors that the tool did not cause.
    refused: k.int().notNull().default(0),
    no_slot: k.int().notNull().default(0),
    timeout: k.int().notNull().default(0),
    cancelled: k.int().notNull().default(0),
    rate_limited: k.int().notNull().default(0),
    duration_ms: k.real().notNull(),
    rows: k.real().notNull(),
    bytes: k.real().notNull(),
    last_called_at: k.text().notNull(),
    histogram: k.json<Histogram>().notNull(),
  });
  /** Calls of one name within a minute or an hour (`seconds`) since `start`. The kind `all` counts every call of a minute. */
  const usage_series = k.table('usage_series', counted(), (t) => [
    k.unique('usage_series_key').on(t.seconds, t.start, t.kind, t.name),
  ]);
  /** Calls of each caller, by name and connection ('': none), also per day. No row counts all. */
  const caller_series = k.table(
    'caller_series',
    { ...counted(), caller_id: k.int().notNull(), connection_id: k.text().notNull() },
    (t) => [
      k.unique('caller_series_key').on(t.seconds, t.start, t.caller_id, t.kind, t.name, t.connection_id),
      k.index('caller_series_caller').on(t.caller_id, t.seconds, t.start),
    ],
  );
  /** Callers: one row for each client and credential. */
  const usage_callers = k.table(
    'usage_callers',
    {
      id: k.cyclicCounter().primaryKey(),
      /** A digest of the other columns. */
      key: k.text().notNull(),
      client: k.text(),
      token_prefix: k.text(),
      person: k.text(),
      token: k.text(),
      client_id: k.text(),
      last_at: k.text().notNull(),
    },
    (t) => [k.unique('usage_callers_key').on(t.key), k.index('usage_callers_time').on(t.last_at)],
  );
  /** Calls within ten seconds or a minute (`seconds`) since `start`. One row has all pairs of clients and definitions. */
  const traffic = k.table(
    'traffic',
    {
      seconds: k.int().$type<10 | 60>().notNull(),
      start: k.text().notNull(),
      /** JSON for the flow page. */
      cells: k.text().notNull(),
      /** JSON with the data for adding more calls. */
      sums: k.text().notNull(),
    },
    (t) => [k.unique('traffic_key').on(t.seconds, t.start)],
  );
  /** The revisions of the protocol that each client used. */
  const client_versions = k.table(
    'client_versions',
    {
      /** Name and version, as the client states them; '': none. */
      client: k.text().notNull(),
      protocol_version: k.text().notNull(),
      first_at: k.text().notNull(),
      last_at: k.text().notNull(),
    },
    (t) => [k.unique('client_versions_key').on(t.client, t.protocol_version), k.index('client_versions_time').on(t.last_at)],
  );
  /** One row per start of a host: its last stored batch, and its queues at that time. */
  const host_reports = k.table(
    'host_reports',
    {
      boot_id: k.text().primaryKey(),
      host_id: k.text().notNull(),
      seq: k.int().notNull(),
      queues: k.json<QueueGauge[]>().notNull(),
      running: k.json<RunningCall[]>(),
      reported_at: k.text().notNull(),
    },
    (t) => [k.index('host_reports_time').on(t.reported_at)],
  );
  const calls = { request_logs, mcp_sessions, mcp_session_names, mcp_lists };
  return {
    ...calls,
    client_versions,
    refusals,
    refusal_counts,
    usage_series,
    caller_series,
    usage_callers,
    traffic,
    host_reports,
  };
}
