import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from './free-port.ts';
import { untilWithin } from './until.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));

/** Whether anybody answers there, whatever it is. */
export const isAnswered = (url: string): Promise<boolean> =>
  fetch(url).then(
    () => true,
    () => false,
  );

/** An installation that runs: server, host and agent. */
export interface Product {
  readonly url: string;
  readonly mcp_url: string;
  readonly directory: string;
  readonly port: number;
  readonly agent_port: number;
  /** Everything that was printed so far. */
  output(this: void): string;
  /** A REST call with the administrator's cookie; throws with the answer when it is not 2xx. */
  api<T = Record<string, unknown>>(this: void, method: string, path: string, body?: unknown): Promise<T>;
  /** Waits until the demo is deployed and its lines are printed. */
  demo(): Promise<void>;
  /** Creates the administrator, or signs in. */
  signIn(): Promise<void>;
  stop(): Promise<void>;
}

/** One whose programs are processes of their own. */
export interface Programs extends Product {
  readonly process: Bun.Subprocess;
  stop(signal?: 'SIGTERM' | 'SIGKILL'): Promise<void>;
}

export interface ProductOptions {
  readonly env?: Record<string, string>;
  /** Without one, `SVC_ROLE` is not set. */
  readonly role?: 'all' | 'server';
  /** A folder that is there already. */
  readonly directory?: string;
  /** The front port, when others must know it before. */
  readonly port?: number;
}

export interface ProgramOptions extends ProductOptions {
  /** An earlier run's folder and ports, to start again. */
  readonly again?: Product;
  /** Another program than `bun server/main.ts`. */
  readonly command?: readonly string[];
}

/** The real programs as `npm start` runs them, in a folder of their own, on free ports. Ready when it answers. */
export async function startPrograms(options: ProgramOptions = {}): Promise<Programs> {
  const address = addressOf(options, options.again);
  let printed = '';
  const child = Bun.spawn([...(options.command ?? [process.execPath, 'server/main.ts'])], {
    cwd: options.command === undefined ? ROOT : address.directory,
    env: { PATH: process.env['PATH'] ?? '', ...variablesOf(address, options) },
    stdout: 'pipe',
    stderr: 'pipe',
  });
  for (const stream of [child.stdout, child.stderr]) {
    void (async () => {
      for await (const chunk of stream) printed += Buffer.from(chunk).toString();
    })();
  }
  const product = productAt(address, () => printed);
  await untilWithin(
    60_000,
    async () => (await fetch(`${product.url}/api/health`)).ok,
    () => printed,
  );
  return {
    ...product,
    process: child,
    async stop(signal = 'SIGTERM') {
      // Host and agent end when the process above them has; the server must not answer any more.
      const server = signal === 'SIGKILL' ? programBelow(child.pid, 'run-server.ts') : null;
      child.kill(signal);
      if (server !== null) process.kill(server, 'SIGKILL');
      await child.exited;
    },
  };
}

/** The process id of a program that this process started, by a part of its command; null: there is none. */
export function programBelow(pid: number, command: string): number | null {
  try {
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').map(Number);
    return children.find((child) => child > 0 && readFileSync(`/proc/${child}/cmdline`, 'utf8').includes(command)) ?? null;
  } catch {
    // A process has ended.
    return null;
  }
}

/** Where an installation is: its folder and its ports. */
export interface ProductAddress {
  readonly directory: string;
  readonly port: number;
  readonly mcp_port: number;
  readonly agent_port: number;
}

export const addressOf = (options: ProductOptions, again?: Product): ProductAddress => ({
  directory: again?.directory ?? options.directory ?? mkdtempSync(join(tmpdir(), 'sluice-run-')),
  port: again?.port ?? options.port ?? freePort(),
  mcp_port: again === undefined ? freePort() : Number(new URL(again.mcp_url).port),
  agent_port: again?.agent_port ?? freePort(),
});

export const variablesOf = (address: ProductAddress, { role, env }: ProductOptions): Record<string, string> => ({
  SVC_ENV: 'dev',
  ...(role && { SVC_ROLE: role }),
  SVC_PORT: String(address.port),
  SVC_FASTMCP_PORT: String(address.mcp_port),
  SVC_AGENT_MCP_PORT: String(address.agent_port),
  SVC_DATA_DIR: address.directory,
  SVC_GENERATED_DIR: join(address.directory, 'generated'),
  SVC_ALLOW_PRIVATE_NETWORKS: 'true',
  ...env,
});

/** What tests do with the installation at an address. */
export function productAt(
  { directory, port, mcp_port, agent_port }: ProductAddress,
  output: () => string,
): Omit<Product, 'stop'> {
  const url = `http://127.0.0.1:${port}`;
  let cookie = '';
  const send = async (method: string, path: string, body?: unknown) => {
    const response = await fetch(`${url}/api/v1${path}`, {
      method,
      headers: { 'content-type': 'application/json', cookie },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const set = response.headers.get('set-cookie');
    if (set !== null) cookie = set.split(';')[0] ?? '';
    return { ok: response.ok, status: response.status, text: await response.text() };
  };
  return {
    url,
    mcp_url: `http://127.0.0.1:${mcp_port}/mcp`,
    directory,
    port,
    agent_port,
    output,
    async api<T>(method: string, path: string, body?: unknown) {
      const { ok, status, text } = await send(method, path, body);
      if (!ok) throw new Error(`${method} ${path} answered ${status}: ${text}`);
      return (text === '' ? {} : JSON.parse(text)) as T;
    },
    async demo() {
      await untilWithin(30_000, () => output().includes('curl'), output);
    },
    async signIn() {
      const account = { username: 'ada', password: 'correct horse' };
      const made = await send('POST', '/auth/setup', account);
      if (!made.ok) await send('POST', '/auth/login', account);
    },
  };
}

/** Removes the folder of stopped programs. */
export const removeFolder = ({ directory }: Product): void => rmSync(directory, { recursive: true, force: true });
