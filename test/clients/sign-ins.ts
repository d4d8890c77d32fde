import { connectProgram } from '../support/mcp-clients.ts';
import { freePort } from '../support/free-port.ts';
import { untilWithin } from '../support/until.ts';
import { claudeCommand, claudeSettings, codexCommand, codexSettings } from './agents.ts';
import { namesIn } from './callers.ts';
import { type Client, environment, execute, program, type Setup, SIGN_IN } from './client.ts';

/** Clients that sign in by OAuth, with the browser that a person has at hand. */
export interface SigningIn extends Pick<Client, 'name' | 'package'> {
  /** From an answer 401 to a working client; `person` opens the address that it prints. */
  readonly signIn: (setup: Setup, person: Person) => Promise<SignedIn>;
}

export type Person = (address: string) => Promise<void>;

export interface SignedIn {
  /** Calls the tool with the tokens that it keeps; answers with what it got. Nobody is there to sign in. */
  call(): Promise<string>;
  /** The same after somebody ended the grant; answers with what it prints to get a person to sign in again. */
  refused(): Promise<string>;
  close(): Promise<void>;
}

const nothing = (): Promise<void> => Promise.resolve();
const WITHIN_MS = 40_000;

/** Runs a program that asks a person to sign in, and goes on when they have. */
async function withPerson(setup: Setup, command: readonly string[], person: Person, run: Parameters<typeof execute>[2]) {
  let visit: Promise<void> | undefined;
  const printed = await execute(setup.home, command, {
    ...run,
    env: { ...setup.env, ...run?.env },
    onSignIn: (address, stop) => {
      visit = person(address);
      visit.catch(stop);
    },
  });
  if (visit === undefined) throw new Error(`The client asked nobody to sign in, but printed:\n${printed}`);
  await visit;
  return printed;
}

/** Runs a program until it asks for a person, who is not there. */
const withoutPerson = ({ env, home }: Setup, command: readonly string[], more: Readonly<Record<string, string>> = {}) =>
  execute(home, command, { env: { ...env, ...more }, onSignIn: (_, stop) => stop() });

const mcpRemote: SigningIn = {
  name: 'mcp-remote',
  package: 'mcp-remote',
  /** One proxy for all of it, as another client would keep it. */
  async signIn({ call, env, home, url }, person) {
    let printed = '';
    let visit: Promise<void> | undefined;
    const hear = (chunk: Uint8Array): void => {
      printed += Buffer.from(chunk).toString();
      const address = SIGN_IN.exec(printed)?.[0];
      if (address !== undefined) visit ??= person(address);
    };
    const [command, ...args] = [...program('mcp-remote'), url];
    const client = await connectProgram(
      { command, args, env: { ...environment(home), ...env }, cwd: home, stderr: 'pipe' },
      hear,
    );
    await visit;
    const ask = async () => JSON.stringify(await client.call(call.name, call.arguments));
    return {
      call: ask,
      async refused() {
        printed = '';
        const answered = ask().catch(String);
        await untilWithin(
          WITHIN_MS,
          () => SIGN_IN.test(printed),
          () => printed,
        );
        await client.close();
        if ((await answered).includes('Candle')) throw new Error('The call was answered.');
        return printed;
      },
      close: () => client.close(),
    };
  },
};

const inspector: SigningIn = {
  name: 'Inspector',
  package: '@modelcontextprotocol/inspector',
  async signIn(setup, person) {
    const { call, url } = setup;
    // Its own port is one for all Inspectors of a machine.
    const callback = `http://127.0.0.1:${freePort()}/oauth/callback`;
    const command = [...program('inspector'), '--cli', url, '--transport', 'http', '--callback-url', callback];
    const pairs = Object.entries(call.arguments).map(([name, value]) => `${name}=${JSON.stringify(value)}`);
    const calling = [...command, '--method', 'tools/call', '--tool-name', call.name, '--tool-arg', ...pairs];
    const keeping = { MCP_INSPECTOR_SECRET_STORE: 'file' };
    const browsing = { ...keeping, MCP_AUTO_OPEN_ENABLED: 'true' };
    const listed = await withPerson(setup, [...command, '--method', 'tools/list'], person, { env: browsing });
    if (!namesIn(listed).includes(call.name)) throw new Error(`The Inspector did not list the tool, but:\n${listed}`);
    return {
      call: () => setup.execute([...calling, '--stored-auth-only'], keeping),
      refused: () => withoutPerson(setup, calling, browsing),
      close: nothing,
    };
  },
};
const aiSdk: SigningIn = {
  name: 'AI SDK',
  package: '@ai-sdk/mcp',
  async signIn(setup, person) {
    const { call, home, url } = setup;
    const path = `${import.meta.dir}/libraries/ai-sdk-sign-in.mjs`;
    const command = [process.execPath, path, url, `${home}/oauth.json`, call.name, JSON.stringify(call.arguments)];
    const called = await withPerson(setup, command, person, {});
    if (!called.includes('Candle')) throw new Error(`The AI SDK did not call the tool, but printed:\n${called}`);
    return { call: () => setup.execute(command), refused: () => withoutPerson(setup, command), close: nothing };
  },
};

const claudeCode: SigningIn = {
  name: 'Claude Code',
  package: '@anthropic-ai/claude-code',
  /** It prints the address on a terminal only. */
  async signIn(setup, person) {
    const env = claudeSettings(setup);
    const mcp = (...args: string[]) => [...program('claude'), 'mcp', ...args];
    await setup.execute(mcp('add', '--transport', 'http', 'shop', setup.url), env);
    const printed = await withPerson(setup, mcp('login', 'shop'), person, { env, terminal: true });
    if (!printed.includes('Authenticated with "shop"')) throw new Error(`Claude Code did not sign in, but printed:\n${printed}`);
    const ask = async () => {
      const before = setup.model.results.length;
      await setup.execute(claudeCommand, env);
      return setup.model.results.slice(before).join('\n');
    };
    return {
      call: ask,
      async refused() {
        const results = await ask();
        if (results.includes('Candle')) throw new Error(`The tool was called: ${results}`);
        return setup.execute(mcp('list'), env);
      },
      close: nothing,
    };
  },
};

const codexClient: SigningIn = {
  name: 'Codex',
  package: '@openai/codex',
  async signIn(setup, person) {
    const env = await codexSettings(setup, 'mcp_oauth_credentials_store = "file"');
    const login = [...program('codex'), 'mcp', 'login', 'shop'];
    const printed = await withPerson(setup, login, person, { env });
    if (!printed.includes('Successfully logged in')) throw new Error(`Codex did not sign in, but printed:\n${printed}`);
    const ask = async () => {
      const before = setup.model.results.length;
      const said = await setup.execute(codexCommand, env);
      return { results: setup.model.results.slice(before).join('\n'), said };
    };
    return {
      call: async () => (await ask()).results,
      async refused() {
        const { results, said } = await ask();
        if (results.includes('Candle')) throw new Error(`The tool was called: ${results}`);
        return said;
      },
      close: nothing,
    };
  },
};

export const SIGNING_IN: readonly SigningIn[] = [mcpRemote, inspector, aiSdk, claudeCode, codexClient];
