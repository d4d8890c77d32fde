import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { type Model, scriptedModel, type ToolCall } from './model.ts';

/**
 * A client of the tests in this folder. The clients are a package of their own, because they take more than a gigabyte:
 * `bun install --frozen-lockfile --cwd test/clients` installs them, and the tests of one that is missing are skipped by name.
 * To add one: its package with `bun add --exact`, and an entry in `agents.ts` (a model calls the tool) or `callers.ts`.
 */
export interface Client {
  readonly name: string;
  /** Its package on npm, with its exact version in the package.json beside this file. */
  readonly package: string;
  /** Lists the server's tools and calls one, configured as a person would do it. */
  readonly run: (setup: Setup) => Promise<Seen>;
  /** Connects without the token that the server wants; answers with what the client prints. */
  readonly refused: (setup: Setup) => Promise<string>;
  /** What that has to contain, by default the server's answer to an attempt to register. */
  readonly refusal?: string;
}

export interface Seen {
  /** Names of the tools, as the client knows them. */
  readonly tools: readonly string[];
  /** The result of the call, as the client or its model got it. */
  readonly result: string;
}

/** What one run of a client gets: the server, an empty home folder, and a model for clients that need one. */
export interface Setup {
  readonly url: string;
  /** Empty: the client sends none. */
  readonly token: string;
  readonly call: ToolCall;
  /** Variables of every program of the run. */
  readonly env?: Readonly<Record<string, string>>;
  readonly home: string;
  readonly model: Model;
  /** Writes a file below the home folder. */
  readonly write: (path: string, content: string | object) => Promise<void>;
  /** Runs a program of the package in the folder `work` of the home; answers with all it printed. */
  readonly execute: (command: readonly string[], env?: Readonly<Record<string, string>>) => Promise<string>;
}

const PROGRAM_MS = 50_000;
const MODULES = join(import.meta.dir, 'node_modules');

export const isInstalled = (client: Pick<Client, 'package'>): boolean =>
  existsSync(join(MODULES, client.package, 'package.json'));

/** The command of an installed program; JavaScript runs in this Bun, because some clients want a newer Node than there may be. */
export function program(name: string): string[] {
  const path = join(MODULES, '.bin', name);
  return NATIVE.has(name) ? [path] : [process.execPath, '--bun', path];
}
const NATIVE = new Set(['claude', 'opencode']);

export const bearer = (token: string): Record<string, string> => (token === '' ? {} : { Authorization: `Bearer ${token}` });

/** Calls `work` with a new setup, and removes it afterwards. */
export async function withSetup<T>(
  at: Pick<Setup, 'url' | 'token' | 'call' | 'env'>,
  work: (setup: Setup) => Promise<T>,
): Promise<T> {
  const home = await mkdtemp(join(tmpdir(), 'sluice-client-'));
  const model = scriptedModel(at.call);
  await mkdir(join(home, 'work'));
  const write = async (path: string, content: string | object) => {
    await mkdir(dirname(join(home, path)), { recursive: true });
    await Bun.write(join(home, path), typeof content === 'string' ? content : JSON.stringify(content));
  };
  try {
    return await work({
      ...at,
      home,
      model,
      write,
      execute: (command, env = {}) => execute(home, command, { env: { ...at.env, ...env } }),
    });
  } finally {
    await model.stop();
    await rm(home, { recursive: true, force: true });
  }
}

/** All of the environment that a client gets. The proxy that does not exist keeps requests to other machines from waiting. */
export const environment = (home: string): Record<string, string> => ({
  PATH: process.env['PATH'] ?? '',
  HOME: home,
  NO_COLOR: '1',
  HTTP_PROXY: 'http://127.0.0.1:9',
  HTTPS_PROXY: 'http://127.0.0.1:9',
  NO_PROXY: '127.0.0.1,localhost',
});

interface Run {
  readonly env?: Readonly<Record<string, string>>;
  /** It gets a terminal: some programs ask nobody to sign in without one. */
  readonly terminal?: boolean;
  /** Called once, with the address at which it asks a person to sign in. */
  readonly onSignIn?: (address: string, stop: () => void) => void;
}

/** Runs a program to its end; answers with all it printed. */
export async function execute(
  home: string,
  command: readonly string[],
  { env = {}, terminal, onSignIn }: Run = {},
): Promise<string> {
  let printed = '';
  let asked = false;
  const hear = (chunk: Uint8Array): void => {
    printed += Buffer.from(chunk).toString();
    const address = SIGN_IN.exec(printed)?.[0];
    if (address === undefined || asked || onSignIn === undefined) return;
    asked = true;
    onSignIn(address, () => child.kill('SIGKILL'));
  };
  const options = {
    cwd: join(home, 'work'),
    env: { ...environment(home), ...env },
    timeout: PROGRAM_MS,
    killSignal: 'SIGKILL',
  } as const;
  const child = terminal
    ? Bun.spawn([...command], { ...options, terminal: { cols: 2_000, rows: 50, data: (_, chunk) => hear(chunk) } })
    : Bun.spawn([...command], { ...options, stdin: 'ignore', stdout: 'pipe', stderr: 'pipe' });
  const streams = [child.stdout, child.stderr].filter((stream) => stream instanceof ReadableStream);
  await Promise.all([
    child.exited,
    ...streams.map(async (stream) => {
      for await (const chunk of stream) hear(chunk);
    }),
  ]);
  return printed;
}

/** An address of the authorization endpoint, complete: something that ends it follows. */
export const SIGN_IN = /https?:\/\/[\w.:-]+\/oauth\/authorize\?[\w.%&=+-]+(?=[^\w.%&=+-])/;
