import { bearer, type Client, program, type Seen, type Setup } from './client.ts';
import { SAID } from './model.ts';

/** Clients that let a model call tools: what the scripted model was offered and got back is what the client saw. */
const QUESTION = 'Which products are there?';

/** What the model saw; throws when the agent did not print the model's answer. */
function seenBy({ model }: Setup, printed: string): Seen {
  if (!printed.includes(SAID)) throw new Error(`The agent did not print the model's answer, but:\n${printed}`);
  return { tools: [...model.offered.keys()], result: model.results.join('\n') };
}

const claudeCode: Client = {
  name: 'Claude Code',
  package: '@anthropic-ai/claude-code',
  async run(setup) {
    await setup.write('mcp.json', { mcpServers: { shop: { type: 'http', url: setup.url, headers: bearer(setup.token) } } });
    const servers = ['--strict-mcp-config', '--mcp-config', `${setup.home}/mcp.json`];
    // Without its own tools and its tool search, it offers the server's tools in the first request.
    const command = [...claudeCommand, ...servers];
    return seenBy(setup, await setup.execute(command, claudeSettings(setup)));
  },
  async refused(setup) {
    await setup.execute([...program('claude'), 'mcp', 'add', '--transport', 'http', 'shop', setup.url], claudeSettings(setup));
    return setup.execute([...program('claude'), 'mcp', 'list'], claudeSettings(setup));
  },
};
export const claudeCommand = [...program('claude'), '-p', QUESTION, '--tools', '', '--allowedTools', 'mcp__shop'];
export const claudeSettings = ({ home, model }: Setup) => ({
  CLAUDE_CONFIG_DIR: home,
  ANTHROPIC_BASE_URL: model.url,
  ANTHROPIC_API_KEY: 'none',
  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
  ENABLE_TOOL_SEARCH: 'false',
});

export const codex: Client = {
  name: 'Codex',
  package: '@openai/codex',
  async run(setup) {
    const env = await codexSettings(setup);
    return seenBy(setup, await setup.execute(codexCommand, env));
  },
  async refused(setup) {
    const env = await codexSettings(setup);
    return setup.execute([...program('codex'), 'mcp', 'login', 'shop'], env);
  },
};
const codexFlags = ['--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox'];
export const codexCommand = [...program('codex'), 'exec', ...codexFlags, QUESTION];
/** @param more settings beside those that every test wants. */
export async function codexSettings(setup: Setup, ...more: readonly string[]): Promise<Record<string, string>> {
  const { home, model, token, url, write } = setup;
  const lines = [
    ...more,
    'model = "scripted"',
    'model_provider = "scripted"',
    'check_for_update_on_startup = false',
    '[analytics]',
    'enabled = false',
    '[model_providers.scripted]',
    'name = "scripted"',
    `base_url = "${model.url}/v1"`,
    'wire_api = "responses"',
    '[mcp_servers.shop]',
    `url = "${url}"`,
    ...(token === '' ? [] : ['bearer_token_env_var = "SHOP_TOKEN"']),
  ];
  await write('config.toml', lines.join('\n'));
  return { CODEX_HOME: home, SHOP_TOKEN: token };
}

const opencode: Client = {
  name: 'opencode',
  package: 'opencode-ai',
  async run(setup) {
    const env = await opencodeSettings(setup);
    return seenBy(setup, await setup.execute([...program('opencode'), 'run', QUESTION], env));
  },
  async refused(setup) {
    const env = await opencodeSettings(setup);
    return setup.execute([...program('opencode'), 'mcp', 'list'], env);
  },
};
async function opencodeSettings({ model, token, url, write }: Setup): Promise<Record<string, string>> {
  await write('work/opencode.json', {
    autoupdate: false,
    share: 'disabled',
    model: 'scripted/model',
    small_model: 'scripted/model',
    provider: {
      scripted: {
        npm: '@ai-sdk/openai-compatible',
        options: { baseURL: `${model.url}/v1`, apiKey: 'none' },
        models: { model: { tool_call: true } },
      },
    },
    mcp: { shop: { type: 'remote', url, headers: bearer(token) } },
  });
  const off = ['AUTOUPDATE', 'MODELS_FETCH', 'LSP_DOWNLOAD', 'DEFAULT_PLUGINS'];
  return Object.fromEntries(off.map((name) => [`OPENCODE_DISABLE_${name}`, '1']));
}

const geminiCli: Client = {
  name: 'Gemini CLI',
  package: '@google/gemini-cli',
  refusal: "MCP server 'shop' requires authentication",
  run: async (setup) => seenBy(setup, await gemini(setup)),
  refused: (setup) => gemini(setup, '--debug'),
};
async function gemini(setup: Setup, ...flags: string[]): Promise<string> {
  const { model, token, url, write } = setup;
  await write('.gemini/settings.json', {
    general: { enableAutoUpdate: false },
    privacy: { usageStatisticsEnabled: false },
    security: { auth: { selectedType: 'gemini-api-key' } },
    mcpServers: { shop: { httpUrl: url, trust: true, headers: bearer(token) } },
  });
  const command = [...program('gemini'), '--prompt', QUESTION, '--yolo', '--skip-trust', '--model', 'gemini-2.5-flash', ...flags];
  return setup.execute(command, { GEMINI_API_KEY: 'none', GOOGLE_GEMINI_BASE_URL: model.url });
}

/** A library, in a small program that asks the scripted model. */
function library(name: string, npm_package: string, file: string): Client {
  const ask = ({ execute, model, token, url }: Setup): Promise<string> => {
    const path = `${import.meta.dir}/libraries/${file}`;
    return execute([process.execPath, '--bun', path, url, JSON.stringify(bearer(token)), `${model.url}/v1`, QUESTION]);
  };
  const refusal = 'accepts no calls without a valid access token';
  return { name, package: npm_package, refusal, refused: ask, run: async (setup) => seenBy(setup, await ask(setup)) };
}

export const AGENTS: readonly Client[] = [
  claudeCode,
  codex,
  opencode,
  geminiCli,
  library('AI SDK', '@ai-sdk/mcp', 'ai-sdk.mjs'),
  library('LangChain', '@langchain/mcp-adapters', 'langchain.mjs'),
  library('Mastra', '@mastra/mcp', 'mastra.mjs'),
  library('OpenAI Agents', '@openai/agents', 'openai-agents.mjs'),
];
