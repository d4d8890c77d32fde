import { ENTITY_KINDS } from '#core/contract/entities.ts';
import { operations } from '#core/contract/index.ts';
import { pathVariables } from '#core/contract/paths.ts';
import { type AppError, misspelt } from '#core/errors.ts';
import { undeclaredFaults } from '#core/lib/text/undeclared-arguments.ts';
import { type AgentTool, undeclaredIn } from './tools.ts';

type ToolInput = Readonly<Record<string, unknown>>;

/** What cannot be asked of the server: its address would be another one, or an argument would take the place of another. */
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

/** What a caller relies on, and a tool that changes something does not have. */
const NOTHING_CHANGED: ReadonlyMap<string, string> = new Map([
  ['dry_run', 'This tool has no dry run, so nothing was changed. Call it without dry_run to make the change.'],
  ['version', 'This tool takes no version, so nothing was changed. Call it without one.'],
]);

/** What can be named in the place of its id. */
const NAMED = new RegExp(`^(There is no (?:${[...ENTITY_KINDS, 'history entry'].join('|')}) with this id)\\.$`, 'm');

/** The server's own sentence in the words of the tool, and each field that it does not name. */
export function sentence(tool: AgentTool, { code, detail, errors }: AppError): string {
  const further = errors.filter(({ message }) => !detail.includes(message)).map(({ field, message }) => `${field}: ${message}`);
  let said = [detail, ...further].join('\n');
  if (code === 'not_found') return said.replace(NAMED, '$1 or name.');
  for (const { field, message } of errors) {
    // A model has no form that shows where the sentence belongs.
    if (field !== '' && !message.includes(field)) said = said.replace(message, `${field}: ${message}`);
    if (field === 'id' && tool.id_argument !== null) said = said.replace(message, message.replace(/^id\b/, tool.id_argument));
  }
  return said;
}
