import { CLIENT_PLACEHOLDERS, shellQuote, TOKEN_PLACEHOLDER } from '#core/lib/text/command-text.ts';
import type { ServerConfig } from '#core/contract/settings/config.ts';
import type { Output } from '#core/contract/index.ts';

export interface ClientText {
  readonly id: string;
  readonly label: string;
  readonly about: string;
  readonly text: string;
  /** URL that opens the client and offers to add the server. */
  readonly link?: string;
  /** The client does not show resources whose address has variables. */
  readonly hides_templates?: true;
}

/** The deployed server, as clients connect to it. */
export interface Endpoint extends Pick<ServerConfig, 'server_name' | 'auth_type' | 'transport'> {
  readonly url: string;
  /** Absent: a placeholder, if the server requires a token. */
  readonly token?: string | undefined;
  /** Absent: the server is not offered over stdio. */
  readonly stdio?: Output<'server.stdio'>;
  /** Absent: the whole server. With a toolset, `url` is the address of the toolset. */
  readonly toolset?: string | undefined;
}

/** One client may connect to several toolsets, so their names differ. */
const nameOf = ({ server_name, toolset }: Pick<Endpoint, 'server_name' | 'toolset'>): string =>
  toolset === undefined ? clientName(server_name) : `${clientName(server_name)}-${toolset}`;

/** Converts the server's display name to a name that shells and all MCP clients accept. */
export const clientName = (server_name: string): string =>
  server_name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '') || 'sluice';

const json = (value: unknown) => JSON.stringify(value, null, 2);

/**
 * Instructions for connecting each common client, for every page and for the start banner. Instructions that cannot work are left
 * out.
 */
export function clientTexts(endpoint: Endpoint): readonly ClientText[] {
  const { stdio, transport } = endpoint;
  return [
    ...(transport === 'stdio' ? [] : networkTexts(endpoint)),
    ...(stdio === undefined ? [] : [stdioText({ ...endpoint, stdio })]),
  ];
}

/** There is no link until the token is known, because it would register the client with a placeholder. */
const linkOf = (endpoint: Endpoint, link: string): Pick<ClientText, 'link'> =>
  NEEDS_NO_TOKEN.has(endpoint.auth_type) || endpoint.token !== undefined ? { link } : {};

function networkTexts(endpoint: Endpoint): readonly ClientText[] {
  const { url, auth_type } = endpoint;
  const name = nameOf(endpoint);
  const credential = credentialOf(endpoint);
  const remote = { url, ...(credential && { headers: { Authorization: credential } }) };
  const typed = { type: 'http', ...remote };
  const header = credential === null ? [] : ['--header', `Authorization: ${credential}`];
  return [
    {
      id: 'claude-code',
      label: 'Claude Code',
      about: 'Run this once in a terminal, then ask Claude what the server can do.',
      text: ['claude mcp add --transport http', name, url, ...header.map((word, n) => (n === 0 ? word : shellQuote(word)))].join(
        ' ',
      ),
      hides_templates: true,
    },
    {
      id: 'claude-desktop',
      label: 'Claude Desktop',
      about: 'Add this to claude_desktop_config.json (Settings, Developer, Edit config) and restart. Requires Node.js.',
      text: json({
        mcpServers: { [name]: { command: 'npx', args: ['-y', 'mcp-remote', url, ...header, ...plainHttp(url)] } },
      }),
    },
    ...(NEEDS_NO_HEADER.has(auth_type)
      ? [
          {
            id: 'claude-ai',
            label: 'claude.ai',
            about: 'Adds a custom connector to claude.ai and Claude Desktop. The address must be reachable from the internet.',
            text: url,
            link: `https://claude.ai/customize/connectors?modal=add-custom-connector&connectorName=${encodeURIComponent(name)}&connectorUrl=${encodeURIComponent(url)}`,
          },
        ]
      : []),
    {
      id: 'cursor',
      label: 'Cursor',
      about: 'Add this to ~/.cursor/mcp.json, or to .cursor/mcp.json of one project.',
      text: json({ mcpServers: { [name]: remote } }),
      ...linkOf(
        endpoint,
        `cursor://anysphere.cursor-deeplink/mcp/install?name=${encodeURIComponent(name)}&config=${encodeURIComponent(base64(JSON.stringify(remote)))}`,
      ),
    },
    {
      id: 'vscode',
      label: 'VS Code',
      about: 'Add this to .vscode/mcp.json of a workspace.',
      text: json({ servers: { [name]: typed } }),
      ...linkOf(endpoint, `vscode:mcp/install?${encodeURIComponent(JSON.stringify({ name, ...typed }))}`),
    },
    {
      id: 'lm-studio',
      label: 'LM Studio',
      about: 'Add this to mcp.json (Program, Install, Edit mcp.json).',
      text: json({ mcpServers: { [name]: remote } }),
      ...linkOf(
        endpoint,
        `lmstudio://add_mcp?name=${encodeURIComponent(name)}&config=${encodeURIComponent(base64(JSON.stringify(remote)))}`,
      ),
    },
    {
      id: 'goose',
      label: 'Goose',
      about: 'Add this to extensions in ~/.config/goose/config.yaml; YAML reads JSON.',
      text: json({
        [name]: { enabled: true, type: 'streamable_http', name, uri: url, headers: remote.headers ?? {}, timeout: 300 },
      }),
      ...linkOf(endpoint, gooseLink(endpoint, name, credential)),
    },
    ...(NEEDS_NO_HEADER.has(auth_type)
      ? [
          {
            id: 'chatgpt',
            label: 'ChatGPT',
            about:
              'Settings, Apps and connectors, Advanced, Developer mode, then Create: paste this address. It must be reachable from the internet.',
            text: url,
          },
        ]
      : []),
    {
      id: 'other',
      label: 'Other clients',
      about: 'Most clients read JSON like this; some call the transport “streamable HTTP”.',
      text: json({ mcpServers: { [name]: typed } }),
    },
    {
      id: 'curl',
      label: 'curl',
      about: 'Lists the tools without a client.',
      text: curlText(endpoint, { jsonrpc: '2.0', id: 1, method: 'tools/list' }),
    },
  ];
}

/** With sign-in, the client gets its token automatically. */
const NEEDS_NO_TOKEN: ReadonlySet<ServerConfig['auth_type']> = new Set(['none', 'oauth']);
const credentialOf = ({ auth_type, token }: Endpoint): string | null => {
  if (auth_type === 'none' || (auth_type === 'oauth' && token === undefined)) return null;
  return `Bearer ${token ?? TOKEN_PLACEHOLDER}`;
};

function gooseLink({ url, server_name }: Endpoint, name: string, credential: string | null): string {
  const parts: (readonly [string, string])[] = [
    ['url', url],
    ['type', 'streamable_http'],
    ['id', name],
    ['name', name],
    ['description', server_name],
    ...(credential === null ? [] : [['header', `Authorization=${credential}`] as const]),
  ];
  return `goose://extension?${parts.map(([key, value]) => `${key}=${encodeURIComponent(value)}`).join('&')}`;
}

/** Sends one message of the protocol from a shell. */
export function curlText(endpoint: Endpoint, message: object): string {
  const credential = credentialOf({ ...endpoint, token: endpoint.token ?? TOKEN_PLACEHOLDER });
  return [
    `curl -s ${endpoint.url}`,
    `-H 'content-type: application/json'`,
    `-H 'accept: application/json, text/event-stream'`,
    ...(credential === null ? [] : [`-H ${shellQuote(`authorization: ${credential}`)}`]),
    `-d ${shellQuote(JSON.stringify(message))}`,
  ].join(' \\\n  ');
}

/**
 * Clients of these servers need no access token: they connect without one, or sign in at the authorization server in the
 * metadata.
 */
export const NEEDS_NO_HEADER: ReadonlySet<ServerConfig['auth_type']> = new Set(['none', 'oauth_introspection', 'jwt', 'oauth']);

/** For other hosts, mcp-remote refuses plain HTTP unless an option allows it. */
const MCP_REMOTE_HTTP: ReadonlySet<string> = new Set(['localhost', '127.0.0.1']);
function plainHttp(url: string): string[] {
  const { protocol, hostname } = new URL(url);
  return protocol === 'http:' && !MCP_REMOTE_HTTP.has(hostname) ? ['--allow-http'] : [];
}

function stdioText(endpoint: Endpoint & Required<Pick<Endpoint, 'stdio'>>): ClientText {
  const { toolset, stdio } = endpoint;
  const { command, env, secrets } = stdio;
  const args = toolset === undefined ? stdio.args : [...stdio.args, '--toolset', toolset];
  const missing = secrets.map((name) => [name, '']);
  const start = { command, args, env: { ...env, ...(Object.fromEntries(missing) as Record<string, string>) } };
  const advice = secrets.length === 0 ? '' : ` Fill in ${secrets.join(' and ')} with the values that Sluice runs with.`;
  return {
    id: 'stdio',
    label: 'stdio',
    about: `For a client on the machine where Sluice runs, which starts the server itself and needs no token.${advice}`,
    text: json({ mcpServers: { [nameOf(endpoint)]: start } }),
  };
}

/** Encodes the text as UTF-8 first, because `btoa` accepts only Latin-1. */
const base64 = (text: string): string => btoa(String.fromCharCode(...new TextEncoder().encode(text)));

/** The credential that was just created for an agent. Placeholders replace the missing parts. */
export interface AgentCredential {
  readonly token?: string | undefined;
  readonly client_id?: string | undefined;
  readonly client_secret?: string | undefined;
}

/** Differs from the usual names of the server that serves tools, because one client may have both. */
const AGENT_NAME = 'sluice-admin';

/** Instructions for connecting an agent that administers Sluice. */
export function agentTexts(origin: string, credential: AgentCredential = {}): readonly ClientText[] {
  const {
    token = TOKEN_PLACEHOLDER,
    client_id = CLIENT_PLACEHOLDERS.client_id,
    client_secret = CLIENT_PLACEHOLDERS.client_secret,
  } = credential;
  const url = `${origin}/agent-mcp/mcp`;
  const authorization = `Bearer ${token}`;
  return [
    {
      id: 'claude-code',
      label: 'Claude Code',
      about: 'Run this once in a terminal, then ask Claude to create a tool from one of your tables.',
      text: `claude mcp add --transport http ${AGENT_NAME} ${url} --header ${shellQuote(`Authorization: ${authorization}`)}`,
    },
    {
      id: 'json',
      label: 'Other clients',
      about: 'Cursor, VS Code and most other clients read JSON like this.',
      text: json({ mcpServers: { [AGENT_NAME]: { type: 'http', url, headers: { Authorization: authorization } } } }),
    },
    {
      id: 'curl',
      label: 'REST',
      about: 'The same token works on the REST API.',
      text: `curl ${origin}/api/v1/tools -H ${shellQuote(`authorization: ${authorization}`)}`,
    },
    {
      id: 'oauth',
      label: 'OAuth client',
      about:
        'A client exchanges its ID and secret for short-lived tokens (client_credentials) and renews them with its refresh token.',
      text: [
        `curl ${origin}/agent-mcp/oauth/token`,
        `-u ${shellQuote(`${client_id}:${client_secret}`)}`,
        `-d 'grant_type=client_credentials'`,
      ].join(' \\\n  '),
    },
  ];
}
