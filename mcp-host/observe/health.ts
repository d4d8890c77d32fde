import type { Registry } from '#mcp-host/swap/registry.ts';
import type { Sources } from '#mcp-host/swap/sources.ts';

/** What `/health` tells. */
export type HostHealth = ReturnType<typeof healthOf>;

export function healthOf(state: {
  serving: Registry | null;
  idle: string | null;
  waiting: boolean;
  uptime_ms: number;
  sessions: number;
  streams: number;
  usage_dropped: number;
  /** The list of access tokens: when the server sent it, and whether a newer one would be known. */
  access_tokens: { as_of: string | null; current: boolean };
  control: { connected: boolean; last_event_at: string | null };
  connections: ReturnType<Sources['counters']>;
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
