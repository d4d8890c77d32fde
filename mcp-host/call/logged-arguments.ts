import type { FrozenTool } from '#snapshots/format/format.ts';
import { MOST_LOGGED } from '#core/contract/observe/logged-arguments.ts';
import { isSent } from '#core/query/arguments.ts';
import { maskArgument, type Pseudonym } from '#core/query/masks.ts';
import { isMembers } from '#mcp-host/protocol/messages.ts';
import type { ArgumentNote } from '#mcp-host/requests/usage-item.ts';

/** A definition whose calls are logged; only tools can have their arguments in the log. */
export type Logged = Pick<FrozenTool, 'id' | 'name'> & Partial<Pick<FrozenTool, 'log_arguments' | 'parameters'>>;

/**
 * Only what the tool declares for its callers: a value that comes from the caller's credential is no argument, and neither is what
 * a person filled in. @param sent as the request has it. Null: its tool logs none.
 */
export function noteArguments(
  { name: called, log_arguments, parameters = [] }: Logged,
  sent: unknown,
  pseudonym: Pseudonym,
): ArgumentNote | null {
  if (log_arguments === undefined) return null;
  const values = isMembers(sent) ? sent : {};
  // Without a prototype, so that a parameter may have any name.
  const kept: Record<string, unknown> = Object.create(null);
  const masked: string[] = [];
  const left_out: string[] = [];
  let bytes = 0;
  for (const parameter of parameters) {
    const { name } = parameter;
    if (!isSent(parameter) || !Object.hasOwn(values, name)) continue;
    const mask = log_arguments === true || !Object.hasOwn(log_arguments, name) ? undefined : log_arguments[name];
    if (mask !== undefined) masked.push(name);
    if (mask === 'remove') continue;
    const value = mask === undefined ? values[name] : maskArgument(values[name], mask, pseudonym);
    const size = Buffer.byteLength(JSON.stringify(value)) + name.length;
    if (bytes + size > MOST_LOGGED) {
      left_out.push(name);
      continue;
    }
    bytes += size;
    kept[name] = value;
  }
  return { logged: { called, arguments: kept, masked, left_out }, bytes };
}
