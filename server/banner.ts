import type { App } from '#core/app.ts';
import { activeSnapshot, contentOf } from '#core/services/deployment.ts';
import { exposureOf } from '#core/services/exposure.ts';
import { mcpUrl } from '#core/services/server.ts';

const CALL = {
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name: 'search_products', arguments: { text: 'l', limit: 3 } },
};

/** What a person needs after the start: where the UI is, where the MCP server is, and what to paste. */
export async function printBanner(app: App, port: number, write: (text: string) => void): Promise<void> {
  const url = app.env.SVC_PUBLIC_URL ?? `http://127.0.0.1:${port}`;
  const active = await activeSnapshot(app);
  const lines = ['', `  Admin UI    ${url}`, `  For agents  ${url}/agent-mcp/  (with a token of POST /api/v1/agent-tokens)`];
  if (active !== null) {
    const { server, tools } = contentOf(active);
    const mcp = await mcpUrl(app, server.port);
    lines.push(`  MCP server  ${mcp}  (${tools.length} tools, snapshot ${active.version})`, '', '  Connect a client:');
    lines.push(`    claude mcp add --transport http sluice ${mcp}`);
    const exposed = await exposureOf(app, server);
    if (exposed !== null) lines.push('', `  Warning: ${exposed}`);
    if (tools.some(({ name }) => name === CALL.params.name)) {
      lines.push('', '  Call a tool:');
      lines.push(`    curl -s ${mcp} -H 'content-type: application/json' -H 'accept: application/json, text/event-stream' \\`);
      lines.push(`      -d '${JSON.stringify(CALL)}'`);
    }
  }
  write(`${lines.join('\n')}\n\n`);
}
