import { type ConnectionDraft, DB_TYPE_CHOICES } from '#core/contract/definitions/connections.ts';
import { kindOf } from '#core/engines/index.ts';
import type { FieldError } from '#core/errors.ts';

/** Session values and roles that the database of a connection does not support. */
export function sessionFaults({
  db_type,
  session_values = [],
  session_role = null,
}: Pick<ConnectionDraft, 'db_type'> & Partial<Pick<ConnectionDraft, 'session_values' | 'session_role'>>): FieldError[] {
  if (session_values.length === 0 && session_role === null) return [];
  const { engine } = kindOf(db_type);
  const { label } = DB_TYPE_CHOICES[db_type];
  const { session } = engine;
  const fault = (field: string, message: string): FieldError => ({ field, message });
  if (session === null || !session.kinds.includes(db_type)) {
    const field = session_values.length > 0 ? 'session_values' : 'session_role';
    return [fault(field, `${label} cannot receive values of the caller. Fill parameters of the tools with them instead.`)];
  }
  const faults = session_values.flatMap(({ name }, n) => {
    const found = session.nameFault(name);
    return found === null ? [] : [fault(`session_values.${n}.name`, `${name} ${found}`)];
  });
  if (session_role === null) return faults;
  if (!session.roles) faults.push(fault('session_role', `${label} has no roles that end with a statement. Remove session_role.`));
  for (const name of session_role.allow) {
    if (RESERVED.has(name.toLowerCase())) faults.push(fault('session_role.allow', `${name} is not a role. Remove it.`));
  }
  return faults;
}

/** PostgreSQL reads these as keywords. */
const RESERVED: ReadonlySet<string> = new Set(['none', 'default', 'public']);
