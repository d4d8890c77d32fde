import type { Readiness } from '#core/edge/probes.ts';

/** What a host can work without, and what not. */
export function readinessOf(state: {
  /** Why nothing is served. */
  readonly idle: string | null;
  /** Why the copy on disk was not taken. */
  readonly fault: string | null;
  readonly connected: boolean;
  readonly redis: { up(): boolean } | null;
}): Readiness {
  const { idle, fault, connected, redis } = state;
  return {
    blocking: idle === null ? [] : [idle],
    degraded: [
      ...(fault === null ? [] : [`The snapshot on disk could not be read: ${fault}`]),
      ...(connected ? [] : ['Not connected to the server: deploys, token revocations and metrics are delayed.']),
      ...(redis === null || redis.up() ? [] : ['Redis cannot be reached. This host applies its limits on its own.']),
    ],
  };
}
