import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { describe, expect, test } from 'bun:test';
import { type Pebble, pebble_is_here, startPebble } from '#test/support/pebble.ts';
import { freePort } from '#test/support/free-port.ts';
import { type Programs, removeFolder, startPrograms } from '#test/support/programs.ts';
import { httpsClient } from './client.ts';
import { until } from '#test/support/until.ts';

const UI = 'ui.example.com';
const MCP = 'mcp.example.com';

/** Whoever has it in NODE_EXTRA_CA_CERTS trusts pebble itself. */
async function environment(pebble: Pebble, https_port: number): Promise<Record<string, string>> {
  return {
    SVC_SSL_PORT: String(https_port),
    SVC_EXTERNAL_HTTPS_PORT: String(https_port),
    SVC_ACME_DIRECTORY_URL: pebble.directory,
    SVC_MCP_PUBLIC_URL: `https://${MCP}:${https_port}`,
    NODE_EXTRA_CA_CERTS: pebble.authority_file,
  };
}

describe.skipIf(!pebble_is_here)('the programs as they are started', () => {
  test('speak HTTPS for UI and MCP, and again after a restart without the authority', async () => {
    const https_port = freePort();
    const port = freePort();
    const pebble = await startPebble(port);
    let programs: Programs | null = null;
    const printed = () => programs?.output() ?? '';
    try {
      const env = await environment(pebble, https_port);
      programs = await startPrograms({ env: env, port });
      await programs.signIn();
      const settings = { ssl_enabled: true, ui_domain: UI, mcp_domain: MCP, mcp_proxy: true, acme_email: 'ada@example.com' };
      await programs.api('PATCH', '/server/config', settings);
      const issued = await programs.api('POST', '/server/ssl/issue?wait=true', {});
      expect(issued).toMatchObject({ status: 'issued', domains: [UI, MCP] });
      const root = await pebble.root();
      const client = httpsClient(
        () => https_port,
        () => root,
      );
      await until(async () => (await client.ask(UI, '/api/health')).ok, printed);
      expect((await client.ask(UI, '/')).headers.get('content-type')).toContain('text/html');
      expect(await toolsOf(client.ask)).toContain('search_products');
      const about = (await (await client.ask(UI, '/.well-known/oauth-protected-resource/agent-mcp')).json()) as {
        resource: string;
      };
      expect(about.resource).toContain('/agent-mcp');
      const { serial } = await client.shown(UI);
      expect(printed()).toContain('certificate issued');
      expect(printed()).not.toContain('PRIVATE KEY');

      await programs.stop();
      await pebble.pause();
      programs = await startPrograms({ env: env, again: programs });
      await until(async () => (await client.shown(MCP)).serial === serial, printed);
      await until(async () => (await toolsOf(client.ask)).includes('search_products'), printed);

      // An open stream does not keep the programs from ending in time.
      await programs.signIn();
      const stream = await client.ask(MCP, '/mcp', { headers: { accept: 'text/event-stream' } });
      const began = performance.now();
      await programs.stop();
      expect(performance.now() - began).toBeLessThan(10_000);
      await stream.body?.cancel().catch(() => undefined);
    } finally {
      await programs?.stop('SIGKILL');
      if (programs !== null) removeFolder(programs);
      await pebble.stop();
    }
  }, 180_000);
});

/** The names of the tools, as an official client hears them over HTTPS. */
async function toolsOf(ask: (name: string, path: string, init?: RequestInit) => Promise<Response>): Promise<string[]> {
  const client = new Client({ name: 'test', version: '1' });
  const transport = new StreamableHTTPClientTransport(new URL(`https://${MCP}/mcp`), {
    fetch: (url, init) => ask(MCP, new URL(url).pathname, { ...init, headers: Object.fromEntries(new Headers(init?.headers)) }),
  });
  await client.connect(transport);
  const { tools } = await client.listTools();
  await client.close();
  return tools.map(({ name }) => name);
}
