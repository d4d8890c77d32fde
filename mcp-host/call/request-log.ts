import type { CallGroup } from '#core/contract/observe/usage-batch.ts';
import type { UsageItem, LoggedFault } from '#mcp-host/requests/usage-item.ts';
import type { CallContext } from './context.ts';
import type { CallServices } from './services.ts';
import { estimateTokens } from '#core/lib/tokens.ts';
import type { FrozenTool } from '#snapshots/format/format.ts';
import { MOST_LOGGED } from '#core/contract/observe/logged-arguments.ts';
import { isSent } from '#core/query/arguments.ts';
import { liftedColumns, maskArgument, type Pseudonym } from '#core/query/masks.ts';
import { isMembers } from '#mcp-host/protocol/messages.ts';
import type { ArgumentNote } from '#mcp-host/requests/usage-item.ts';
import { clientOf, durationOf, revisionOf, sessionDigest, traceIdOf } from '#mcp-host/requests/request-record.ts';

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

function groupOf(kind: CallGroup['kind'], entity: Logged, { caller, identity, record, registry }: CallContext): CallGroup {
  const { session: opened, confirmation } = record;
  const { snapshot_version, side } = registry;
  const client = clientOf(record);
  const protocol_version = revisionOf(record);
  const session = opened === null ? undefined : sessionDigest(opened);
  const connection_id = record.connection?.id ?? null;
  const known = latest.get(entity);
  if (
    known !== undefined &&
    known.snapshot_version === snapshot_version &&
    known.connection_id === connection_id &&
    known.client === client &&
    known.protocol_version === protocol_version &&
    known.token_prefix === caller.token_prefix &&
    known.caller === caller.ids &&
    known.session === session &&
    known.canary === (side ?? undefined) &&
    known.confirmation === (confirmation ?? undefined) &&
    (entity.masks === undefined || isSameList(known.unmasked, liftedColumns(entity.masks, identity.groups)))
  )
    return known;
  const unmasked = liftedColumns(entity.masks ?? [], identity.groups);
  const group: CallGroup = {
    kind,
    name: entity.name,
    entity_id: entity.id,
    connection_id,
    snapshot_version,
    client,
    protocol_version,
    token_prefix: caller.token_prefix,
    ...(caller.ids !== undefined && { caller: caller.ids }),
    ...(session !== undefined && { session }),
    ...(side !== null && { canary: side }),
    ...(confirmation !== null && { confirmation }),
    ...(unmasked.length > 0 && { unmasked }),
  };
  latest.set(entity, group);
  return group;
}

const isSameList = (known: readonly string[] = [], list: readonly string[]): boolean =>
  known.length === list.length && known.every((item, n) => item === list[n]);

const round = (ms: number): number => Math.round(ms * 1_000) / 1_000;

/** A definition whose calls are logged; only tools can log arguments. */
type Logged = Pick<FrozenTool, 'id' | 'name'> & Partial<Pick<FrozenTool, 'log_arguments' | 'parameters' | 'masks'>>;

/**
 * Notes only the arguments that the tool declares for its callers, without values from the caller's credential and without values
 * that a person filled in. @param sent the arguments of the request. Null: the tool logs no arguments.
 */
function noteArguments(
  { name: called, log_arguments, parameters = [] }: Logged,
  sent: unknown,
  pseudonym: Pseudonym,
): ArgumentNote | null {
  if (log_arguments === undefined) return null;
  const values = isMembers(sent) ? sent : {};
  // No prototype, so that a parameter may have any name.
  const logged_values: Record<string, unknown> = Object.create(null);
  const masked: string[] = [];
  const left_out: string[] = [];
  let bytes = 0;
  for (const parameter of parameters) {
    const { name } = parameter;
    if (!isSent(parameter) || !Object.hasOwn(values, name)) continue;
    const mask = log_arguments === true || !Object.hasOwn(log_arguments, name) ? undefined : log_arguments[name];
    if (mask !== undefined) masked.push(name);
    if (mask === 'remove') continue;
    const value = mask === undefined ? values[name] : maskArgument(values[name], mask, pseudonym);
    const size = Buffer.byteLength(JSON.stringify(value)) + name.length;
    if (bytes + size > MOST_LOGGED) {
      left_out.push(name);
      continue;
    }
    bytes += size;
    logged_values[name] = value;
  }
  return { logged: { called, arguments: logged_values, masked, left_out }, bytes };
}

/** Tokens per character in the answers of one definition. */
interface Rate {
  readonly per_character: number;
  /** Length of the measured answer. */
  readonly of: number;
  left: number;
}

/** An answer is measured again after this many calls, or when its length differs from the last one by this factor. */
const AGAIN = 500;
const DIFFERS = 3;
/** Most characters that are measured. */
const SAMPLE = 2_000;
const STRUCTURED = '"structuredContent":';

const rates = new WeakMap<object, Rate>();

/**
 * Estimates how many tokens an answer costs a model. Measuring every answer would cost more than the call, so most estimates use
 * the rate of an earlier answer: answers of one definition are alike. @param definition a frozen one.
 */
function answerTokens(definition: object, members: string): number {
  const { length } = members;
  if (length === 0) return 0;
  let rate = rates.get(definition);
  if (rate === undefined || rate.left <= 0 || length > rate.of * DIFFERS || length * DIFFERS < rate.of) {
    rate = { per_character: rateOf(members), of: length, left: AGAIN };
    rates.set(definition, rate);
  }
  rate.left--;
  return Math.round(length * rate.per_character);
}

/** An answer contains its structured content twice, but a model reads it once. */
function rateOf(members: string): number {
  const start = members.indexOf(STRUCTURED);
  const read = start < 0 ? members : members.slice(start + STRUCTURED.length);
  const sample = read.slice(0, SAMPLE);
  return (estimateTokens(sample) / sample.length) * (read.length / members.length);
}
