import type { ServerConfig } from '#core/contract/config.ts';
import type { Change } from '#core/contract/deploy.ts';
import { clientName, shellQuote } from './words.ts';

/** Stands in a text until somebody puts their own in its place. */
export const TOKEN_PLACE = 'YOUR_TOKEN';

export interface ClientText {
  readonly id: string;
  readonly label: string;
  readonly about: string;
  readonly text: string;
  /** Opens the client and offers the server to it. */
  readonly link?: string;
}

export interface Endpoint {
  readonly server_name: string;
  readonly url: string;
  /** Undefined: the server asks for none. */
  readonly token: string | undefined;
}

const json = (value: unknown) => JSON.stringify(value, null, 2);
const headersOf = ({ token }: Endpoint) => (token === undefined ? {} : { headers: { Authorization: `Bearer ${token}` } });

/** How each common client is told of the server; texts to paste and links that open the client. */
export function clientTexts(endpoint: Endpoint): readonly ClientText[] {
  const { url, token } = endpoint;
  const name = clientName(endpoint.server_name);
  const remote = { url, ...headersOf(endpoint) };
  const typed = { type: 'http', ...remote };
  const header = token === undefined ? '' : ` --header ${shellQuote(`Authorization: Bearer ${token}`)}`;
  return [
    {
      id: 'claude-code',
      label: 'Claude Code',
      about: 'Run this once in a terminal, then ask Claude what the server can do.',
      text: `claude mcp add --transport http ${name} ${url}${header}`,
    },
    {
      id: 'claude-desktop',
      label: 'Claude Desktop',
      about: 'Put this into claude_desktop_config.json (Settings, Developer, Edit config) and restart. It needs Node.',
      text: json({
        mcpServers: {
          [name]: {
            command: 'npx',
            args: ['-y', 'mcp-remote', url, ...(token === undefined ? [] : ['--header', `Authorization: Bearer ${token}`])],
          },
        },
      }),
    },
    {
      id: 'cursor',
      label: 'Cursor',
      about: 'Open Cursor with the button, or put this into ~/.cursor/mcp.json, or into .cursor/mcp.json of one project.',
      text: json({ mcpServers: { [name]: remote } }),
      link: `cursor://anysphere.cursor-deeplink/mcp/install?name=${encodeURIComponent(name)}&config=${encodeURIComponent(base64(JSON.stringify(remote)))}`,
    },
    {
      id: 'vscode',
      label: 'VS Code',
      about: 'Open VS Code with the button, or put this into .vscode/mcp.json of a workspace.',
      text: json({ servers: { [name]: typed } }),
      link: `vscode:mcp/install?${encodeURIComponent(JSON.stringify({ name, ...typed }))}`,
    },
    {
      id: 'chatgpt',
      label: 'ChatGPT',
      about:
        'Settings, Apps and connectors, Advanced, Developer mode, then Create: paste this address. It has to be reachable from the internet.',
      text: url,
    },
    {
      id: 'other',
      label: 'Other clients',
      about: 'Most clients read a JSON like this one; the transport is called “streamable HTTP” in some.',
      text: json({ mcpServers: { [name]: typed } }),
    },
    {
      id: 'stdio',
      label: 'stdio',
      about: 'For a client that starts the server itself. The folder is that of this installation; no token is asked for.',
      text: json({ mcpServers: { [name]: { command: 'bun', args: ['mcp-host/stdio.ts'], cwd: '/path/to/sluice' } } }),
    },
  ];
}

/** Of UTF-8; `btoa` alone takes Latin-1 only. */
const base64 = (text: string): string => btoa(String.fromCharCode(...new TextEncoder().encode(text)));

/** How an agent that administers Sluice is connected. */
export function agentTexts(origin: string, token = TOKEN_PLACE): readonly ClientText[] {
  const url = `${origin}/agent-mcp/mcp`;
  const remote = { type: 'http', url, headers: { Authorization: `Bearer ${token}` } };
  return [
    {
      id: 'claude-code',
      label: 'Claude Code',
      about: 'Run this once in a terminal, then ask Claude to make a tool from one of your tables.',
      text: `claude mcp add --transport http sluice ${url} --header ${shellQuote(`Authorization: Bearer ${token}`)}`,
    },
    {
      id: 'json',
      label: 'Other clients',
      about: 'Cursor, VS Code and most others read a JSON like this one.',
      text: json({ mcpServers: { sluice: remote } }),
    },
    {
      id: 'curl',
      label: 'REST',
      about: 'The same token is good for the REST API.',
      text: `curl ${origin}/api/v1/tools -H ${shellQuote(`authorization: Bearer ${token}`)}`,
    },
    {
      id: 'oauth',
      label: 'OAuth client',
      about: 'A client gets short tokens for its id and secret (client_credentials), and new ones with its refresh token.',
      text: [`curl ${origin}/agent-mcp/oauth/token`, `-u 'CLIENT_ID:CLIENT_SECRET'`, `-d 'grant_type=client_credentials'`].join(
        ' \\\n  ',
      ),
    },
  ];
}

/** What is live, where the working copy says something else already. */
export function liveValue<K extends keyof ServerConfig>(
  config: ServerConfig,
  changes: readonly Change[],
  field: K,
): { readonly live: ServerConfig[K]; readonly pending: boolean } {
  const change = changes.find(({ entity_type }) => entity_type === 'server_config')?.values[field];
  return change === undefined ? { live: config[field], pending: false } : { live: change.old as ServerConfig[K], pending: true };
}

/** A token is needed to call. */
export const wantsToken = (auth_type: ServerConfig['auth_type']): boolean => auth_type !== 'none';
