import type { FrozenTool } from '#snapshots/format/format.ts';
import { MOST_LOGGED } from '#core/contract/observe/logged-arguments.ts';
import { isSent } from '#core/query/arguments.ts';
import { maskArgument, type Pseudonym } from '#core/query/masks.ts';
import { isMembers } from '#mcp-host/protocol/messages.ts';
import type { ArgumentNote } from '#mcp-host/requests/usage-item.ts';

/** A definition whose calls are logged; only tools can log arguments. */
export type Logged = Pick<FrozenTool, 'id' | 'name'> & Partial<Pick<FrozenTool, 'log_arguments' | 'parameters'>>;

/**
 * Notes only the arguments that the tool declares for its callers, without values from the caller's credential and without values
 * that a person filled in. @param sent the arguments of the request. Null: the tool logs no arguments.
 */
export function noteArguments(
  { name: called, log_arguments, parameters = [] }: Logged,
  sent: unknown,
  pseudonym: Pseudonym,
): ArgumentNote | null {
  if (log_arguments === undefined) return null;
  const values = isMembers(sent) ? sent : {};
  // No prototype, so that a parameter may have any name.
  const logged_values: Record<string, unknown> = Object.create(null);
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
    logged_values[name] = value;
  }
  return { logged: { called, arguments: logged_values, masked, left_out }, bytes };
}
