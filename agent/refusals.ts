import { operations, pathVariables } from '#core/contract/index.ts';
import { type AppError, nearest } from '#core/errors.ts';
import type { AgentTool } from './tools.ts';

type Given = Readonly<Record<string, unknown>>;

/** What cannot be asked of the server: its address would be another one, or an argument would take the place of another. */
export function refuse(tool: AgentTool, given: Given, input: Given): { code: 'invalid' | 'not_found'; text: string } | null {
  const missing = tool.listing.inputSchema.required.filter((field) => given[field] === undefined);
  const faults = missing.map((field) => `${field} is required.`);
  if (tool.id_argument !== null && 'id' in given) faults.push(unknown(tool, 'id'));
  if (faults.length > 0) return { code: 'invalid', text: faults.join(' ') };
  const { path } = operations[tool.operation];
  const dotted = pathVariables(path).some((field) => input[field] === '.' || input[field] === '..');
  return dotted ? { code: 'not_found', text: 'There is no record with this name.' } : null;
}

const UNKNOWN = / is not a known field; did you mean [^?]*\?$/;
const unknown = ({ arguments: known }: AgentTool, field: string): string =>
  `${field} is not a known field; did you mean ${nearest(field, known)}?`;

/** The server's own sentence in the words of the tool, and each field that it does not name. */
export function sentence(tool: AgentTool, { code, detail, errors }: AppError): string {
  const further = errors.filter(({ message }) => !detail.includes(message)).map(({ field, message }) => `${field}: ${message}`);
  let said = [detail, ...further].join('\n');
  if (code === 'not_found') return said.replace(/ with this id\.$/m, ' with this id or name.');
  for (const { field, message } of errors) {
    if (UNKNOWN.test(message)) said = said.replace(message, () => unknown(tool, field));
    else if (field === 'id' && tool.id_argument !== null)
      said = said.replace(message, message.replace(/^id\b/, tool.id_argument));
  }
  return said;
}
