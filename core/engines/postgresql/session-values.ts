import type { ConnectionSettings } from '#core/engines/shared/connection-settings.ts';
import type { SessionState } from '#core/engines/shared/source.ts';

type SessionSettings = Pick<ConnectionSettings, 'session_values' | 'session_role'>;

/** The settings that every statement of a connection has from its caller. The role is the last one. */
export const settingNames = ({ session_values = [], session_role = null }: SessionSettings): readonly string[] => [
  ...session_values.map(({ name }) => name),
  ...(session_role === null ? [] : [ROLE]),
];

const ROLE = 'role';
/** PostgreSQL's name for the role of the account. */
const NO_ROLE = 'none';

/** A value for every name. A missing value is empty, so that a value of another caller never remains. */
export const settingValues = (names: readonly string[], session: SessionState | undefined): readonly string[] =>
  names.map((name, n) => (name === ROLE ? (session?.role ?? NO_ROLE) : (session?.values[n] ?? '')));

/** A custom name contains a dot, so a caller's value cannot change a setting of the server. */
export const sessionNameFault = (name: string): string | null =>
  /^[a-z_][a-z0-9_]*\.[a-z_][a-z0-9_]*$/.test(name) ? null : 'needs a prefix and a dot on PostgreSQL, such as app.tenant.';
