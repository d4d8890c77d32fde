import type { ConnectionSettings } from '#core/engines/shared/connection-settings.ts';
import type { SessionState } from '#core/engines/shared/source.ts';

type SessionSettings = Pick<ConnectionSettings, 'session_values' | 'session_role'>;

/** The settings that every statement of a connection has of its caller; the role is the last of them. */
export const settingNames = ({ session_values = [], session_role = null }: SessionSettings): readonly string[] => [
  ...session_values.map(({ name }) => name),
  ...(session_role === null ? [] : [ROLE]),
];

const ROLE = 'role';
/** PostgreSQL's own word for the account itself. */
const NO_ROLE = 'none';

/** A value for every name: what the caller does not have is empty, never what another caller had. */
export const settingValues = (names: readonly string[], session: SessionState | undefined): readonly string[] =>
  names.map((name, n) => (name === ROLE ? (session?.role ?? NO_ROLE) : (session?.values[n] ?? '')));

/** A name of ours has a dot, so that no caller's value ends up in a setting of the server itself. */
export const sessionNameFault = (name: string): string | null =>
  /^[a-z_][a-z0-9_]*\.[a-z_][a-z0-9_]*$/.test(name) ? null : 'needs a prefix and a dot on PostgreSQL, such as app.tenant.';
