import type { FrozenConnection, FrozenTool } from '#snapshots/format/format.ts';
import type { FrozenQuery } from '#core/query/frozen-query.ts';
import { type QueryPlan, type ExecutionResult, ofResult, runQuery } from '#core/query/query.ts';
import { type Fault, behindCommit, toFault } from '#mcp-host/protocol/fault.ts';
import type { CallContext } from './context.ts';
import { shape, shapeResource, mediaBlock, type Shaped, shownText } from '#core/query/shape.ts';
import type { ToolEntry, ResourceEntry, Registry } from '#mcp-host/registry/registry.ts';
import { failedContent, withIgnored } from './ignored-arguments.ts';
import { RPC, RpcError, isMembers, type Members, sessionNotFound } from '#mcp-host/protocol/messages.ts';
import { depthFault } from '#core/query/argument-values.ts';
import { AFTER } from '#core/query/page-schemas.ts';
import { InputRequired, type PendingCall, openCall } from './confirmation/pending-call.ts';
import { TOKEN } from '#mcp-host/registry/tool-item.ts';
import type { CallServices } from './services.ts';
import { wellFormedJson } from '#core/lib/text/wire-text.ts';
import { isLong, longMembers } from './long-result.ts';
import type { Page } from '#mcp-host/protocol/lists.ts';
import { skillAt, skillContents } from '#mcp-host/registry/skill.ts';
import { findResource } from '#mcp-host/registry/find-resource.ts';
import { isGuarded } from '#core/contract/definitions/write-guard.ts';
import type { SessionState } from '#core/engines/shared/source.ts';
import { sessionOf } from '#core/query/session.ts';
import type { Position } from '#core/query/pages.ts';
import { holderOf } from '#mcp-host/auth/caller.ts';
import type { StopSignal } from '#core/engines/shared/stop.ts';
import type { ParameterValues } from '#core/query/values.ts';
import type { CallResult } from './cache.ts';
import { guardedWrite, type Review } from './confirmation/guarded-write.ts';
import { fillMissing } from './confirmation/missing-arguments.ts';
import { CallerGone, isAnswered } from '#mcp-host/requests/running-calls.ts';
import { SESSION_ENDED } from '#mcp-host/requests/sessions.ts';
import { loggedFault, withoutMasked } from './logged-fault.ts';
import { logCall } from './request-log.ts';

interface Callable {
  readonly entity: FrozenQuery & { readonly id: string; readonly name: string };
  readonly plan: QueryPlan;
  readonly connection: FrozenConnection;
}

/** How the results of one kind of definition are written. */
interface ResultWriter<E extends Callable> {
  readonly name: 'tool' | 'resource';
  /** @param next the cursor of the next page; null: there is none. */
  readonly finish: (
    outcome: ExecutionResult,
    entity: E['entity'],
    context: CallContext,
    next: string | null,
  ) => string | Promise<string>;
  readonly fail: (fault: Fault, context: CallContext) => string;
  /** What may ask a person before it runs; null: nobody is asked. */
  readonly asking: (entity: E['entity']) => FrozenTool | null;
}

/** What goes wrong inside a tool is a result with `isError`. */
const TOOL_RESULTS: ResultWriter<ToolEntry> = {
  name: 'tool',
  finish: ({ result, transformed }, { return_type, text_format }, _, next) =>
    toolMembers(shape(result, return_type, transformed, { next, text_format })),
  fail: ({ text }, { record }) => `"content":[${failedContent(textBlock(text), record)}],"isError":true`,
  asking: (tool) => (isGuardedWrite(tool) || tool.ask_missing === true ? tool : null),
};

const RESOURCE_RESULTS: ResultWriter<ResourceEntry> = {
  name: 'resource',
  finish({ result, transformed }, { mime_type }, { record }) {
    const { uri } = record.message.params;
    const meta = result.truncated ? { _meta: { truncated: true, row_count: result.rows.length } } : {};
    const contents = { uri, mimeType: mime_type, ...shapeResource(result, mime_type, transformed), ...meta };
    return `"contents":[${JSON.stringify(contents)}]`;
  },
  fail({ in_arguments, text }, { record }) {
    const { uri } = record.message.params;
    throw new RpcError(in_arguments ? RPC.invalid_params : RPC.internal, text, { data: { uri } });
  },
  asking: () => null,
};

/** The members of a `tools/call` result. */
export function callTool(params: Members, context: CallContext, services: CallServices): Promise<string | InputRequired> {
  const { name } = params;
  const args = params['arguments'] ?? {};
  const tool = typeof name === 'string' ? context.registry.tools.get(name) : undefined;
  if (tool === undefined) {
    refuseScope(context, ({ tools }) => typeof name === 'string' && tools.has(name));
    throw new RpcError(RPC.invalid_params, 'Unknown tool. Read tools/list for the names.', { fault: 'not_found' });
  }
  if (!isMembers(args)) throw new RpcError(RPC.invalid_params, 'params.arguments must be an object.');
  // The request log, replays, cursors and confirmations write them as text, also those that the tool does not have.
  const fault = depthFault(args);
  if (fault !== null) throw new RpcError(RPC.invalid_params, fault);
  if (tool.entity.two_step === true) {
    const { [TOKEN]: token, ...rest } = args;
    return perform(TOOL_RESULTS, tool, rest, context, services, { token });
  }
  if (tool.plan.paging === null) return perform(TOOL_RESULTS, tool, args, context, services);
  const { [AFTER]: after, ...rest } = args;
  return perform(TOOL_RESULTS, tool, rest, context, services, { after });
}

/** Sends a signed-in person who lacks something for want of a scope to ask for it. */
export function refuseScope({ record }: CallContext, shows: (view: Registry) => boolean): void {
  const scopes = record.exchange.beyond?.scopesFor(shows) ?? [];
  if (scopes.length === 0) return;
  const message = `This needs the scope ${scopes.join(' or ')}. Sign in again and allow it.`;
  throw new RpcError(RPC.server, message, { http_status: 403, scopes });
}

/** Structured content is stringified once and stands both as itself and as text, for clients that read only one of them. */
function toolMembers({ structured, text, media, note }: Shaped): string | Promise<string> {
  const said = note === null ? '' : `,${textBlock(note)}`;
  if (structured !== null && text === null && isLong(structured)) return longMembers(structured, said);
  const json = structured && wellFormedJson(JSON.stringify(structured));
  if (json !== null) return `"content":[${textBlock(text === null ? json : shownText(text))}${said}],"structuredContent":${json}`;
  const block = media === null ? textBlock(shownText(text ?? '')) : JSON.stringify(mediaBlock(media));
  return `"content":[${block}${said}]`;
}

const textBlock = (text: string): string => `{"type":"text","text":${JSON.stringify(text.toWellFormed())}}`;

/** The members of a `resources/read` result. */
export function readResource(
  params: Members,
  context: CallContext,
  services: CallServices,
): string | Page | Promise<string | InputRequired> {
  const { uri } = params;
  if (typeof uri !== 'string') throw new RpcError(RPC.invalid_params, 'params.uri must be a string.');
  const found = findResource(context.registry, uri);
  if (found !== null) return perform(RESOURCE_RESULTS, found.resource, found.values, context, services);
  const page = services.app_views.read(uri);
  if (page !== null) return page;
  const skill = skillAt(context.registry, uri);
  if (skill !== null) return skillContents(skill);
  refuseScope(context, (view) => findResource(view, uri) !== null);
  const code = context.record.protocol.modern ? RPC.invalid_params : RPC.resource_not_found_legacy;
  throw new RpcError(code, 'Resource not found.', { data: { uri }, fault: 'not_found' });
}

/** It must not change more than is allowed or confirmed. */
const isGuardedWrite = (tool: FrozenTool): boolean => tool.mode === 'write' && isGuarded(tool);

/** Runs one query with its slot in the queue, its pool and its line in the request log. */
async function perform<E extends Callable>(
  kind: ResultWriter<E>,
  entry: E,
  args: Members,
  context: CallContext,
  services: CallServices,
  { token, after }: { readonly token?: unknown; readonly after?: unknown } = {},
): Promise<string | InputRequired> {
  const { entity, plan, connection } = entry;
  const { caller, deadline, record, registry, ask } = context;
  const { sources, cache, limits, log, now, pseudonym } = services;
  record.query = entity;
  record.connection = connection;
  record.refuses_undeclared = kind.name === 'tool' && registry.server.undeclared_arguments === 'refuse';
  /** Null until something reads it. What the caller calls its request is no name of a call. */
  let call_id: string | null = null;
  const call = {
    time: now(),
    get id() {
      return (call_id ??= crypto.randomUUID());
    },
  };
  let facts = { arguments: args, vars: registry.vars, caller, call };
  /** With what a person filled in, none of which may stand in the log. */
  let all_args = args;
  /** With what comes from the credential of the caller. */
  let values: ParameterValues = {};
  let session: SessionState | null = null;
  let position: Position | null = null;
  const holder = () => holderOf(caller, record.exchange.address);
  const paged = { tool_id: entity.id, args, context };
  const run = async (values: ParameterValues, signal: StopSignal, review?: Review): Promise<CallResult> => {
    const pool = sources.hold(connection);
    try {
      const { source, queue: slot, opened } = ask?.follow(pool, entity.timeout_ms) ?? pool;
      const how = { source, opened, slot, holder, signal, facts, session, pseudonym, record, review, after: position };
      const outcome = await runQuery(plan, values, how);
      const next = outcome.next === null ? null : services.pages.seal(paged, outcome.next);
      const finished = ofResult(() => kind.finish(outcome, entity, context, next));
      const members = typeof finished === 'string' ? finished : await finished;
      const { rows, truncated } = outcome.result;
      return { members, rows: rows.length, wait_ms: outcome.wait_ms, truncated };
    } finally {
      pool.release();
    }
  };
  const asked = (question: InputRequired): InputRequired => {
    if (!question.is_open) logCall(context, services, kind.name, entity, null);
    return question;
  };
  try {
    const turn = limits.take(entity, holder);
    if (turn !== undefined) await turn;
    if (after !== undefined && after !== null) position = services.pages.open(paged, after);
    const tool = kind.asking(entity);
    let asking: PendingCall | null = tool === null ? null : openCall(tool, args, token, context, services.confirmations);
    if (asking?.tool.ask_missing === true) {
      const filled = await fillMissing(asking, services.confirmations, (all) =>
        plan.resolve({ ...facts, arguments: all }, record),
      );
      if (filled instanceof InputRequired) return asked(filled);
      ({ call: asking, values } = filled);
      all_args = asking.args;
      facts = { ...facts, arguments: all_args };
    } else {
      const checked = plan.resolve(facts, record);
      values = checked instanceof Promise ? await checked : checked;
    }
    session = sessionOf(connection, facts);
    const beside = (): readonly unknown[] =>
      plan.paging === null
        ? plan.beside(facts, session)
        : [...plan.beside(facts, session), services.pages.bound(paged), position];
    const result =
      asking === null || !isGuardedWrite(asking.tool)
        ? await (cache.through(entry, context, values, run, beside) ?? run(values, deadline))
        : await guardedWrite(asking, services.confirmations, (review) => run(values, deadline, review));
    if (result instanceof InputRequired) return asked(result);
    const { rows, wait_ms, truncated } = result;
    const members = kind.name === 'tool' ? withIgnored(result.members, record) : result.members;
    record.rows = rows;
    record.bytes = members.length;
    // Of a call that was joined, no more than this one waited.
    record.wait_ms = Math.min(wait_ms, performance.now() - record.started);
    record.truncated = truncated;
    logCall(context, services, kind.name, entity, null, members);
    ask?.done(rows);
    // What a person filled in is kept nowhere.
    const filled_in = asking !== null && Object.keys(asking.given).length > 0;
    if (kind.name === 'tool' && !filled_in && record.exchange.endpoint.candidate === null)
      services.samples.keep(entity, args, context, performance.now() - record.started);
    return members;
  } catch (error) {
    if (error instanceof RpcError) {
      logCall(context, services, kind.name, entity, { code: error.fault, message: error.message, sqlstate: null });
      throw error;
    }
    const where = {
      kind: kind.name,
      name: entity.name,
      request_id: record.exchange.request_id,
      ...(call_id !== null && { call_id }),
    };
    const said = withoutMasked(toFault(error, record.committed ? null : deadline, where, log), error, entity);
    const fault = record.committed ? behindCommit(said) : said;
    record.fault = fault.code;
    logCall(context, services, kind.name, entity, loggedFault(fault, error, [all_args, values, session?.values]));
    ask?.failed(fault.code);
    if (deadline.reason === SESSION_ENDED && fault.code === 'cancelled') throw sessionNotFound(fault.text);
    if (fault.code === 'cancelled' && deadline.aborted && !isAnswered(deadline.reason)) throw new CallerGone();
    return kind.fail(fault, context);
  }
}
