import {
  addBuckets,
  type Buckets,
  bucketsOf,
  type Labels,
  createBuckets,
  metric,
  histogram,
  observe,
} from '#core/lib/metrics/metrics-text.ts';
import { diskMetrics } from '#core/lib/metrics/disk-metrics.ts';
import { buildInfo } from '#core/process/build-info.ts';
import { createCallCounts, REMOVED } from './call-counts.ts';
import { createProcessMetrics } from '#core/lib/metrics/process-metrics.ts';
import type { Registry } from '#mcp-host/registry/registry.ts';
import type { RateLimits } from '#mcp-host/limits/rate-limit.ts';
import type { ConnectionPools } from '#mcp-host/connections/connection-pools.ts';
import { CallerGone } from '#mcp-host/requests/running-calls.ts';
import { MODERN_VERSION, RpcError } from '#mcp-host/protocol/messages.ts';
import { methodLabel, type RequestRecord } from '#mcp-host/requests/request-record.ts';
import type { ErrorCode } from '#core/errors.ts';
import { CONFIRMATION_CHOICES } from '#core/contract/observe/calls.ts';

/** Metrics of a host for Prometheus: counted when a call ends, formatted when they are requested. */
export interface Metrics {
  add(record: RequestRecord): void;
  /** Counts a session of this protocol version that ended, with its duration in ms. */
  endSession(version: string, ms: number): void;
  /** Counts a request that was refused with this status before a call. */
  refuse(status: number): void;
  /** Merges the metrics of tools and prompts that this registry lacks under one name. */
  use(registry: Registry): void;
  /** In the text format of Prometheus. */
  text(): Promise<string>;
}

export interface MetricsOptions {
  readonly sources: ConnectionPools;
  readonly limits: RateLimits;
  /** The folder for copies; null: the host stores nothing. */
  readonly folder: string | null;
  /** Values that other parts of the host count. */
  readonly state: () => {
    readonly snapshot_version: number | null;
    readonly checksum: string | null;
    readonly sessions: number;
    readonly streams: number;
    readonly usage_dropped: number;
    readonly connected: boolean;
    readonly not_saved: number;
    readonly shared_limits: boolean | null;
  };
}

interface Operation {
  readonly method: string;
  readonly name: string;
  readonly version: string;
  readonly error: string;
  readonly transport: string;
  readonly buckets: Buckets;
}

/** Methods whose param `name` becomes a label, if the registry has the definition. */
const NAMED: ReadonlyMap<string, (registry: Registry, name: string) => boolean> = new Map([
  ['tools/call', ({ tools }: Registry, name: string) => tools.has(name)],
  ['prompts/get', ({ prompts }: Registry, name: string) => prompts.has(name)],
]);
const isNamed = (method: string, registry: Registry, name: string): boolean => NAMED.get(method)?.(registry, name) === true;

/** The reasons for which calls fail most; others appear when they first occur. */
const FAULTS: readonly ErrorCode[] = [
  'sql_error',
  'database_unreachable',
  'timeout',
  'too_large',
  'bad_request',
  'unavailable',
  'internal',
];

export const createMetrics = (options: MetricsOptions): Metrics => new HostMetrics(options);

class HostMetrics implements Metrics {
  readonly #options: MetricsOptions;
  /** By the name of the tool or prompt; each has few operations. */
  #operations = new Map<string, Operation[]>();
  /** By the name of the connection. */
  #databases = new Map<string, { readonly db_type: string; readonly buckets: Buckets }>();
  readonly #ended = new Map<string, Buckets>();
  // A rate misses the first event of a series that begins with it.
  readonly #faults = new Map<string, number>(FAULTS.map((code) => [code, 0]));
  readonly #calls = createCallCounts();
  readonly #confirmations = new Map<string, number>(Object.keys(CONFIRMATION_CHOICES).map((outcome) => [outcome, 0]));
  #undeclared = 0;
  readonly #refusals = new Map<number, number>();
  readonly #processMetrics = createProcessMetrics();

  constructor(options: MetricsOptions) {
    this.#options = options;
  }

  add(record: RequestRecord): void {
    const { message, exchange, protocol, connection, query_from, query_to } = record;
    const method = methodLabel(record);
    const given = message.params['name'];
    const name = typeof given === 'string' && isNamed(method, exchange.registry, given) ? given : '';
    const version = protocol.modern ? MODERN_VERSION : (record.session?.version ?? '');
    const error = errorType(record);
    const transport = exchange.peer.listener === 0 ? 'pipe' : 'tcp';
    const { buckets } = operationOf(this.#operations, method, name, version, error, transport);
    observe(buckets, (performance.now() - record.started) / 1_000);
    if (record.logged !== null) this.#calls.add(record.logged);
    if (record.fault !== null) this.#faults.set(record.fault, (this.#faults.get(record.fault) ?? 0) + 1);
    const { confirmation } = record;
    if (confirmation !== null) this.#confirmations.set(confirmation, (this.#confirmations.get(confirmation) ?? 0) + 1);
    this.#undeclared += record.undeclared;
    if (connection === null || query_to === 0) return;
    observe(this.#databaseOf(connection.name, connection.db_type), (query_to - query_from) / 1_000);
  }

  endSession(version: string, ms: number): void {
    observe(bucketsOf(this.#ended, version), ms / 1_000);
  }

  refuse(status: number): void {
    this.#refusals.set(status, (this.#refusals.get(status) ?? 0) + 1);
  }

  use(registry: Registry): void {
    const merged = new Map<string, Operation[]>();
    for (const { method, name, version, error, transport, buckets } of [...this.#operations.values()].flat()) {
      const known = name === '' || isNamed(method, registry, name) ? name : REMOVED;
      addBuckets(operationOf(merged, method, known, version, error, transport).buckets, buckets);
    }
    this.#operations = merged;
    const databases = this.#databases;
    this.#databases = new Map();
    const connections = new Set(registry.connections.map((connection) => connection.name));
    for (const [name, { db_type, buckets }] of databases) {
      addBuckets(this.#databaseOf(connections.has(name) ? name : `${REMOVED} ${db_type}`, db_type), buckets);
    }
    this.#calls.use(registry);
  }

  #databaseOf(name: string, db_type: string): Buckets {
    let found = this.#databases.get(name);
    if (found === undefined) this.#databases.set(name, (found = { db_type, buckets: createBuckets() }));
    return found.buckets;
  }

  async text(): Promise<string> {
    const now = this.#options.state();
    const { tool, caller } = this.#options.limits.refused();
    return [
      histogram(
        'mcp_server_operation_duration_seconds',
        'Requests of MCP clients, by method and tool.',
        [...this.#operations.values()].flat().map((operation) => [labelsOf(operation), operation.buckets]),
      ),
      histogram(
        'mcp_server_session_duration_seconds',
        'Sessions of older clients that ended.',
        [...this.#ended].map(([mcp_protocol_version, buckets]) => [{ mcp_protocol_version }, buckets]),
      ),
      histogram(
        'db_client_operation_duration_seconds',
        'Duration of statements, from getting a slot to the last row.',
        [...this.#databases].map(([name, { db_type, buckets }]) => [
          { db_system_name: db_type, connection: name.startsWith(`${REMOVED} `) ? REMOVED : name },
          buckets,
        ]),
      ),
      metric(
        'counter',
        'sluice_call_faults_total',
        'Calls that failed inside their tool or resource, by reason.',
        [...this.#faults].map(([code, count]) => [{ code }, count] as const),
      ),
      this.#calls.text(),
      metric(
        'counter',
        'sluice_confirmations_total',
        'Calls of tools that ask before they write, by how the question went.',
        [...this.#confirmations].map(([outcome, count]) => [{ outcome }, count] as const),
      ),
      metric(
        'counter',
        'sluice_undeclared_arguments_total',
        'Arguments that callers sent and tools do not declare, ignored or refused; without those that clients are known to add.',
        this.#undeclared,
      ),
      ...queueMetrics(this.#options.sources),
      metric(
        'counter',
        'sluice_http_refused_total',
        'Requests rejected before a call, by status.',
        [...this.#refusals].map(([status, count]) => [{ status }, count] as const),
      ),
      metric('counter', 'sluice_auth_failures_total', 'Requests without a valid credential.', this.#refusals.get(401) ?? 0),
      metric('counter', 'sluice_rate_limited_total', 'Calls rejected by a rate limit.', [
        [{ limit: 'tool' }, tool],
        [{ limit: 'caller' }, caller],
      ]),
      metric('gauge', 'sluice_sessions', 'Sessions of older clients.', now.sessions),
      metric('gauge', 'sluice_streams', 'Open event streams.', now.streams),
      metric('counter', 'sluice_usage_dropped_total', 'Calls that were not reported to the server.', now.usage_dropped),
      metric('gauge', 'sluice_server_connected', 'Whether the host is connected to the server.', Number(now.connected)),
      metric('gauge', 'sluice_copies_not_saved', 'Copies that could not be written to the disk.', now.not_saved),
      metric(
        'gauge',
        'sluice_shared_limits',
        'Whether limits are shared with other hosts.',
        now.shared_limits === null ? null : Number(now.shared_limits),
      ),
      metric(
        'gauge',
        'sluice_active_snapshot_info',
        'The snapshot being served.',
        now.snapshot_version === null ? null : [[{ version: now.snapshot_version, checksum: now.checksum ?? '' }, 1]],
      ),
      buildInfo('host'),
      this.#options.folder === null ? '' : await diskMetrics(this.#options.folder),
      await this.#processMetrics(),
    ].join('');
  }
}

const labelsOf = ({ method, name, version, error, transport }: Operation): Labels => ({
  mcp_method_name: method,
  ...(name !== '' && { [method === 'prompts/get' ? 'gen_ai_prompt_name' : 'gen_ai_tool_name']: name }),
  ...(error !== '' && { error_type: error }),
  ...(version !== '' && { mcp_protocol_version: version }),
  network_transport: transport,
});

type QueueState = ReturnType<ConnectionPools['counters']>[number] & { readonly slots: number };
/** Metrics with one sample for each connection. */
const QUEUE_METRICS: readonly ['counter' | 'gauge', name: string, help: string, read: (state: QueueState) => number][] = [
  ['gauge', 'sluice_queue_active', 'Running calls, by connection.', ({ queue }) => queue.active],
  ['gauge', 'sluice_queue_waiting', 'Calls waiting for a slot.', ({ queue }) => queue.waiting],
  ['gauge', 'sluice_queue_places', 'Calls that this host can run at once.', ({ slots }) => slots],
  ['counter', 'sluice_queue_completed_total', 'Calls that got a slot.', ({ queue }) => queue.completed],
  ['counter', 'sluice_queue_rejected_total', 'Calls rejected because the queue was full.', ({ queue }) => queue.rejected],
  ['counter', 'sluice_queue_timed_out_total', 'Calls that timed out waiting for a slot.', ({ queue }) => queue.timed_out],
  ['gauge', 'sluice_pool_sessions', 'Open sessions with the database.', ({ sessions }) => sessions],
];

function queueMetrics(sources: ConnectionPools): string[] {
  const slots = new Map(sources.gauges().map(({ id, limit }) => [id, limit]));
  const states = sources.counters().map((one) => ({ ...one, slots: slots.get(one.id) ?? 0 }));
  return QUEUE_METRICS.map(([type, name, help, read]) =>
    metric(
      type,
      name,
      help,
      states.map((state) => [{ connection: state.name }, read(state)] as const),
    ),
  );
}

/** Finds or creates the operation with these labels. */
function operationOf(
  operations: Map<string, Operation[]>,
  method: string,
  name: string,
  version: string,
  error: string,
  transport: string,
): Operation {
  let named = operations.get(name);
  if (named === undefined) operations.set(name, (named = []));
  for (const one of named) {
    if (one.method === method && one.version === version && one.error === error && one.transport === transport) return one;
  }
  const operation = { method, name, version, error, transport, buckets: createBuckets() };
  named.push(operation);
  return operation;
}

/** `error.type` of the MCP conventions: `tool_error` when the result has `isError`, else the code of the error. */
export function errorType({ message, fault, error }: RequestRecord): string {
  if (error instanceof CallerGone) return 'cancelled';
  if (error instanceof RpcError) return String(error.code);
  if (error !== null) return 'internal';
  return fault !== null && message.method === 'tools/call' ? 'tool_error' : '';
}
