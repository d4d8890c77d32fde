import { ENTITIES, ENTITY_KINDS, kindOf } from '#core/contract/entities.ts';
import { type OperationName, operations } from '#core/contract/index.ts';
import type { Operation } from '#core/contract/operation.ts';
import { closedNames } from '#core/contract/marks.ts';
import { undeclaredIn as undeclaredBeside } from '#core/lib/text/undeclared-arguments.ts';
import { ServerConfigPatch } from '#core/contract/settings/config.ts';
import { createSayOnce, type JsonObject, schemaOf, type SayOnce } from './schemas.ts';
import { CONFIGURE } from './texts-configure.ts';
import { OPERATE } from './texts-operate.ts';
import { TESTS } from './texts-tests.ts';
import type { ToolText } from './texts.ts';

/** A tool of the agent endpoint: its listing, and the operation that it calls. */
export interface AgentTool {
  readonly operation: OperationName;
  readonly access: Operation['access'];
  /** The argument that is the operation's `id`; null when the operation has none. */
  readonly id_argument: string | null;
  /** The names of all its arguments. */
  readonly arguments: readonly string[];
  readonly listing: {
    readonly name: string;
    readonly title: string;
    readonly description: string;
    readonly annotations: JsonObject;
    readonly inputSchema: { readonly type: 'object'; readonly required: string[]; [key: string]: unknown };
    readonly outputSchema: { readonly type: 'object'; [key: string]: unknown };
  };
}

const TEXTS: Readonly<Record<string, ToolText>> = { ...CONFIGURE, ...TESTS, ...OPERATE };
/** Names of the `id` argument for records that are not definitions. */
const ID_ARGUMENTS: Readonly<Record<string, string>> = { proposals: 'proposal_id', mcp_sessions: 'session_id' };

/** The tool's name for the operation's `id`, such as `tool_id`; null: the operation has none. */
function idArgument(operation: OperationName): string | null {
  const noun = operation.split('.')[0] ?? '';
  const kind = kindOf(noun);
  return kind === undefined ? (ID_ARGUMENTS[noun] ?? null) : `${kind}_id`;
}
/** Arguments that the server refuses from every token. A tool does not list them, but passes them on to be refused. */
function closedTo(operation: OperationName): readonly string[] {
  const [noun = '', verb = ''] = operation.split('.');
  // Only a signed-in person can pretend to be a caller.
  if (noun === 'preview') return ['caller'];
  if (!['create', 'update'].includes(verb)) return [];
  const kind = kindOf(noun);
  if (kind !== undefined) return closedNames(ENTITIES[kind].draft.entries);
  return noun === 'config' ? closedNames(ServerConfigPatch.entries) : [];
}
const REFERENCES = new Set([...ENTITY_KINDS.map((kind) => `${kind}_id`), 'history_id', 'entity_id']);

/** Every operation of the contract that names a tool, by the name of the tool, in the order of their texts. */
export function agentTools(): Map<string, AgentTool> {
  const named = new Map<string, [OperationName, Operation]>();
  for (const entry of Object.entries(operations) as [OperationName, Operation][]) {
    if (entry[1].agent !== undefined) named.set(entry[1].agent, entry);
  }
  const tools = new Map<string, AgentTool>();
  const deduplicateSchemas = createSayOnce();
  for (const [name, text] of Object.entries(TEXTS)) {
    const entry = named.get(name);
    if (entry !== undefined) tools.set(name, toTool(name, text, ...entry, deduplicateSchemas));
  }
  return tools;
}

function toTool(
  name: string,
  text: ToolText,
  operation: OperationName,
  definition: Operation,
  deduplicateSchemas: SayOnce,
): AgentTool {
  // An update takes the same fields, which only the tools that create describe.
  const input = schemaOf(definition.input, 'input', /^(?:create_|update_server_config$)/.test(name));
  const properties = { ...(input['properties'] as Record<string, JsonObject> | undefined) };
  const required = [...((input['required'] as string[] | undefined) ?? []), ...(definition.needs ?? [])];
  const id_argument = 'id' in properties ? idArgument(operation) : null;
  const argumentOf = (field: string) => (field === 'id' ? (id_argument ?? field) : field);
  // An update can have a field with the name of the id argument, which would move the record to another owner.
  const fields = Object.keys(properties);
  // Required ones come first, because clients turn them into function signatures.
  const ordered = [...fields.filter((field) => required.includes(field)), ...fields.filter((field) => !required.includes(field))];
  const renamed = Object.fromEntries(ordered.map((field) => [argumentOf(field), properties[field] ?? {}]));
  for (const field of Object.keys(renamed)) {
    if (REFERENCES.has(field)) renamed[field] = { ...renamed[field], description: 'Id or name' };
  }
  const closed = closedTo(operation);
  const shown = Object.entries(renamed).filter(([field]) => !closed.includes(field));
  return {
    operation,
    access: definition.access,
    id_argument,
    arguments: Object.keys(renamed),
    listing: {
      name,
      title: text.title,
      description: text.description,
      annotations: annotationsOf(text),
      inputSchema: { ...input, type: 'object', properties: Object.fromEntries(shown), required: required.map(argumentOf) },
      outputSchema: withNotices(deduplicateSchemas(schemaOf(definition.output, 'output'), name), text),
    },
  };
}

/** The instructions of the endpoint explain warnings. */
const WARNINGS = { type: 'array', items: { type: 'object' } };

const IGNORED = { type: 'array', items: { type: 'string' } };

/** Only read tools ignore undeclared arguments. */
const withNotices = (schema: JsonObject, { effect }: ToolText): AgentTool['listing']['outputSchema'] => ({
  ...schema,
  type: 'object',
  properties: {
    ...(schema['properties'] as JsonObject | undefined),
    _warnings: WARNINGS,
    ...(effect === 'reads' && { _ignored: IGNORED }),
  },
});

const annotationsOf = ({ title, effect, repeats }: ToolText): JsonObject => ({
  title,
  readOnlyHint: effect === 'reads',
  destructiveHint: effect === 'overwrites' || effect === 'removes',
  idempotentHint: effect !== 'adds' && repeats !== true,
  openWorldHint: false,
});

/** Counters over all calls of the endpoint. */
export interface Tally {
  undeclared: number;
}

/** Names of the sent arguments that the tool does not declare. */
export const undeclaredIn = (tool: AgentTool, given: Readonly<JsonObject>): readonly string[] =>
  undeclaredBeside(given, new Set(tool.arguments));

/** Converts the arguments of a call to the input of the operation, without undeclared ones. */
export function toInput({ id_argument, arguments: declared }: AgentTool, given: Readonly<JsonObject>): JsonObject {
  const known = declared.filter((name) => Object.hasOwn(given, name));
  return Object.fromEntries(known.map((name) => [name === id_argument ? 'id' : name, given[name]]));
}
