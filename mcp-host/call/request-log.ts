import type { CallGroup } from '#core/contract/observe/usage-batch.ts';
import type { UsageItem, LoggedFault } from '#mcp-host/requests/usage-item.ts';
import type { CallContext } from './context.ts';
import type { CallServices } from './services.ts';
import { answerTokens } from './answer-tokens.ts';
import { type Logged, noteArguments } from './logged-arguments.ts';
import { clientOf, durationOf, sessionDigest, traceIdOf } from '#mcp-host/requests/request-record.ts';

/** Adds an ended call to the request log. @param members the result that a model reads; null: the call failed. */
export function logCall(
  context: CallContext,
  { usage, now, pseudonym }: CallServices,
  kind: CallGroup['kind'],
  entity: Logged,
  fault: LoggedFault | null,
  members: string | null = null,
): void {
  const { record } = context;
  const { query_from, query_to } = record;
  const item: UsageItem = {
    of: groupOf(kind, entity, context),
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

/** The group of the last call of each definition: usually the same caller calls again. */
const latest = new WeakMap<object, CallGroup>();

function groupOf(kind: CallGroup['kind'], entity: Logged, { caller, record, registry }: CallContext): CallGroup {
  const { session: opened, confirmation } = record;
  const { snapshot_version, side } = registry;
  const client = clientOf(record);
  const session = opened === null ? undefined : sessionDigest(opened);
  const connection_id = record.connection?.id ?? null;
  const known = latest.get(entity);
  if (
    known !== undefined &&
    known.snapshot_version === snapshot_version &&
    known.connection_id === connection_id &&
    known.client === client &&
    known.token_prefix === caller.token_prefix &&
    known.caller === caller.ids &&
    known.session === session &&
    known.canary === (side ?? undefined) &&
    known.confirmation === (confirmation ?? undefined)
  )
    return known;
  const group: CallGroup = {
    kind,
    name: entity.name,
    entity_id: entity.id,
    connection_id,
    snapshot_version,
    client,
    token_prefix: caller.token_prefix,
    ...(caller.ids !== undefined && { caller: caller.ids }),
    ...(session !== undefined && { session }),
    ...(side !== null && { canary: side }),
    ...(confirmation !== null && { confirmation }),
  };
  latest.set(entity, group);
  return group;
}

const round = (ms: number): number => Math.round(ms * 1_000) / 1_000;
