import type { CallGroup } from '#core/contract/observe/usage-batch.ts';
import type { UsageItem, LoggedFault } from '#mcp-host/requests/usage-item.ts';
import type { CallContext } from './context.ts';
import type { CallServices } from './services.ts';
import { answerTokens } from './answer-tokens.ts';
import { type Logged, noteArguments } from './logged-arguments.ts';
import { clientOf, durationOf, sessionDigest, traceIdOf } from '#mcp-host/requests/request-record.ts';

/** Adds an ended call to the request log. @param members what a model reads of it; null: it failed. */
export function logCall(
  { caller, record, registry }: CallContext,
  { usage, now, pseudonym }: CallServices,
  kind: CallGroup['kind'],
  entity: Logged,
  fault: LoggedFault | null,
  members: string | null = null,
): void {
  const { session, query_from, query_to } = record;
  const item: UsageItem = {
    of: {
      kind,
      name: entity.name,
      entity_id: entity.id,
      connection_id: record.connection?.id ?? null,
      snapshot_version: registry.snapshot_version,
      client: clientOf(record),
      token_prefix: caller.token_prefix,
      ...(caller.ids !== undefined && { caller: caller.ids }),
      ...(session !== null && { session: sessionDigest(session) }),
      ...(registry.side === null ? undefined : { canary: registry.side }),
      ...(record.confirmation !== null && { confirmation: record.confirmation }),
    },
    timestamp: now(),
    duration_ms: round(durationOf(record)),
    wait_ms: round(record.wait_ms),
    database_ms: query_to === 0 ? 0 : round(query_to - query_from),
    rows: record.rows,
    bytes: record.bytes,
    truncated: record.truncated,
    tokens: members === null ? 0 : answerTokens(entity, members),
    fault,
    trace_id: traceIdOf(record),
    ignored_arguments: record.ignored,
    arguments: noteArguments(entity, record.message.params['arguments'], pseudonym),
  };
  record.logged = item;
  usage.add(item);
}

const round = (ms: number): number => Math.round(ms * 1_000) / 1_000;
