import { depthFault } from '#core/query/argument-values.ts';
import { AFTER } from '#core/query/page-schemas.ts';
import { mediaBlock, shape, type Shaped, shownText } from '#core/query/shape.ts';
import { isMembers, type Members, RPC, RpcError } from '#mcp-host/protocol/messages.ts';
import type { ToolEntry } from '#mcp-host/registry/registry.ts';
import { FIND_TOOLS } from '#snapshots/format/find-tools-item.ts';
import { TOKEN } from '#snapshots/format/served-listing.ts';
import { callFindTools } from './find-tools-call.ts';
import type { InputRequired } from './confirmation/pending-call.ts';
import { type CallContext, refuseScope } from './context.ts';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Json } from '#core/lib/sql/result.ts';
import { IGNORED_META, ignoredText } from '#core/lib/text/undeclared-arguments.ts';
import { wellFormedJson } from '#core/lib/text/wire-text.ts';
import type { RequestRecord } from '#mcp-host/requests/request-record.ts';
import { fileBlocks, fileMember } from './files/file-notes.ts';
import { type AnsweredCall, asksBeforeWriting, type ResultWriter } from './result-writer.ts';
import { runCall } from './run-call.ts';
import type { CallServices } from './services.ts';

type Structured = Readonly<Record<string, Json>>;
type Ignored = Pick<RequestRecord, 'ignored'>;

/** Rows written in one slice: about half a millisecond. */
const SLICE_ROWS = 500;
/** Pause between two slices: a long result uses a third of the time, so that short calls can run in between. */
const PAUSE_MS = 1;
/**
 * Separates the content of a result from its structured content. It occurs nowhere else, because quotes inside a text are
 * escaped.
 */
const END_OF_CONTENT = '],"structuredContent":';

/** A fault inside a tool is a result with `isError`. */
const TOOL_RESULTS: ResultWriter<ToolEntry> = {
  kind: 'tool',
  members: ({ result, transformed }, { return_type, text_format }, _, next) =>
    toolMembers(shape(result, return_type, transformed, { next, text_format })),
  addNotes: withNotes,
  failure: ({ text }, { record }) => `"content":[${failedContent(textBlock(text), record)}],"isError":true`,
  asks: (tool) => (asksBeforeWriting(tool) || tool.ask_missing === true ? tool : null),
};

/** The members of a `tools/call` result. */
export function callTool(params: Members, context: CallContext, services: CallServices): Promise<string | InputRequired> {
  const { name } = params;
  const args = params['arguments'] ?? {};
  const tool = typeof name === 'string' ? context.registry.tools.get(name) : undefined;
  if (tool === undefined) {
    if (name === FIND_TOOLS && context.registry.finds_tools) return callFindTools(isMembers(args) ? args : {}, context, services);
    refuseScope(context, ({ tools }) => typeof name === 'string' && tools.has(name));
    throw new RpcError(RPC.invalid_params, 'Unknown tool. Read tools/list for the names.', { fault: 'not_found' });
  }
  if (!isMembers(args)) throw new RpcError(RPC.invalid_params, 'params.arguments must be an object.');
  // The request log, replays, cursors and confirmations write all arguments as JSON, even undeclared ones.
  const fault = depthFault(args);
  if (fault !== null) throw new RpcError(RPC.invalid_params, fault);
  if (tool.entity.two_step === true) {
    const { [TOKEN]: token, ...rest } = args;
    return runCall(TOOL_RESULTS, tool, { args: rest, token }, context, services);
  }
  if (tool.plan.paging === null) return runCall(TOOL_RESULTS, tool, { args }, context, services);
  const { [AFTER]: after, ...rest } = args;
  return runCall(TOOL_RESULTS, tool, { args: rest, after }, context, services);
}

/** Structured content is stringified once and sent both as itself and as text, for clients that read only one of them. */
function toolMembers({ structured, text, media, note }: Shaped): string | Promise<string> {
  const further = note === null ? '' : `,${textBlock(note)}`;
  if (structured !== null && text === null && isLong(structured)) return longMembers(structured, further);
  const json = structured && wellFormedJson(JSON.stringify(structured));
  if (json !== null)
    return `"content":[${textBlock(text === null ? json : shownText(text))}${further}],"structuredContent":${json}`;
  const block = media === null ? textBlock(shownText(text ?? '')) : JSON.stringify(mediaBlock(media));
  return `"content":[${block}${further}]`;
}

const textBlock = (text: string): string => `{"type":"text","text":${JSON.stringify(text.toWellFormed())}}`;

/** Whether writing the result in one slice would delay other calls. */
const isLong = ({ rows }: Structured): boolean => Array.isArray(rows) && rows.length > SLICE_ROWS;

/** Writes the members of many rows in slices, so that other calls run in between. */
async function longMembers({ rows, ...rest }: Structured, further: string): Promise<string> {
  const list = Array.isArray(rows) ? rows : [];
  // The other members as text, without the opening brace.
  const tail = JSON.stringify(rest).slice(1);
  const close = tail === '}' ? ']}' : `],${tail}`;
  let json = '{"rows":[';
  let escaped = escape(json);
  for (let start = 0; start < list.length; start += SLICE_ROWS) {
    if (start > 0) await sleep(PAUSE_MS);
    const piece = wellFormedJson(JSON.stringify(list.slice(start, start + SLICE_ROWS))).slice(1, -1);
    const comma = start === 0 ? '' : ',';
    json += comma + piece;
    escaped += comma + escape(piece);
  }
  return `"content":[{"type":"text","text":"${escaped}${escape(close)}"}${further}],"structuredContent":${json}${close}`;
}

/** Escapes a text for the inside of a JSON string. */
const escape = (text: string): string => JSON.stringify(text).slice(1, -1);

/** The members of a result with the address of its file, and with the ignored arguments as the last line of its text. */
function withNotes(members: string, { entry, args, context, files, whole_rows }: AnsweredCall<ToolEntry>): string {
  const { record } = context;
  const file = entry.entity.files === undefined ? null : files.offer(entry, args, context);
  const blocks = file === null ? [] : fileBlocks(file, record);
  if (record.ignored.length > 0) blocks.push(ignoredBlock(record.ignored));
  if (blocks.length === 0) return members;
  const found = members.indexOf(END_OF_CONTENT);
  const end = found === -1 ? members.length - 1 : found;
  const rest = members.slice(end);
  const structured = file === null || found === -1 ? rest : `${rest.slice(0, -1)},"file":${fileMember(file, whole_rows)}}`;
  return `${members.slice(0, end)},${blocks.join(',')}${structured}`;
}

/** The content of a failed call, with the ignored arguments. */
const failedContent = (block: string, { ignored }: Ignored): string =>
  ignored.length === 0 ? block : `${block},${ignoredBlock(ignored)}`;

/** The members of `_meta` of a result, as text. @param others its other members. */
export function ignoredMeta(others: string, { ignored }: Ignored): string {
  if (ignored.length === 0) return others;
  return `${others === '' ? '' : `${others},`}"${IGNORED_META}":${JSON.stringify(ignored)}`;
}

const ignoredBlock = (ignored: readonly string[]): string => JSON.stringify({ type: 'text', text: ignoredText(ignored) });
