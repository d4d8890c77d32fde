/**
 * Copies of the metadata documents of common clients, for servers without internet access and for documents whose address blocks
 * programs. Collected from public documents and repositories in November 2026.
 */
export interface KnownClient {
  readonly client_id: string;
  readonly name: string;
  readonly redirect_uris: readonly string[];
}

const CODEX_REDIRECTS = ['http://localhost/callback', 'http://127.0.0.1/callback'];

const KNOWN: readonly KnownClient[] = [
  {
    client_id: 'https://claude.ai/oauth/mcp-oauth-client-metadata',
    name: 'Claude',
    redirect_uris: ['https://claude.ai/api/mcp/auth_callback', 'https://claude.com/api/mcp/auth_callback'],
  },
  {
    client_id: 'https://claude.ai/oauth/claude-code-client-metadata',
    name: 'Claude Code',
    redirect_uris: ['http://localhost/callback', 'http://127.0.0.1/callback'],
  },
  {
    client_id: 'https://chatgpt.com/oauth/client.json',
    name: 'ChatGPT',
    redirect_uris: ['https://chatgpt.com/connector_platform_oauth_redirect'],
  },
  { client_id: 'https://chatgpt.com/oauth/codex/client.json', name: 'Codex', redirect_uris: CODEX_REDIRECTS },
  {
    client_id: 'https://vscode.dev/oauth/client-metadata.json',
    name: 'Visual Studio Code',
    redirect_uris: ['http://127.0.0.1:33418/', 'https://vscode.dev/redirect'],
  },
  {
    client_id: 'https://github.com/copilot/cli/client-metadata.json',
    name: 'GitHub Copilot CLI',
    redirect_uris: ['http://127.0.0.1:33418/'],
  },
  {
    client_id: 'https://grok.com/oauth/mcp-client.json',
    name: 'Grok',
    redirect_uris: ['https://grok.com/connectors-oauth-exchange-code/'],
  },
];
const BY_ID = new Map(KNOWN.map((client) => [client.client_id, client]));
/** ChatGPT has a document for each connector. */
const CHATGPT_CONNECTOR = /^https:\/\/chatgpt\.com\/oauth\/([\w-]{1,128})\/client\.json$/;

export function knownClient(client_id: string): KnownClient | null {
  const known = BY_ID.get(client_id);
  if (known !== undefined) return known;
  const connector = CHATGPT_CONNECTOR.exec(client_id)?.[1];
  if (connector === undefined) return null;
  return { client_id, name: 'ChatGPT', redirect_uris: [`https://chatgpt.com/connector/oauth/${connector}`] };
}
