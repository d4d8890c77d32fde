import type { ServerConfig } from '#core/contract/config.ts';
import { plural } from '#ui/src/kernel/words.ts';

export const WORDS = {
  title: 'MCP access',
  lead: 'Where clients find the deployed server, and what they have to show.',
  address: 'Address',
  address_title: 'The server',
  transport: 'Transport',
  auth: 'Authentication',
  state: 'State',
  pending: 'changes with the next deploy',
  change: 'Change in settings',
  test: 'Test the connection',
  test_token: 'Access token for the test',
  test_token_hint: 'Only used for this call; it is not kept.',
  reached: (count: number, ms: string) => `The server answers with ${plural(count, 'tool')} in ${ms}`,
  reached_host: (host: string) => `Host ${host}`,
  refused: 'The server did not answer as a client needs it',
  wants_token: 'The server asks for a token. Paste one above and test again.',
  clients: 'Connect a client',
  tokens: 'Access tokens',
  tokens_lead: 'For clients, when the authentication is “Access token”. They work and stop at once, without a deploy.',
  tokens_unused: 'The deployed server does not ask for access tokens at the moment.',
  create: 'New token',
  create_title: 'New access token',
  name: 'Name',
  name_hint: 'Such as the client or the person it is for.',
  idle: 'Ends when not used for',
  create_action: 'Create token',
  created: (name: string) => `Token “${name}”`,
  token: 'Access token',
  prefix: 'Begins with',
  used: 'Last used',
  never: 'Never',
  made: 'Created',
  ends: 'Ends',
  revoked: 'Revoked',
  revoke: 'Revoke…',
  revoke_title: (name: string) => `Revoke the token “${name}”?`,
  revoke_text: 'Clients that use it are turned away within a second. This cannot be undone.',
  revoke_action: 'Revoke',
  was_revoked: (name: string) => `Revoked “${name}”.`,
  none_title: 'There is no access token',
  none: 'Make one for each client, so that each can be revoked alone.',
  oauth: 'OAuth clients',
  oauth_lead: 'They buy short tokens for their id and secret at the token endpoint.',
  oauth_endpoint: 'Token endpoint',
  oauth_none: 'No client may get a token yet. Add one in the settings.',
  oauth_change: 'Change clients',
} as const;

export const AUTH_WORDS: Readonly<Record<ServerConfig['auth_type'], string>> = {
  none: 'None',
  bearer: 'Access token',
  oauth_credentials: 'OAuth client credentials',
  oauth_introspection: 'Tokens of another server',
};

export const STATE_WORDS: Readonly<Record<string, string>> = {
  running: 'Running',
  deploying: 'Deploying',
  stopped: 'Stopped',
  error: 'Not serving',
};

export const TRANSPORT_WORDS: Readonly<Record<ServerConfig['transport'], string>> = {
  http: 'Streamable HTTP',
  sse: 'HTTP, with SSE for older clients',
  stdio: 'Standard input and output',
};

export const IDLE = [
  { value: '', label: 'Never' },
  { value: '60', label: '1 hour' },
  { value: '480', label: '8 hours' },
  { value: '1440', label: '1 day' },
  { value: '10080', label: '7 days' },
  { value: '43200', label: '30 days' },
  { value: '129600', label: '90 days' },
] as const;

/** `1 hour`, `7 days` of minutes. */
export function minutesWord(minutes: number): string {
  if (minutes % 1_440 === 0) return plural(minutes / 1_440, 'day');
  if (minutes % 60 === 0) return plural(minutes / 60, 'hour');
  return plural(minutes, 'minute');
}
