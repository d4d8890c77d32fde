import type { ControlPlane } from '#core/control-plane/control-plane.ts';
import { clientTexts, curlText } from '#core/client/client-texts.ts';
import { placeholdersIn } from '#core/lib/text/command-text.ts';
import { activeSnapshot } from '#core/versions/deployment.ts';
import { exposureOf } from '#core/deploy/exposure.ts';
import { mcpUrl } from '#core/settings/public-urls.ts';
import { stdioCommand } from '#core/deploy/connect.ts';
import { leavesOf } from '#snapshots/format/order.ts';

const CALL = {
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name: 'search_products', arguments: { text: 'l', limit: 3 } },
};

/** Prints what a person needs after the start: the URLs of the UI and the MCP server, and commands to paste. */
export async function printBanner(app: ControlPlane, port: number, write: (text: string) => void): Promise<void> {
  const url = app.env.SVC_PUBLIC_URL ?? `http://127.0.0.1:${port}`;
  const active = await activeSnapshot(app);
  const lines = ['', `  Admin UI    ${url}`, `  For agents  ${url}/agent-mcp/  (create a token under Connect, Agents)`];
  if (active !== null) {
    const { server, counts } = active;
    const tools = leavesOf(active.tree.leaves, 'tool');
    const mcp = await mcpUrl(app, server.port);
    const is_remote = server.transport !== 'stdio';
    const endpoint = { ...server, url: mcp, stdio: stdioCommand(app.env) };
    const [first] = clientTexts(endpoint);
    lines.push(`  MCP server  ${is_remote ? mcp : 'stdio'}  (${counts.tools} tools, snapshot ${active.version})`, '');
    const text = first?.text ?? '';
    const [placeholder] = placeholdersIn(text);
    lines.push(
      placeholder === undefined ? '  Connect a client:' : `  Connect a client (replace ${placeholder} with an access token):`,
      indented(text),
    );
    const exposed = await exposureOf(app, server);
    if (exposed !== null) lines.push('', `  Warning: ${exposed}`);
    if (is_remote && tools.some(({ name }) => name === CALL.params.name)) {
      lines.push('', '  Call a tool:', indented(curlText(endpoint, CALL)));
    }
  }
  write(`${lines.join('\n')}\n\n`);
}

const indented = (text: string): string => text.replaceAll(/^/gm, '    ');
