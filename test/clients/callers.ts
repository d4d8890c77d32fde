import { connectProgram } from '../support/mcp-clients.ts';
import { bearer, type Client, environment, program, type Setup } from './client.ts';

/** Clients without a model: two command lines, and a proxy that another client starts. */
export const mcporter: Client = {
  name: 'mcporter',
  package: 'mcporter',
  async run(setup) {
    const listed = await mcporterTo(setup, 'list', setup.url, '--json');
    const result = await mcporterTo(
      setup,
      'call',
      `${setup.url}.${setup.call.name}`,
      '--args',
      JSON.stringify(setup.call.arguments),
    );
    return { tools: namesIn(listed), result };
  },
  refused: (setup) => mcporterTo(setup, 'call', `${setup.url}.${setup.call.name}`),
};
export function mcporterTo(setup: Setup, ...args: string[]): Promise<string> {
  const headers = Object.entries(bearer(setup.token)).flatMap(([name, value]) => ['--header', `${name}=${value}`]);
  return setup.execute([...program('mcporter'), ...args, '--allow-http', ...headers]);
}

export const inspector: Client = {
  name: 'Inspector',
  package: '@modelcontextprotocol/inspector',
  async run(setup) {
    const pairs = Object.entries(setup.call.arguments).map(([name, value]) => `${name}=${JSON.stringify(value)}`);
    const listed = await inspectorTo(setup, '--method', 'tools/list');
    const called = ['--method', 'tools/call', '--tool-name', setup.call.name, '--tool-arg', ...pairs];
    return { tools: namesIn(listed), result: await inspectorTo(setup, ...called) };
  },
  refused: (setup) => inspectorTo(setup, '--method', 'tools/list'),
};
export function inspectorTo(setup: Setup, ...args: string[]): Promise<string> {
  const headers = Object.entries(bearer(setup.token)).flatMap(([name, value]) => ['--header', `${name}: ${value}`]);
  // Without a terminal it asks the server how to sign in only when it may open a browser.
  const env = { MCP_AUTO_OPEN_ENABLED: 'true', MCP_INSPECTOR_SECRET_STORE: 'memory' };
  return setup.execute([...program('inspector'), '--cli', setup.url, '--transport', 'http', ...args, ...headers], env);
}

const mcpRemote: Client = {
  name: 'mcp-remote',
  package: 'mcp-remote',
  async run({ call, home, token, url }) {
    const headers = token === '' ? [] : ['--header', `Authorization: Bearer ${token}`];
    const [command = '', ...args] = [...program('mcp-remote'), url, ...headers];
    const client = await connectProgram({ command, args, env: environment(home), cwd: home, stderr: 'ignore' });
    const tools = await client.tools();
    const result = await client.call(call.name, call.arguments);
    await client.close();
    return { tools, result: JSON.stringify(result) };
  },
  refused: (setup) => setup.execute([...program('mcp-remote'), setup.url]),
};

export const namesIn = (listed: string): string[] => [...listed.matchAll(/^\s*"name": "(\w+)"/gm)].map(([, name = '']) => name);

export const CALLERS: readonly Client[] = [mcporter, inspector, mcpRemote];
