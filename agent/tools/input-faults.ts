import { ENTITY_KINDS } from '#core/contract/entities.ts';
import { operations } from '#core/contract/index.ts';
import { pathVariables } from '#core/contract/paths.ts';
import { type AppError, misspelt } from '#core/errors.ts';
import { undeclaredFaults } from '#core/lib/text/undeclared-arguments.ts';
import { type AgentTool, undeclaredIn } from './tools.ts';

type ToolInput = Readonly<Record<string, unknown>>;

/** Refuses input with missing or undeclared arguments, and ids that would change the path of the request. */
export function refuse(
  tool: AgentTool,
  given: ToolInput,
  input: ToolInput,
): { code: 'invalid' | 'not_found'; text: string } | null {
  const { id_argument } = tool;
  const missing = tool.arguments.filter((field) => given[field] === undefined);
  const required = missing.filter((field) => tool.listing.inputSchema.required.includes(field));
  const faults = required.map((field) => `${field} is required.`);
  const undeclared = undeclaredIn(tool, given);
  const means_id = id_argument !== null && missing.includes(id_argument) && undeclared.includes('id');
  if (means_id) faults.push(`There is no argument id. Did you mean ${id_argument}?`);
  const others = means_id ? undeclared.filter((name) => name !== 'id') : undeclared;
  const reads = tool.listing.annotations['readOnlyHint'] === true;
  const found = reads ? misspelt(others, missing) : undeclaredFaults(others, missing);
  faults.push(...found.map(({ field, message }) => (reads ? message : (NOTHING_CHANGED.get(field) ?? message))));
  if (faults.length > 0) return { code: 'invalid', text: faults.join(' ') };
  const { path } = operations[tool.operation];
  const dotted = pathVariables(path).some((field) => input[field] === '.' || input[field] === '..');
  return dotted ? { code: 'not_found', text: 'There is no record with this name.' } : null;
}

/** Errors for arguments that a tool lacks but must not ignore, because a caller that sends them relies on their effect. */
const NOTHING_CHANGED: ReadonlyMap<string, string> = new Map([
  ['dry_run', 'This tool has no dry run, so nothing was changed. Call it without dry_run to make the change.'],
  ['version', 'This tool takes no version, so nothing was changed. Call it without one.'],
]);

/** Matches the error for an unknown id of a record that can also be given by name. */
const NAMED = new RegExp(`^(There is no (?:${[...ENTITY_KINDS, 'history entry'].join('|')}) with this id)\\.$`, 'm');

/** Rewrites an error of the server with the tool's argument names, and adds field errors that its detail omits. */
export function sentence(tool: AgentTool, { code, detail, errors }: AppError): string {
  const further = errors.filter(({ message }) => !detail.includes(message)).map(({ field, message }) => `${field}: ${message}`);
  let text = [detail, ...further].join('\n');
  if (code === 'not_found') return text.replace(NAMED, '$1 or name.');
  for (const { field, message } of errors) {
    // Unlike in a form, the field of a message is not visible to a model.
    if (field !== '' && !message.includes(field)) text = text.replace(message, `${field}: ${message}`);
    if (field === 'id' && tool.id_argument !== null) text = text.replace(message, message.replace(/^id\b/, tool.id_argument));
  }
  return text;
}
