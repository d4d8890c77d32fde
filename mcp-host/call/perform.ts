import type { Log } from '#core/log.ts';
import type { FrozenConnection, FrozenQuery } from '#snapshots/format.ts';
import { type Outcome, type QueryPlan, runQuery, type Values } from '#core/lib/call/query.ts';
import { shape, type Shaped, shapeResource } from '#core/lib/call/shape.ts';
import type { Ran, ResultCache } from './cache.ts';
import type { Registry, ResourceEntry } from '#mcp-host/swap/registry.ts';
import type { Sources } from '#mcp-host/swap/sources.ts';
import { callerKey, type RateLimits } from '#mcp-host/limits/rate-limit.ts';
import type { Report } from '#mcp-host/observe/report.ts';
import type { Usage } from '#mcp-host/observe/usage.ts';
import type { Watch } from './request-record.ts';
import { type Fault, toFault } from '#mcp-host/protocol/fault.ts';
import { isLong, longMembers } from './long-result.ts';
import { isMembers, type Members, RPC, RpcError } from '#mcp-host/protocol/messages.ts';
import type { StopSignal } from '#core/engines/shared/stop.ts';
import { matchUri, typedValues } from '#core/lib/uri-template.ts';

/** Who calls, and what a call needs of the host. */
export interface CallContext {
  readonly registry: Registry;
  readonly sources: Sources;
  readonly usage: Usage;
  readonly cache: ResultCache;
  readonly log: Log;
  readonly now: () => number;
  readonly signal: StopSignal;
  readonly modern: boolean;
  readonly client: string;
  readonly token_prefix: string | null;
  /** Null: calls are not limited. */
  readonly limits: RateLimits | null;
  readonly watch: Watch;
  /** Of a caller that wants to hear how its call goes on. */
  readonly report: Report | null;
}

/** Thrown when the caller itself gave up: nothing is answered. */
export class CallerGone extends Error {
  override readonly name = 'CallerGone';
}

/** The members of a `tools/call` result. What goes wrong inside the tool is a result with `isError`. */
export function callTool(params: Members, context: CallContext): Promise<string> {
  const { name, arguments: args = {} } = params;
  const tool = typeof name === 'string' ? context.registry.tools.get(name) : undefined;
  if (tool === undefined) throw new RpcError(RPC.invalid_params, 'Unknown tool. Read tools/list for the names.');
  if (!isMembers(args)) throw new RpcError(RPC.invalid_params, 'params.arguments must be an object.');
  return perform('tool', tool, args, context, {
    through: (values, run) => context.cache.through(tool, context.registry, values, context.signal, run),
    finish: ({ result, transformed }) => toolMembers(shape(result, tool.entity.return_type, transformed)),
    fail: ({ text }) => `"content":[${textBlock(text)}],"isError":true`,
  });
}

/** Structured content is stringified once and stands both as itself and as text, for clients that read only one of them. */
function toolMembers({ structured, text, media, note }: Shaped): string | Promise<string> {
  if (structured !== null && isLong(structured)) return longMembers(structured);
  const json = structured && JSON.stringify(structured);
  const said = note === null ? '' : `,${textBlock(note)}`;
  if (json !== null) return `"content":[${textBlock(json)}${said}],"structuredContent":${json}`;
  const block = media === null ? textBlock(text ?? '') : mediaBlock(media);
  return `"content":[${block}${said}]`;
}

const textBlock = (text: string): string => `{"type":"text","text":${JSON.stringify(text)}}`;
const mediaBlock = ({ kind, data, mime_type }: NonNullable<Shaped['media']>): string =>
  JSON.stringify({ type: kind, data, mimeType: mime_type });

/** The members of a `resources/read` result. */
export function readResource(params: Members, context: CallContext): Promise<string> {
  const { uri } = params;
  if (typeof uri !== 'string') throw new RpcError(RPC.invalid_params, 'params.uri must be a string.');
  const found = findResource(context.registry, uri);
  if (found === null) {
    const code = context.modern ? RPC.invalid_params : RPC.resource_not_found_legacy;
    throw new RpcError(code, 'Resource not found.', { data: { uri } });
  }
  const { resource, values } = found;
  const { mime_type } = resource.entity;
  return perform('resource', resource, values, context, {
    finish({ result, transformed }) {
      const meta = result.truncated ? { _meta: { truncated: true, row_count: result.rows.length } } : {};
      const contents = { uri, mimeType: mime_type, ...shapeResource(result, mime_type, transformed), ...meta };
      return `"contents":[${JSON.stringify(contents)}]`;
    },
    fail({ in_arguments, text }) {
      throw new RpcError(in_arguments ? RPC.invalid_params : RPC.internal, text, { data: { uri } });
    },
  });
}

export function findResource(
  { resources, templates }: Registry,
  uri: string,
): { resource: ResourceEntry; values: Members } | null {
  const resource = resources.get(uri);
  if (resource !== undefined) return { resource, values: {} };
  for (const candidate of templates) {
    const values = matchUri(candidate.template, uri);
    if (values !== null) return { resource: candidate, values: typedValues(values, candidate.entity.parameters) };
  }
  return null;
}

interface Callable {
  readonly entity: FrozenQuery & { readonly id: string; readonly name: string };
  readonly plan: QueryPlan;
  readonly connection: FrozenConnection;
}
interface Ends {
  /** Null: every call runs by itself. */
  readonly through?: (values: object, run: (signal: StopSignal) => Promise<Ran>) => Promise<Ran> | null;
  readonly finish: (outcome: Outcome) => string | Promise<string>;
  readonly fail: (fault: Fault) => string;
}

/** Runs one query with its place in the queue, its pool and its line in the log of calls. */
async function perform(
  kind: 'tool' | 'resource',
  { entity, plan, connection }: Callable,
  args: Members,
  context: CallContext,
  ends: Ends,
): Promise<string> {
  const { registry, sources, usage, log, now, signal, limits, watch, report } = context;
  const { started } = watch;
  watch.query = entity;
  watch.connection = connection;
  const record = {
    kind,
    name: entity.name,
    entity_id: entity.id,
    connection_id: connection.id,
    snapshot_version: registry.snapshot_version,
    client: context.client,
    token_prefix: context.token_prefix,
  };
  const note = (rows: number, bytes: number, wait_ms: number, error: string | null) =>
    usage.add({
      of: record,
      timestamp: now(),
      duration_ms: round(performance.now() - started),
      wait_ms: round(wait_ms),
      rows,
      bytes,
      error,
    });
  const run = async (values: Values, end: StopSignal): Promise<Ran> => {
    const lease = sources.lease(connection);
    try {
      const { source, queue, opened } = report?.follow(lease, entity.timeout_ms) ?? lease;
      const outcome = await runQuery(plan, values, {
        source,
        ...(opened && { opened }),
        slot: queue,
        signal: end,
        vars: registry.vars,
        timing: watch,
      });
      const finished = ends.finish(outcome);
      const members = typeof finished === 'string' ? finished : await finished;
      return { members, rows: outcome.result.rows.length, wait_ms: outcome.wait_ms };
    } finally {
      lease.release();
    }
  };
  try {
    const turn = limits?.take(entity, () => callerOf(watch));
    if (turn !== undefined) await turn;
    const checked = plan.toValues(args, watch);
    const values = checked instanceof Promise ? await checked : checked;
    const shared = ends.through?.(values, (end) => run(values, end)) ?? null;
    const { members, rows, wait_ms } = await (shared ?? run(values, signal));
    note(rows, members.length, wait_ms, null);
    report?.done(rows);
    return members;
  } catch (error) {
    const fault = toFault(error, signal, { kind, name: entity.name, request_id: watch.exchange.request_id }, log);
    watch.fault = fault.code;
    note(0, 0, watch.wait_ms, fault.code);
    report?.failed(fault.code);
    if (fault.code === 'cancelled' && signal.aborted) throw new CallerGone();
    return ends.fail(fault);
  }
}

const callerOf = ({ exchange: { caller, address } }: Watch): string => callerKey(caller.owner, address);

const round = (ms: number): number => Math.round(ms * 1_000) / 1_000;
