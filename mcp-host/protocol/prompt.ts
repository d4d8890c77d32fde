import type { FrozenPrompt } from '#snapshots/format.ts';
import { AppError } from '#core/errors.ts';
import { renderTemplate } from '#core/lib/template/evaluate.ts';
import { parseTemplate } from '#core/lib/template/parse.ts';
import type { Registry } from '#mcp-host/swap/registry.ts';
import { isMembers, type Members, RPC, RpcError } from './messages.ts';
import { type CallContext, findResource } from '#mcp-host/call/perform.ts';

export interface PromptPlan {
  readonly entity: FrozenPrompt;
  /** The messages with these arguments; templates are parsed when they are first used. */
  readonly render: (args: Readonly<Record<string, string>>, vars: Registry['vars']) => { role: string; text: string }[];
}

export function compilePrompt(entity: FrozenPrompt): PromptPlan {
  const messages = entity.messages.map(({ role, template }) => {
    let parsed: ReturnType<typeof parseTemplate> | null = null;
    return { role, template: () => (parsed ??= parseTemplate(template)) };
  });
  return {
    entity,
    render: (args, vars) => messages.map(({ role, template }) => ({ role, text: renderTemplate(template(), { ...args, vars }) })),
  };
}

/** The members of a `prompts/get` result. */
export function getPrompt(params: Members, context: CallContext): string {
  const { registry, usage, now } = context;
  const { name, arguments: given = {} } = params;
  const prompt = typeof name === 'string' ? registry.prompts.get(name) : undefined;
  if (prompt === undefined) throw new RpcError(RPC.invalid_params, 'Unknown prompt. Read prompts/list for the names.');
  if (!isMembers(given)) throw new RpcError(RPC.invalid_params, 'params.arguments must be an object.');
  const started = performance.now();
  const note = (bytes: number, error: string | null) =>
    usage.add({
      of: {
        kind: 'prompt',
        name: prompt.entity.name,
        entity_id: prompt.entity.id,
        connection_id: null,
        snapshot_version: registry.snapshot_version,
        client: context.client,
        token_prefix: context.token_prefix,
      },
      timestamp: now(),
      duration_ms: performance.now() - started,
      wait_ms: 0,
      rows: 0,
      bytes,
      error,
    });
  try {
    const args = checkArguments(prompt.entity, given);
    const messages = prompt.render(args, registry.vars).map(({ role, text }) => ({ role, content: { type: 'text', text } }));
    const { description } = prompt.entity.listing;
    const members = JSON.stringify({ ...(typeof description === 'string' && { description }), messages }).slice(1, -1);
    note(members.length, null);
    return members;
  } catch (error) {
    note(0, error instanceof AppError ? error.code : 'invalid');
    throw error instanceof AppError ? new RpcError(RPC.internal, `The prompt’s template failed: ${error.detail}`) : error;
  }
}

/** Every declared argument: optional ones that are missing are empty, so that a template may test them. */
function checkArguments(prompt: FrozenPrompt, given: Members): Record<string, string> {
  const faults: string[] = [];
  const values: Record<string, string> = {};
  for (const { name, required, enum: allowed } of prompt.arguments) {
    const value = Object.hasOwn(given, name) ? given[name] : undefined;
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

/** The members of a `completion/complete` result: declared values of an argument that begin with what is typed. */
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
    const prompt = typeof ref['name'] === 'string' ? registry.prompts.get(ref['name']) : undefined;
    if (prompt === undefined) throw new RpcError(RPC.invalid_params, 'Unknown prompt. Read prompts/list for the names.');
    return [...(prompt.entity.arguments.find((argument) => argument.name === name)?.enum ?? [])];
  }
  if (ref['type'] !== 'ref/resource') throw new RpcError(RPC.invalid_params, 'ref.type must be ref/prompt or ref/resource.');
  const { uri } = ref;
  if (typeof uri !== 'string') throw new RpcError(RPC.invalid_params, 'ref.uri must be a string.');
  const resource = registry.templates.find(({ template }) => template.text === uri) ?? findResource(registry, uri)?.resource;
  if (resource === undefined) throw new RpcError(RPC.invalid_params, 'Unknown resource.');
  return (resource.entity.parameters.find((parameter) => parameter.name === name)?.enum ?? []).map(String);
}
