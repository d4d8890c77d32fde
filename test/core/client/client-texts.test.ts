import { describe, expect, test } from 'bun:test';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { agentTexts, clientTexts, type Endpoint } from '#core/client/client-texts.ts';
import { placeholdersIn } from '#core/lib/text/command-text.ts';
import { AuthType } from '#core/contract/settings/setting-values.ts';
import { parseEnv } from '#core/process/env.ts';
import { stdioCommand } from '#core/deploy/connect.ts';

const KEY = 'a-key-0123456789-0123456789-0123456789';
const endpoint = (more: Partial<Endpoint> = {}): Endpoint => ({
  server_name: "Ada's Shop",
  url: 'https://mcp.example.com/mcp',
  auth_type: 'none',
  transport: 'http',
  stdio: { command: '/opt/bun', args: ['/opt/sluice/mcp-host/stdio.ts'], env: { SVC_DATA_DIR: '/data' }, secrets: [] },
  ...more,
});
const textOf = (id: string, more: Partial<Endpoint> = {}): string =>
  clientTexts(endpoint(more)).find((text) => text.id === id)?.text ?? '';
const argsOf = (more: Partial<Endpoint>): string[] =>
  (JSON.parse(textOf('claude-desktop', more)) as { mcpServers: { 'ada-s-shop': { args: string[] } } }).mcpServers['ada-s-shop']
    .args;

describe('the texts that connect a client', () => {
  test('hold the address, and a token exactly where the server asks for one', () => {
    for (const auth_type of AuthType.options) {
      for (const { id, text } of clientTexts(endpoint({ auth_type }))) {
        const bare = ['stdio', 'chatgpt', 'claude-ai'].includes(id);
        // With sign-in only a shell needs one.
        const signs_in = auth_type === 'oauth' && id !== 'curl';
        const expected = !bare && !signs_in && auth_type !== 'none';
        expect([id, auth_type, text.includes('Bearer YOUR_TOKEN')]).toEqual([id, auth_type, expected]);
        if (id !== 'stdio') expect(text).toContain('https://mcp.example.com/mcp');
        if (text.startsWith('{')) expect(JSON.parse(text)).toBeObject();
      }
    }
    const mine = { auth_type: 'bearer', token: "it's" } as const;
    expect(textOf('claude-code', mine)).toBe(
      `claude mcp add --transport http ada-s-shop https://mcp.example.com/mcp --header 'Authorization: Bearer it'\\''s'`,
    );
    const texts = clientTexts(endpoint(mine));
    const cursor = new URL(texts.find(({ id }) => id === 'cursor')?.link ?? '');
    const headers = { Authorization: "Bearer it's" };
    expect(JSON.parse(atob(cursor.searchParams.get('config') ?? ''))).toEqual({ url: endpoint().url, headers });
    const code = texts.find(({ id }) => id === 'vscode')?.link ?? '';
    expect(JSON.parse(decodeURIComponent(code.split('?')[1] ?? ''))).toMatchObject({ name: 'ada-s-shop', type: 'http', headers });
    const studio = new URL(texts.find(({ id }) => id === 'lm-studio')?.link ?? '');
    expect(studio.searchParams.get('name')).toBe('ada-s-shop');
    expect(JSON.parse(atob(studio.searchParams.get('config') ?? ''))).toEqual({ url: endpoint().url, headers });
    const goose = new URL(texts.find(({ id }) => id === 'goose')?.link ?? '');
    expect([goose.protocol, goose.host, Object.fromEntries(goose.searchParams)]).toEqual([
      'goose:',
      'extension',
      {
        url: endpoint().url,
        type: 'streamable_http',
        id: 'ada-s-shop',
        name: 'ada-s-shop',
        description: "Ada's Shop",
        header: "Authorization=Bearer it's",
      },
    ]);
    const claude = new URL(clientTexts(endpoint()).find(({ id }) => id === 'claude-ai')?.link ?? '');
    expect([`${claude.origin}${claude.pathname}`, Object.fromEntries(claude.searchParams)]).toEqual([
      'https://claude.ai/customize/connectors',
      { modal: 'add-custom-connector', connectorName: 'ada-s-shop', connectorUrl: endpoint().url },
    ]);
    expect(agentTexts('https://s.example.com')[0]?.text).toContain('https://s.example.com/agent-mcp/mcp');
  });

  test('register tools and administration under two names, so that one client can have both', () => {
    const served = endpoint({ server_name: 'Sluice' });
    const named = (texts: readonly { id: string; text: string }[]) =>
      texts.flatMap(({ text }) => /transport http (\S+)|"mcpServers": \{\s+"([^"]+)"/.exec(text)?.slice(1) ?? []).filter(Boolean);
    expect(new Set(named(clientTexts(served)))).toEqual(new Set(['sluice']));
    expect(new Set(named(agentTexts('https://s.example.com')))).toEqual(new Set(['sluice-admin']));
  });

  test('of a toolset hold its address, its name, and for stdio its option', () => {
    const url = 'https://mcp.example.com/mcp/sales';
    expect(textOf('claude-code', { url, toolset: 'sales' })).toContain(`ada-s-shop-sales ${url}`);
    const { mcpServers } = JSON.parse(textOf('stdio', { url, toolset: 'sales' })) as {
      mcpServers: Record<string, { args: string[] }>;
    };
    expect(mcpServers['ada-s-shop-sales']?.args).toEqual([...(endpoint().stdio?.args ?? []), '--toolset', 'sales']);
  });

  test('leave stdio out for people who are not told its command', () => {
    const { stdio: _, ...reached } = endpoint();
    expect(clientTexts(reached).map(({ id }) => id)).not.toContain('stdio');
    expect(clientTexts({ ...reached, transport: 'stdio' })).toEqual([]);
  });

  test('offer to open a client only once the token is in the link', () => {
    const links = (more: Partial<Endpoint>) => clientTexts(endpoint(more)).flatMap(({ link = [] }) => link).length;
    expect([links({}), links({ auth_type: 'bearer' }), links({ auth_type: 'bearer', token: 'mine' })]).toEqual([5, 0, 4]);
  });

  test('name the placeholders that somebody has to replace', () => {
    expect(placeholdersIn(textOf('curl', { auth_type: 'bearer' }))).toEqual(['YOUR_TOKEN']);
    expect(placeholdersIn(textOf('curl', { auth_type: 'bearer', token: 'mine' }))).toEqual([]);
    const [, , , client] = agentTexts('https://s.example.com');
    expect(placeholdersIn(client?.text ?? '')).toEqual(['CLIENT_ID', 'CLIENT_SECRET']);
    const filled = agentTexts('https://s.example.com', { client_id: 'me', client_secret: 'mine' });
    expect(filled[3]?.text).toContain("-u 'me:mine'");
  });

  test('are valid for a shell', async () => {
    const script = `curl() { printf '%s\\n' "$@"; }\n${textOf('curl', { auth_type: 'bearer', token: "it's" })}`;
    const shell = Bun.spawn(['sh', '-c', script], { stdout: 'pipe' });
    const words = (await new Response(shell.stdout).text()).split('\n');
    expect(await shell.exited).toBe(0);
    expect(words).toContain("authorization: Bearer it's");
    expect(JSON.parse(words.find((word) => word.startsWith('{')) ?? '')).toMatchObject({ method: 'tools/list' });
  });

  test('allow mcp-remote plain HTTP only beyond this machine, where it would refuse it', () => {
    expect(argsOf({ url: 'http://shop.internal:8080/mcp' })).toContain('--allow-http');
    for (const url of ['http://127.0.0.1:8080/mcp', 'http://localhost:8080/mcp', 'https://shop.internal/mcp'])
      expect(argsOf({ url })).not.toContain('--allow-http');
  });

  test.each(['chatgpt', 'claude-ai'])('offer %s only where it can authenticate', (id) => {
    const offered = AuthType.options.filter((auth_type) => textOf(id, { auth_type }) !== '');
    expect(offered).toEqual(['none', 'oauth_introspection', 'jwt', 'oauth']);
  });

  test('are those of standard input and output alone when the network endpoint is closed', () => {
    expect(clientTexts(endpoint({ transport: 'stdio' })).map(({ id }) => id)).toEqual(['stdio']);
  });
});

describe('the stdio command', () => {
  test('names what differs from the defaults, and secrets that the program cannot find, never their values', () => {
    const { env } = parseEnv('server', {
      SVC_KV: 'memory',
      SVC_ENCRYPTION_KEY: KEY,
      SVC_JWT_SECRET: KEY,
      SVC_AGENT_SERVICE_TOKEN: KEY,
      SVC_DATA_DIR: '/var/lib/sluice',
      SVC_SQLITE_DIR: '/srv/databases',
      SVC_PORT: '4000',
    });
    const command = stdioCommand(env);
    expect(command.secrets).toEqual(['SVC_ENCRYPTION_KEY', 'SVC_AGENT_SERVICE_TOKEN']);
    expect(command.env).toEqual({
      SVC_DATA_DIR: '/var/lib/sluice',
      SVC_SQLITE_DIR: '/srv/databases',
      SVC_SERVER_URL: 'http://127.0.0.1:4000',
    });
    expect(JSON.stringify(command)).not.toContain(KEY);
    const { about, text } = clientTexts(endpoint({ transport: 'stdio', stdio: command }))[0] ?? { about: '', text: '' };
    expect(about).toContain('SVC_ENCRYPTION_KEY and SVC_AGENT_SERVICE_TOKEN');
    expect(JSON.parse(text)).toMatchObject({ mcpServers: { 'ada-s-shop': { env: { SVC_ENCRYPTION_KEY: '' } } } });
  });

  test('names the files of secrets, and leaves nothing to fill in', () => {
    const folder = mkdtempSync(join(tmpdir(), 'sluice-secrets-'));
    const at = (name: string) => join(folder, name);
    for (const name of ['key', 'token']) writeFileSync(at(name), `${KEY}\n`);
    const { env } = parseEnv('server', {
      SVC_KV: 'memory',
      SVC_ENCRYPTION_KEY_FILE: relative(process.cwd(), at('key')),
      SVC_JWT_SECRET: KEY,
      SVC_AGENT_SERVICE_TOKEN_FILE: at('token'),
      SVC_DATA_DIR: '/var/lib/sluice',
    });
    const command = stdioCommand(env);
    expect(command.secrets).toEqual([]);
    expect(command.env).toEqual({
      SVC_DATA_DIR: '/var/lib/sluice',
      SVC_ENCRYPTION_KEY_FILE: at('key'),
      SVC_AGENT_SERVICE_TOKEN_FILE: at('token'),
    });
    rmSync(folder, { recursive: true });
    const { text } = clientTexts(endpoint({ transport: 'stdio', stdio: command }))[0] ?? { text: '' };
    expect(JSON.parse(text)).toMatchObject({ mcpServers: { 'ada-s-shop': { env: command.env } } });
    expect(text).not.toContain(KEY);
  });
});
