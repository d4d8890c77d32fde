import type { Part } from '#ui/src/kernel/settings-draft.ts';
import { plural } from '#ui/src/kernel/words.ts';

export const WORDS = {
  title: 'Settings',
  lead: 'Of the server as a whole. What is marked takes effect with the next deploy, everything else at once.',
  parts: 'Parts of the settings',
  save: 'Save',
  discard: 'Discard',
  saved: 'Saved.',
  saved_pending: 'Saved. It is live with the next deploy.',
  unsaved: 'The changes to these settings are not saved.',
  to_deploy: 'Deploy…',
  live: (value: string) => `Live until the next deploy: ${value}`,
  pending: (count: number) => `${plural(count, 'setting')} here ${count === 1 ? 'waits' : 'wait'} for a deploy`,
  stored: 'A secret is stored. Leave this empty to keep it.',
  not_stored: 'Nothing is stored yet.',
} as const;

export const PART_WORDS: Readonly<Record<Part, string>> = {
  general: 'General',
  auth: 'Authentication',
  tls: 'TLS',
  variables: 'Variables',
  guard: 'Guard',
  agent: 'Agent',
};

export const GENERAL = {
  identity: 'Identity',
  identity_lead: 'What clients read when they connect.',
  server_name: 'Server name',
  server_name_hint: 'Shown by clients; the names in snippets follow from it.',
  listen: 'Listening',
  listen_lead: 'Where every host waits for clients. The new address is open before the old one closes.',
  transport: 'Transport',
  host: 'Listen on',
  host_hint: '127.0.0.1 for this machine only, 0.0.0.0 for every network.',
  port: 'Port',
  observe: 'Telemetry',
  observe_lead: 'Logs of the hosts, and traces of calls.',
  log_level: 'Log level',
  otel: 'OpenTelemetry',
  otel_hint: 'Sends traces to the collector that SVC_OTLP_ENDPOINT names.',
} as const;

export const TRANSPORTS = [
  { value: 'http', label: 'Streamable HTTP', hint: 'What clients of today speak.' },
  { value: 'sse', label: 'HTTP and SSE', hint: 'Also /sse and /messages for clients of 2024.' },
  {
    value: 'stdio',
    label: 'Standard input and output',
    hint: 'Only for clients that start the server; the network answers 404.',
  },
] as const;
export const LEVELS = [
  { value: 'DEBUG', label: 'Debug' },
  { value: 'INFO', label: 'Info' },
  { value: 'WARNING', label: 'Warning' },
  { value: 'ERROR', label: 'Error' },
] as const;

export const AUTH = {
  kind: 'What clients show',
  kind_lead: 'Lowering this opens every tool to more callers.',
  auth_type: 'Authentication',
  locked_out: {
    introspection_url: 'Enter the introspection URL. Without it a deploy is refused, because no call could be checked.',
    oauth_clients: 'Add a client. Without one a deploy is refused, because nobody could get a token.',
  },
  open: (host: string) => `With none, anyone who reaches ${host} may call every tool.`,
  tokens: 'Access tokens',
  tokens_text: 'Tokens are made and revoked in MCP access; they need no deploy.',
  tokens_action: 'MCP access',
  clients: 'OAuth clients',
  clients_lead: 'Who may fetch access tokens at /oauth/token, for an id and a secret. At most ten.',
  client_id: 'Client id',
  client_secret: 'Client secret',
  secret_keep: 'Stored; empty keeps it',
  add_client: 'Add a client',
  remove_client: 'Remove',
  generate: 'Make a secret',
  generated: 'Copy the secret now; it cannot be read after saving.',
  no_clients: 'No client yet, so nobody gets a token.',
  ttl: 'A token lasts',
  introspection: 'Introspection',
  introspection_lead:
    'Your authorization server says whether a token is active (RFC 7662). While it does not answer, new clients are rejected.',
  url: 'Address',
  introspection_client: 'Client id',
  secret: 'Client secret',
  cache: 'An answer is kept for',
  issuer: 'Issuer',
  issuer_hint:
    "The issuer that your authorization server names in its own metadata, path included. Default: the introspection address's origin.",
  scopes: 'Scopes',
  scopes_hint: 'Clients request these when they sign in. Sluice does not check them.',
  audience: 'Required audience',
  audience_hint: 'Only tokens that name this audience are accepted. Without it, a token that names no audience is accepted too.',
  cors: 'Browser pages',
  cors_lead: 'Pages of these origins may call the MCP server from a browser. Other clients are not concerned.',
  origins: 'Allowed origins',
  origins_hint: 'Such as https://app.example.com: scheme and host, no path.',
} as const;

export const AUTH_TYPES = [
  { value: 'none', label: 'None', hint: 'Everyone who reaches the address may call. Only for this machine or a closed network.' },
  { value: 'bearer', label: 'Access token', hint: 'One token for each client, made here and revoked at once.' },
  {
    value: 'oauth_credentials',
    label: 'OAuth client credentials',
    hint: 'Services fetch short tokens for an id and a secret.',
  },
  {
    value: 'oauth_introspection',
    label: 'Tokens of another server',
    hint: 'Your own authorization server issues them and is asked about each.',
  },
] as const;

export const GUARD = {
  title: 'Prompt guard',
  lead: 'Looks for text that gives orders to a model, in what is stored and in what agents read.',
  enabled: 'Refuse suspicious text',
  threshold: 'From which severity on',
  thresholds: [
    { value: 'low', label: 'Low', hint: 'Everything that looks unusual. Expect false alarms.' },
    { value: 'medium', label: 'Medium', hint: 'What reads like an order to a model.' },
    { value: 'high', label: 'High', hint: 'Only what is hardly ever innocent.' },
  ],
  rules: 'Rules',
  rules_lead: 'An allowed rule is not applied.',
  rules_search: 'Search rules',
  rule: 'Rule',
  severity: 'Severity',
  allowed: 'Allowed',
  try: 'Try a text',
  try_lead: 'As if it stood in a definition; nothing is stored.',
  text: 'Text',
  kind: 'Read as',
  kinds: [
    { value: 'text', label: 'Description' },
    { value: 'sql', label: 'SQL' },
    { value: 'template', label: 'Template' },
  ],
  test: 'Test',
  clean: 'Nothing was found.',
  found: (count: number) => `${plural(count, 'finding')}, none that refuses`,
  refused: 'This text would be refused',
  scan: 'Scan everything stored',
  scan_lead: 'Judges all definitions by the settings as they are saved.',
  scan_action: 'Scan now',
  scanned: (scanned: number, hits: number) =>
    hits === 0 ? `${plural(scanned, 'record')}, nothing found` : `${plural(scanned, 'record')}, findings in ${hits}`,
} as const;

export const AGENT = {
  title: 'Agent endpoint',
  lead: 'The MCP tools on /agent-mcp by which agents administer this server.',
  enabled: 'Agents may connect',
  enabled_hint: 'Off: every call is answered 403. Tokens stay and work again later.',
  rate: 'Calls a minute',
  rate_hint: 'For each token, over MCP and REST together.',
  access: 'Tokens and activity',
} as const;

export const VARIABLES = {
  title: 'Variables',
  lead: 'Read as vars.name in transform templates and prompts. Not for secrets: they are shown here and exported.',
  name: 'Name',
  type: 'Type',
  value: 'Value',
  add: 'Add a variable',
  remove: (name: string) => `Remove ${name || 'the variable'}`,
  none_title: 'There is no variable',
  none: 'Such as a currency or a shop’s name that several templates use.',
  types: [
    { value: 'string', label: 'Text' },
    { value: 'integer', label: 'Integer' },
    { value: 'float', label: 'Number' },
    { value: 'boolean', label: 'True or false' },
  ],
  full: 'A hundred is the most.',
} as const;
