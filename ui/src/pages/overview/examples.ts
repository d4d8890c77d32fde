import { clientName, shellQuote } from '#ui/src/kernel/words.ts';

export interface Example {
  readonly id: string;
  readonly label: string;
  readonly about: string;
  readonly text: string;
}

/** How a client is connected to the deployed server; texts to paste. */
export function clientExamples(server_name: string, mcp_url: string): readonly Example[] {
  const name = clientName(server_name);
  return [
    {
      id: 'claude',
      label: 'Claude Code',
      about: 'Run this once in a terminal, then ask Claude what the server can do.',
      text: `claude mcp add --transport http ${name} ${mcp_url}`,
    },
    {
      id: 'cursor',
      label: 'Cursor',
      about: 'Put this into ~/.cursor/mcp.json, or into .cursor/mcp.json of one project.',
      text: JSON.stringify({ mcpServers: { [name]: { url: mcp_url } } }, null, 2),
    },
    {
      id: 'vscode',
      label: 'VS Code',
      about: 'Put this into .vscode/mcp.json of a workspace.',
      text: JSON.stringify({ servers: { [name]: { type: 'http', url: mcp_url } } }, null, 2),
    },
    { id: 'curl', label: 'curl', about: 'Lists the tools without any client.', text: curlToolsList(mcp_url) },
  ];
}

const LIST_TOOLS = shellQuote(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }));

const curlToolsList = (mcp_url: string): string =>
  lines(
    `curl ${mcp_url}`,
    "-H 'content-type: application/json'",
    "-H 'accept: application/json, text/event-stream'",
    `-d ${LIST_TOOLS}`,
  );

const lines = (...parts: string[]): string => parts.join(' \\\n  ');
