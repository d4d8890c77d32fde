import type { StopSignal } from '#core/engines/shared/stop.ts';
import type { SessionState } from '#core/engines/shared/source.ts';
import type { Position } from '#core/query/pages.ts';
import { type ExecutionResult, ofResult, runQuery } from '#core/query/query.ts';
import { sessionOf } from '#core/query/session.ts';
import type { CallFacts } from '#core/query/value-sources.ts';
import type { ParameterValues } from '#core/query/values.ts';
import { holderOf } from '#mcp-host/auth/caller.ts';
import { isMembers, type Members } from '#mcp-host/protocol/messages.ts';
import type { CallResult } from './cache.ts';
import { guardedWrite, type Review } from './confirmation/guarded-write.ts';
import { fillMissing } from './confirmation/missing-arguments.ts';
import { InputRequired, type PendingCall, openCall } from './confirmation/pending-call.ts';
import type { CallContext } from './context.ts';
import { failureOf } from './failure.ts';
import { logCall } from './request-log.ts';
import { asksBeforeWriting, type Callable, type ResultWriter } from './result-writer.ts';
import type { CallServices } from './services.ts';

/** The arguments that the caller sent for one definition. */
export interface Sent {
  readonly args: Members;
  /** The token of a two-step call. */
  readonly token?: unknown;
  /** The cursor of a page. */
  readonly after?: unknown;
}

/** The state of a call that all its steps share. */
interface Call<E extends Callable> {
  readonly writer: ResultWriter<E>;
  readonly entry: E;
  readonly sent: Sent;
  readonly context: CallContext;
  readonly services: CallServices;
  readonly facts: CallFacts;
  /** The id of the call; null: it was never read. */
  readonly usedId: () => string | null;
  readonly holder: () => string;
  /** Values that the database may repeat in a message, which the log omits. */
  readonly seen: unknown[];
}

/** Checked values, including those that a person filled in. */
interface Completed {
  readonly facts: CallFacts;
  readonly values: ParameterValues;
  /** Null: the call asks no person. */
  readonly pending: PendingCall | null;
}

/** Everything that the statement is run with. */
interface Resolved extends Completed {
  /** The start of the page; null: the first row. */
  readonly position: Position | null;
  readonly session: SessionState | null;
}

/** Runs one definition: each step takes the result of the step before. */
export async function runCall<E extends Callable>(
  writer: ResultWriter<E>,
  entry: E,
  sent: Sent,
  context: CallContext,
  services: CallServices,
): Promise<string | InputRequired> {
  const call = begin(writer, entry, sent, context, services);
  try {
    const turn = admit(call);
    if (turn !== undefined) await turn;
    const position = openPage(call);
    const completed = await complete(call);
    if (completed instanceof InputRequired) return logQuestion(call, completed);
    const resolved = resolve(call, completed, position);
    const result = await execute(call, resolved);
    return result instanceof InputRequired ? logQuestion(call, result) : record(call, resolved, result);
  } catch (error) {
    return fail(call, error);
  }
}

function begin<E extends Callable>(
  writer: ResultWriter<E>,
  entry: E,
  sent: Sent,
  context: CallContext,
  services: CallServices,
): Call<E> {
  const { caller, record, registry } = context;
  record.query = entry.entity;
  record.connection = entry.connection;
  record.refuses_undeclared = writer.kind === 'tool' && registry.server.undeclared_arguments === 'refuse';
  // Few calls read their id. The caller's request id is not used, because two callers may use the same one.
  let id: string | null = null;
  const stamp = {
    time: services.now(),
    get id() {
      return (id ??= crypto.randomUUID());
    },
  };
  return {
    writer,
    entry,
    sent,
    context,
    services,
    facts: { arguments: sent.args, vars: registry.vars, caller, call: stamp },
    usedId: () => id,
    holder: () => holderOf(caller, record.exchange.address),
    seen: [sent.args],
  };
}

/** Applies the rate limits. @returns undefined if the call need not wait for the answer of a shared limit. */
const admit = <E extends Callable>({ entry, services, holder }: Call<E>): Promise<void> | undefined =>
  services.limits.take(entry.entity, holder);

/** @returns the start of the page; null: the first row. */
function openPage<E extends Callable>(call: Call<E>): Position | null {
  const { after } = call.sent;
  return after === undefined || after === null ? null : call.services.pages.open(pagedBy(call), after);
}

/** Checks the arguments, after a person has filled in missing ones. */
function complete<E extends Callable>(call: Call<E>): Completed | Promise<Completed | InputRequired> {
  const { writer, entry, sent, context, services, facts } = call;
  const tool = writer.asks(entry.entity);
  const pending = tool === null ? null : openCall(tool, sent.args, sent.token, context, services.confirmations);
  if (pending?.tool.ask_missing === true) return completeByPerson(call, pending);
  const values = entry.plan.resolve(facts, context.record);
  if (values instanceof Promise) return values.then((checked) => ({ facts, values: checked, pending }));
  return { facts, values, pending };
}

async function completeByPerson<E extends Callable>(call: Call<E>, pending: PendingCall): Promise<Completed | InputRequired> {
  const { entry, context, services, facts, seen } = call;
  const check = (args: Members) => entry.plan.resolve({ ...facts, arguments: args }, context.record);
  const filled = await fillMissing(pending, services.confirmations, check);
  if (filled instanceof InputRequired) return filled;
  const { args } = filled.call;
  seen.push(args);
  return { facts: { ...facts, arguments: args }, values: filled.values, pending: filled.call };
}

/** Adds the session values from the caller's credential. */
function resolve<E extends Callable>(
  { entry, seen }: Call<E>,
  { facts, values, pending }: Completed,
  position: Position | null,
): Resolved {
  seen.push(values);
  const session = sessionOf(entry.connection, facts);
  if (session !== null) seen.push(session.values);
  return { facts, values, pending, position, session };
}

/** Takes the result from the cache, runs the statement after a confirmation, or runs it at once. */
function execute<E extends Callable>(call: Call<E>, resolved: Resolved): Promise<CallResult | InputRequired> {
  const { entry, context, services } = call;
  const { values, pending, session, facts, position } = resolved;
  const run = (bound: ParameterValues, signal: StopSignal, review?: Review) => runAndWrite(call, resolved, bound, signal, review);
  if (pending !== null && asksBeforeWriting(pending.tool)) {
    return guardedWrite(pending, services.confirmations, (review) => run(values, context.deadline, review));
  }
  const beside = (): readonly unknown[] => {
    const of_caller = entry.plan.beside(facts, session);
    return entry.plan.paging === null ? of_caller : [...of_caller, services.pages.bound(pagedBy(call)), position];
  };
  return services.cache.through(entry, context, values, run, beside) ?? run(values, context.deadline);
}

/** Runs the statement in a slot of its queue, and writes the members of its result. */
async function runAndWrite<E extends Callable>(
  call: Call<E>,
  { facts, session, position }: Resolved,
  values: ParameterValues,
  signal: StopSignal,
  review: Review | undefined,
): Promise<CallResult> {
  const { entry, context, services, holder } = call;
  const { plan, connection, entity } = entry;
  const { record, ask } = context;
  const pool = services.sources.hold(connection);
  try {
    const { source, queue: slot, opened } = ask?.follow(pool, entity.timeout_ms) ?? pool;
    const { pseudonym } = services;
    const how = { source, opened, slot, holder, signal, facts, session, pseudonym, record, review, after: position };
    const outcome = await runQuery(plan, values, how);
    const written = write(call, outcome);
    const members = typeof written === 'string' ? written : await written;
    const { rows, truncated } = outcome.result;
    return { members, rows: rows.length, wait_ms: outcome.wait_ms, truncated };
  } finally {
    pool.release();
  }
}

function write<E extends Callable>(call: Call<E>, outcome: ExecutionResult): string | Promise<string> {
  const { writer, entry, context, services } = call;
  const next = outcome.next === null ? null : services.pages.seal(pagedBy(call), outcome.next);
  return ofResult(() => writer.members(outcome, entry.entity, context, next));
}

/** Records the call in the request log, the caller's stream and the samples. @returns the members of the answer. */
function record<E extends Callable>(call: Call<E>, { pending, facts, position }: Resolved, result: CallResult): string {
  const { writer, entry, sent, context, services } = call;
  const { record, ask } = context;
  const { arguments: args } = facts;
  const members = writer.addNotes(result.members, {
    entry,
    args: isMembers(args) ? args : {},
    context,
    files: services.files,
    whole_rows: result.truncated || position !== null ? null : result.rows,
  });
  record.rows = result.rows;
  record.bytes = members.length;
  // A call that joined another call's run has waited no longer than its duration.
  record.wait_ms = Math.min(result.wait_ms, performance.now() - record.started);
  record.truncated = result.truncated;
  logCall(context, services, writer.kind, entry.entity, null, members);
  ask?.done(result.rows);
  // Values that a person filled in are not stored.
  const is_filled_in = pending !== null && Object.keys(pending.given).length > 0;
  if (writer.kind === 'tool' && !is_filled_in && record.exchange.endpoint.candidate === null) {
    services.samples.keep(entry.entity, sent.args, context, performance.now() - record.started);
  }
  return members;
}

/** Logs a question to a person once, whatever its outcome. */
function logQuestion<E extends Callable>({ writer, entry, context, services }: Call<E>, question: InputRequired): InputRequired {
  if (!question.is_open) logCall(context, services, writer.kind, entry.entity, null);
  return question;
}

/** @returns the members of an answer that names the fault. Throws errors of the protocol. */
function fail<E extends Callable>({ writer, entry, context, services, usedId, seen }: Call<E>, error: unknown): string {
  const { entity } = entry;
  const { logged, code, answer } = failureOf(error, { writer, entity, context, call_id: usedId(), seen }, services.log);
  if (code !== null) context.record.fault = code;
  logCall(context, services, writer.kind, entity, logged);
  if (code !== null) context.ask?.failed(code);
  if (typeof answer === 'string') return answer;
  throw answer;
}

const pagedBy = <E extends Callable>({ entry, sent, context }: Call<E>) => ({
  tool_id: entry.entity.id,
  args: sent.args,
  context,
});
