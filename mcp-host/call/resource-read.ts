import { shapeResource } from '#core/query/shape.ts';
import type { Page } from '#mcp-host/protocol/lists.ts';
import { type Members, RPC, RpcError } from '#mcp-host/protocol/messages.ts';
import { findResource } from '#mcp-host/registry/registry.ts';
import type { ResourceEntry } from '#mcp-host/registry/registry.ts';
import { skillAt, skillContents } from '#mcp-host/registry/skill.ts';
import type { InputRequired } from './confirmation/pending-call.ts';
import { type CallContext, refuseScope } from './context.ts';
import type { ResultWriter } from './result-writer.ts';
import { runCall } from './run-call.ts';
import type { CallServices } from './services.ts';

const RESOURCE_RESULTS: ResultWriter<ResourceEntry> = {
  kind: 'resource',
  members({ result, transformed }, { mime_type }, { record }) {
    const { uri } = record.message.params;
    const meta = result.truncated ? { _meta: { truncated: true, row_count: result.rows.length } } : {};
    const contents = { uri, mimeType: mime_type, ...shapeResource(result, mime_type, transformed), ...meta };
    return `"contents":[${JSON.stringify(contents)}]`;
  },
  addNotes: (members) => members,
  failure({ in_arguments, text }, { record }) {
    const { uri } = record.message.params;
    return new RpcError(in_arguments ? RPC.invalid_params : RPC.internal, text, { data: { uri } });
  },
  asks: () => null,
};

/** The members of a `resources/read` result. */
export function readResource(
  params: Members,
  context: CallContext,
  services: CallServices,
): string | Page | Promise<string | InputRequired> {
  const { uri } = params;
  if (typeof uri !== 'string') throw new RpcError(RPC.invalid_params, 'params.uri must be a string.');
  const found = findResource(context.registry, uri);
  if (found !== null) return runCall(RESOURCE_RESULTS, found.resource, { args: found.values }, context, services);
  const file = services.file_pages?.read(uri, context) ?? null;
  if (file !== null) return file;
  const page = services.app_views.read(uri);
  if (page !== null) return page;
  const skill = skillAt(context.registry, uri);
  if (skill !== null) return skillContents(skill);
  refuseScope(context, (view) => findResource(view, uri) !== null);
  const code = context.record.protocol.modern ? RPC.invalid_params : RPC.resource_not_found_legacy;
  throw new RpcError(code, 'Resource not found.', { data: { uri }, fault: 'not_found' });
}
