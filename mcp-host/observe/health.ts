import type { Registry } from '#mcp-host/registry/registry.ts';
import type { ConnectionPools } from '#mcp-host/connections/connection-pools.ts';
import type { Readiness } from '#core/edge/probes.ts';

/** The body of `/health`. */
export type HostHealth = ReturnType<typeof healthOf>;

export function healthOf(state: {
  serving: Registry | null;
  idle: string | null;
  waiting: boolean;
  uptime_ms: number;
  sessions: number;
  streams: number;
  usage_dropped: number;
  /** The list of access tokens: when the server sent it, and whether the host would get a newer one. */
  access_tokens: { as_of: string | null; current: boolean };
  /** What the host could not write to its disk, as sentences. */
  not_saved: readonly string[];
  control: { connected: boolean; last_event_at: string | null };
  connections: ReturnType<ConnectionPools['counters']>;
}) {
  const { serving, idle, waiting, uptime_ms, ...rest } = state;
  return {
    status: idle === null ? 'running' : waiting ? 'waiting' : 'stopped',
    snapshot_version: serving?.snapshot_version ?? null,
    checksum: serving?.checksum ?? null,
    server_name: serving?.server.server_name ?? null,
    transport: serving?.server.transport ?? null,
    uptime_seconds: Math.floor(uptime_ms / 1_000),
    ...rest,
  };
}

/** What a copy that could not be saved means. */
const OLDER_COPY = 'If this host restarts while the server is away, it uses older copies.';

/** Returns the blocking faults, and the faults with which the host can still serve. */
export function readinessOf(state: {
  /** Why nothing is served. */
  readonly idle: string | null;
  /** Why the copy on disk was not used. */
  readonly fault: string | null;
  /** What could not be written to disk. */
  readonly not_saved: readonly string[];
  readonly connected: boolean;
  readonly redis: { up(): boolean } | null;
}): Readiness {
  const { idle, fault, not_saved, connected, redis } = state;
  return {
    blocking: idle === null ? [] : [idle],
    degraded: [
      ...(fault === null ? [] : [`The snapshot on disk could not be read: ${fault}`]),
      ...(not_saved.length === 0 ? [] : [...not_saved, OLDER_COPY]),
      ...(connected ? [] : ['Not connected to the server: deploys, token revocations and metrics are delayed.']),
      ...(redis === null || redis.up() ? [] : ['Redis cannot be reached. This host applies its limits on its own.']),
    ],
  };
}
