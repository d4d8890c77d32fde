import { AppError } from '#core/errors.ts';
import type { SessionRole, SessionValue } from '#core/contract/definitions/session-values.ts';
import type { Json } from '#core/lib/sql/result.ts';
import type { SessionState } from '#core/engines/shared/source.ts';
import { readerOf, type SourceFacts } from './value-sources.ts';

/** The session values and role that a connection sends to its database for each caller. */
export interface SessionRules {
  readonly session_values?: readonly SessionValue[] | undefined;
  readonly session_role?: SessionRole | null | undefined;
}

/** Throws `caller_value_missing` if the caller has none of the allowed roles. */
type ReadSession = (facts: SourceFacts) => SessionState;

const readers = new WeakMap<SessionRules, ReadSession | null>();

/** The session values of one call; null if the connection has none. */
export function sessionOf(connection: SessionRules, facts: SourceFacts): SessionState | null {
  let read = readers.get(connection);
  if (read === undefined) readers.set(connection, (read = compile(connection)));
  return read && read(facts);
}

function compile({ session_values = [], session_role = null }: SessionRules): ReadSession | null {
  if (session_values.length === 0 && session_role === null) return null;
  const values = session_values.map(({ from }) => readerOf(from));
  const role = session_role && roleReader(session_role);
  return (facts) => ({ values: values.map((read) => toText(read(facts) ?? null)), role: role && role(facts) });
}

/** Lists and objects are sent as JSON. */
const toText = (value: Json): string | null =>
  value === null || typeof value === 'string' ? value : typeof value === 'object' ? JSON.stringify(value) : String(value);

function roleReader({ from, allow }: SessionRole): (facts: SourceFacts) => string {
  const read = readerOf(from);
  return (facts) => {
    const value = read(facts) ?? null;
    const names: readonly Json[] = Array.isArray(value) ? value : [value];
    const role = allow.find((name) => names.includes(name));
    if (role !== undefined) return role;
    const detail = `This call needs a role of the database in ${from}, and the caller has none that is allowed. Ask the administrator of the server.`;
    throw new AppError('caller_value_missing', detail);
  };
}
