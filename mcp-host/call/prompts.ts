import { AppError } from '#core/errors.ts';
import { withoutBlankMessages } from '#core/query/shape.ts';
import { ofResult } from '#core/query/query.ts';
import { holderOf } from '#mcp-host/auth/caller.ts';
import { isMembers, type Members, RPC, RpcError } from '#mcp-host/protocol/messages.ts';
import { type CallContext, refuseScope } from './context.ts';
import type { CallServices } from './services.ts';
import { logCall } from './request-log.ts';
import type { Registry } from '#mcp-host/registry/registry.ts';
import type { PromptPlan } from '#mcp-host/registry/prompt-plan.ts';
import type { FrozenPrompt } from '#snapshots/format/format.ts';
import { findResource } from '#mcp-host/registry/registry.ts';
import { normalUri } from '#core/lib/uri-template.ts';

/** The members of a `prompts/get` result. */
export async function getPrompt(params: Members, context: CallContext, services: CallServices): Promise<string> {
  const { registry, record, caller } = context;
  const { name } = params;
  const given = params['arguments'] ?? {};
  refuseScope(context, ({ prompts }) => typeof name === 'string' && !registry.prompts.has(name) && prompts.has(name));
  const prompt = promptNamed(registry, name);
  if (!isMembers(given)) throw new RpcError(RPC.invalid_params, 'params.arguments must be an object.');
  const { entity } = prompt;
  try {
    const turn = services.limits.takeCaller(() => holderOf(caller, record.exchange.address));
    if (turn !== undefined) await turn;
    const args = checkArguments(entity, given);
    const facts = { vars: registry.vars, caller };
    const messages = withoutBlankMessages(ofResult(() => prompt.render(args, facts))).map(({ role, text }) => ({
      role,
      content: { type: 'text', text },
    }));
    const { description } = entity.listing;
    const members = JSON.stringify({ ...(typeof description === 'string' && { description }), messages }).slice(1, -1);
    record.bytes = members.length;
    logCall(context, services, 'prompt', entity, null, members);
    return members;
  } catch (error) {
    const thrown = error instanceof AppError ? new RpcError(RPC.internal, sentenceOf(error)) : error;
    const code = error instanceof AppError ? error.code : 'invalid';
    logCall(context, services, 'prompt', entity, {
      code,
      message: thrown instanceof Error ? thrown.message : '',
      sqlstate: null,
    });
    throw thrown;
  }
}

const sentenceOf = ({ code, detail }: AppError): string =>
  code === 'rate_limited' ? detail : `The prompt’s template failed: ${detail}`;

function promptNamed({ prompts }: Registry, name: unknown): PromptPlan {
  const prompt = typeof name === 'string' ? prompts.get(name) : undefined;
  if (prompt === undefined)
    throw new RpcError(RPC.invalid_params, 'Unknown prompt. Read prompts/list for the names.', { fault: 'not_found' });
  return prompt;
}

/** Checks the arguments. A missing optional one becomes an empty text, so that a template can test it. */
function checkArguments(prompt: FrozenPrompt, given: Members): Record<string, string> {
  const faults: string[] = [];
  // No prototype, so that an argument may have any name.
  const values: Record<string, string> = Object.create(null);
  for (const { name, required, enum: allowed } of prompt.arguments) {
    // Clients send an empty form field for an argument that was not filled in.
    const sent = Object.hasOwn(given, name) ? given[name] : undefined;
    const value = sent === '' && !required ? undefined : sent;
    if (value === undefined && required) faults.push(`${name}: is required`);
    else if (value !== undefined && typeof value !== 'string') faults.push(`${name}: must be a string`);
    else if (typeof value === 'string' && allowed !== undefined && !allowed.includes(value)) {
      faults.push(`${name}: must be one of ${allowed.join(', ')}`);
    }
    values[name] = typeof value === 'string' ? value : '';
  }
  if (faults.length > 0) throw new RpcError(RPC.invalid_params, `Invalid arguments. ${faults.join('; ')}.`);
  return values;
}

const COMPLETIONS = 100;

/** The members of a `completion/complete` result: the allowed values of an argument that begin with the typed text. */
export function complete(params: Members, registry: Registry): string {
  const { ref, argument } = params;
  if (!isMembers(ref) || !isMembers(argument)) throw new RpcError(RPC.invalid_params, 'params needs ref and argument.');
  const typed = typeof argument['value'] === 'string' ? argument['value'].toLowerCase() : '';
  const values = allowedValues(ref, argument['name'], registry).filter((value) => value.toLowerCase().startsWith(typed));
  const completion = { values: values.slice(0, COMPLETIONS), total: values.length, hasMore: values.length > COMPLETIONS };
  return `"completion":${JSON.stringify(completion)}`;
}

function allowedValues(ref: Members, name: unknown, registry: Registry): string[] {
  if (ref['type'] === 'ref/prompt') {
    const { entity } = promptNamed(registry, ref['name']);
    return [...(entity.arguments.find((argument) => argument.name === name)?.enum ?? [])];
  }
  if (ref['type'] !== 'ref/resource') throw new RpcError(RPC.invalid_params, 'ref.type must be ref/prompt or ref/resource.');
  const { uri } = ref;
  if (typeof uri !== 'string') throw new RpcError(RPC.invalid_params, 'ref.uri must be a string.');
  const address = normalUri(uri);
  const named = registry.templates.find(({ template }) => normalUri(template.text) === address);
  const resource = named ?? findResource(registry, uri)?.resource;
  if (resource === undefined) throw new RpcError(RPC.invalid_params, 'Unknown resource.', { fault: 'not_found' });
  return (resource.entity.parameters.find((parameter) => parameter.name === name)?.enum ?? []).map(String);
}
