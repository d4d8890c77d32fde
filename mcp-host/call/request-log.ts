import type { CallGroup } from '#core/contract/monitoring.ts';
import type { CallContext, CallServices } from './context.ts';
import { clientOf } from './request-record.ts';

/** Adds an ended call to the request log. @param error why it failed. */
export function logCall(
  { caller, record, registry }: CallContext,
  { usage, now }: CallServices,
  kind: CallGroup['kind'],
  { id, name }: { readonly id: string; readonly name: string },
  error: string | null,
): void {
  usage.add({
    of: {
      kind,
      name,
      entity_id: id,
      connection_id: record.connection?.id ?? null,
      snapshot_version: registry.snapshot_version,
      client: clientOf(record),
      token_prefix: caller.token_prefix,
      ...(registry.side === null ? undefined : { canary: registry.side }),
      ...(record.confirmation !== null && { confirmation: record.confirmation }),
    },
    timestamp: now(),
    duration_ms: round(performance.now() - record.started),
    wait_ms: round(record.wait_ms),
    rows: record.rows,
    bytes: record.bytes,
    error,
  });
}

const round = (ms: number): number => Math.round(ms * 1_000) / 1_000;
