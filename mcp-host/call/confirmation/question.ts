import type { Changes } from '#core/engines/shared/source.ts';
import { isSent } from '#core/lib/call/arguments.ts';
import type { SqlNode } from '#core/lib/sql/statement.ts';
import type { FrozenTool } from '#snapshots/format.ts';
import type { Members } from '#mcp-host/protocol/messages.ts';

/** The one field of the form: some clients accept forms without a required field by themselves. */
export const ANSWER = 'ok';
const LONGEST_VALUE = 80;
const MOST_VALUES = 10;
const TARGET = /\b(insert\s+into|replace\s+into|merge\s+into|delete\s+from|update)\s+([\w."`[\]]{1,128})/i;

/** What is asked, as `elicitation/create` has it. Every word but the values of arguments is ours; those are quoted. */
export function questionOf(tool: FrozenTool, args: Members, changes: Changes, before: Changes | null): Members {
  const changed = before === null ? '' : ` The number of rows changed since you were asked: it was ${before.all}.`;
  const message = `${titleOf(tool)} would change ${rowsOf(changes)}${targetOf(tool)}.${changed}${argumentsOf(tool, args)} Nothing was changed yet.`;
  const title = changes.all === 1 ? 'Change 1 row' : `Change ${changes.all.toLocaleString('en')} rows`;
  return {
    mode: 'form',
    message,
    requestedSchema: { type: 'object', properties: { [ANSWER]: { type: 'boolean', title } }, required: [ANSWER] },
  };
}

export const titleOf = ({ name, listing }: FrozenTool): string =>
  typeof listing['title'] === 'string' ? `“${plain(listing['title'])}” (${name})` : `“${name}”`;

export function rowsOf({ direct, all }: Changes): string {
  const rows = all === 1 ? '1 row' : `${all.toLocaleString('en')} rows`;
  if (direct === null || direct === all) return rows;
  return `${rows} (${direct.toLocaleString('en')} directly, ${(all - direct).toLocaleString('en')} through cascades, triggers or functions)`;
}

function targetOf({ statement }: FrozenTool): string {
  const [, verb = '', table = ''] = TARGET.exec(textOf(statement.nodes)) ?? [];
  return table === '' ? '' : ` with ${verb.toUpperCase().replaceAll(/\s+/g, ' ')} ${table}`;
}

const textOf = (nodes: readonly SqlNode[]): string =>
  nodes.map((node) => (typeof node === 'string' ? node : 'block' in node ? textOf(node.block) : '?')).join('');

function argumentsOf({ parameters }: FrozenTool, args: Members): string {
  const given = parameters.filter((parameter) => isSent(parameter) && args[parameter.name] !== undefined);
  if (given.length === 0) return '';
  const shown = given.slice(0, MOST_VALUES).map(({ name }) => `${name} = ${shorten(plain(JSON.stringify(args[name])))}`);
  const more = given.length > MOST_VALUES ? `, and ${given.length - MOST_VALUES} more` : '';
  return ` Arguments: ${shown.join(', ')}${more}.`;
}

const shorten = (text: string): string => (text.length <= LONGEST_VALUE ? text : `${text.slice(0, LONGEST_VALUE - 1)}…`);
/** Without what moves or hides text: control, format and separator characters. */
export const plain = (text: string): string => text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, ' ');
