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
import { type CallOutcome, outcomeOf } from '#core/contract/observe/outcomes.ts';
import { createProcessMetrics } from '#core/lib/metrics/process-metrics.ts';
import type { Registry } from '#mcp-host/registry/registry.ts';
import type { RateLimits } from '#mcp-host/limits/rate-limit.ts';
import type { ConnectionPools } from '#mcp-host/connections/connection-pools.ts';
import { CallerGone } from '#mcp-host/requests/running-calls.ts';
import { MODERN_VERSION, RpcError } from '#mcp-host/protocol/messages.ts';
import { methodLabel, type RequestRecord } from '#mcp-host/requests/request-record.ts';

/** Metrics of a host for Prometheus: counted where a call ends, written down when they are asked for. */
export interface Metrics {
  add(record: RequestRecord): void;
  /** A session of this protocol version ended after so long. */
  endSession(version: string, ms: number): void;
  /** A request was answered with this status before it came to a call. */
  refuse(status: number): void;
  /** From now on metrics of tools and prompts that this registry lacks are kept under one name. */
  use(registry: Registry): void;
  /** In the text format of Prometheus. */
  text(): Promise<string>;
}

export interface MetricsOptions {
  readonly sources: ConnectionPools;
  readonly limits: RateLimits;
  /** What is counted elsewhere. */
  readonly state: () => {
    readonly snapshot_version: number | null;
    readonly checksum: string | null;
    readonly sessions: number;
    readonly streams: number;
    readonly usage_dropped: number;
    readonly connected: boolean;
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

/** Of tools that are not deployed any more: the number of label values stays that of the snapshot. */
const REMOVED = '_removed';
/** What names a thing in the parameters of a method, and where it must be known for its name to be a label. */
const NAMED: ReadonlyMap<string, (registry: Registry, name: string) => boolean> = new Map([
  ['tools/call', ({ tools }: Registry, name: string) => tools.has(name)],
  ['prompts/get', ({ prompts }: Registry, name: string) => prompts.has(name)],
]);
const isNamed = (method: string, registry: Registry, name: string): boolean => NAMED.get(method)?.(registry, name) === true;

export function createMetrics({ sources, limits, state }: MetricsOptions): Metrics {
  /** By the name of the tool or prompt: few of each. */
  let operations = new Map<string, Operation[]>();
  const databases = new Map<string, Buckets>();
  const ended = new Map<string, Buckets>();
  const faults = new Map<string, number>();
  const outcomes = new Map<CallOutcome, number>();
  const confirmations = new Map<string, number>();
  let undeclared = 0;
  const refusals = new Map<number, number>();
  const processMetrics = createProcessMetrics();

  return {
    add(record) {
      const { message, exchange, protocol, connection, query_from, query_to } = record;
      const method = methodLabel(record);
      const given = message.params['name'];
      const name = typeof given === 'string' && isNamed(method, exchange.registry, given) ? given : '';
      const version = protocol.modern ? MODERN_VERSION : (record.session?.version ?? '');
      const error = errorType(record);
      const transport = exchange.peer.listener === 0 ? 'pipe' : 'tcp';
      const { buckets } = operationOf(operations, method, name, version, error, transport);
      observe(buckets, (performance.now() - record.started) / 1_000);
      if (record.logged !== null) {
        const outcome = outcomeOf(record.logged.fault?.code ?? null);
        outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1);
      }
      if (record.fault !== null) faults.set(record.fault, (faults.get(record.fault) ?? 0) + 1);
      const { confirmation } = record;
      if (confirmation !== null) confirmations.set(confirmation, (confirmations.get(confirmation) ?? 0) + 1);
      undeclared += record.undeclared;
      if (connection === null || query_to === 0) return;
      observe(bucketsOf(databases, connection.db_type), (query_to - query_from) / 1_000);
    },
    endSession(version, ms) {
      observe(bucketsOf(ended, version), ms / 1_000);
    },
    refuse: (status) => void refusals.set(status, (refusals.get(status) ?? 0) + 1),
    use(registry) {
      const kept = new Map<string, Operation[]>();
      for (const { method, name, version, error, transport, buckets } of [...operations.values()].flat()) {
        const known = name === '' || isNamed(method, registry, name) ? name : REMOVED;
        addBuckets(operationOf(kept, method, known, version, error, transport).buckets, buckets);
      }
      operations = kept;
    },
    async text() {
      const now = state();
      const { tool, caller } = limits.refused();
      return [
        histogram(
          'mcp_server_operation_duration_seconds',
          'Requests of MCP clients, by method and tool.',
          [...operations.values()].flat().map((operation) => [labelsOf(operation), operation.buckets]),
        ),
        histogram(
          'mcp_server_session_duration_seconds',
          'Sessions of older clients that ended.',
          [...ended].map(([mcp_protocol_version, buckets]) => [{ mcp_protocol_version }, buckets]),
        ),
        histogram(
          'db_client_operation_duration_seconds',
          'Duration of statements, from getting a slot to the last row.',
          [...databases].map(([db_system_name, buckets]) => [{ db_system_name }, buckets]),
        ),
        metric(
          'counter',
          'sluice_call_faults_total',
          'Calls that failed inside their tool or resource, by reason.',
          [...faults].map(([code, count]) => [{ code }, count] as const),
        ),
        metric(
          'counter',
          'sluice_calls_total',
          'Calls of tools, resources and prompts, by how they ended.',
          [...outcomes].map(([outcome, count]) => [{ outcome }, count] as const),
        ),
        metric(
          'counter',
          'sluice_confirmations_total',
          'Calls of tools that ask before they write, by how the question went.',
          [...confirmations].map(([outcome, count]) => [{ outcome }, count] as const),
        ),
        metric(
          'counter',
          'sluice_undeclared_arguments_total',
          'Arguments that callers sent and tools do not declare, ignored or refused; without those that clients are known to add.',
          undeclared,
        ),
        ...queueMetrics(sources),
        metric(
          'counter',
          'sluice_http_refused_total',
          'Requests rejected before a call, by status.',
          [...refusals].map(([status, count]) => [{ status }, count] as const),
        ),
        metric('counter', 'sluice_auth_failures_total', 'Requests without a valid credential.', refusals.get(401) ?? 0),
        metric('counter', 'sluice_rate_limited_total', 'Calls rejected by a rate limit.', [
          [{ limit: 'tool' }, tool],
          [{ limit: 'caller' }, caller],
        ]),
        metric('gauge', 'sluice_sessions', 'Sessions of older clients.', now.sessions),
        metric('gauge', 'sluice_streams', 'Open event streams.', now.streams),
        metric('counter', 'sluice_usage_dropped_total', 'Calls that were not reported to the server.', now.usage_dropped),
        metric('gauge', 'sluice_server_connected', 'Whether the host is connected to the server.', Number(now.connected)),
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
        await processMetrics(),
      ].join('');
    },
  };
}

const labelsOf = ({ method, name, version, error, transport }: Operation): Labels => ({
  mcp_method_name: method,
  ...(name !== '' && { [method === 'prompts/get' ? 'gen_ai_prompt_name' : 'gen_ai_tool_name']: name }),
  ...(error !== '' && { error_type: error }),
  ...(version !== '' && { mcp_protocol_version: version }),
  network_transport: transport,
});

type QueueState = ReturnType<ConnectionPools['counters']>[number] & { readonly slots: number };
/** One sample for each connection. */
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

/** The operation with these labels, which is new when none has them. */
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

/** `error.type` of the MCP conventions: `tool_error` when the result says so, else the code of the error. */
export function errorType({ message, fault, error }: RequestRecord): string {
  if (error instanceof CallerGone) return 'cancelled';
  if (error instanceof RpcError) return String(error.code);
  if (error !== null) return 'internal';
  return fault !== null && message.method === 'tools/call' ? 'tool_error' : '';
}
