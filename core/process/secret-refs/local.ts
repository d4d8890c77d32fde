import { execFile } from 'node:child_process';
import { open, realpath } from 'node:fs/promises';
import { sep } from 'node:path';
import type { Reference } from '#core/lib/text/secret-reference.ts';
import { unavailable } from './unavailable.ts';

type Of<K extends Reference['kind']> = Extract<Reference, { kind: K }>;

/** What a program finds around it. */
export interface Surroundings {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Absolute paths by name, of `SVC_SECRET_COMMANDS`. */
  readonly commands: ReadonlyMap<string, string>;
  /** Absolute paths of Sluice's files and folders, which no reference may name. */
  readonly private_paths: readonly string[];
}

export const MOST_BYTES = 64 * 1024;

/** Variables that configure Sluice. Their values are secrets of Sluice itself. */
const SLUICE_VARIABLE = /^(?:SVC_|REDIS_)/;

export function readEnv({ name }: Of<'env'>, { environment }: Surroundings): string {
  const ref = `env:${name}`;
  if (SLUICE_VARIABLE.test(name)) throw unavailable(ref, 'belongs to Sluice itself. Name another variable');
  const value = environment[name];
  if (value === undefined) throw unavailable(ref, 'is not set in the environment of this program');
  return value;
}

/** Symbolic links are followed, because mounted secrets of Kubernetes are links. */
export async function readFileSecret({ path }: Of<'file'>, { private_paths }: Surroundings): Promise<string> {
  const ref = `file:${path}`;
  try {
    const real = await realpath(path);
    const hidden = await Promise.all(private_paths.map((one) => realpath(one).catch(() => one)));
    if (hidden.some((one) => real === one || real.startsWith(`${one}${sep}`))) {
      throw unavailable(ref, 'belongs to Sluice itself. Name another file');
    }
    await using file = await open(real, 'r');
    // A pipe or a device would never end.
    if (!(await file.stat()).isFile()) throw unavailable(ref, 'is not a file');
    const bytes = Buffer.alloc(MOST_BYTES + 1);
    const { bytesRead } = await file.read(bytes, 0, bytes.length, 0);
    return bytes.toString('utf8', 0, bytesRead);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    const reason = READ_FAULTS[code];
    if (reason !== undefined) throw unavailable(ref, reason, error);
    throw error;
  }
}

const READ_FAULTS: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist on the machine of this program',
  ENOTDIR: 'does not exist on the machine of this program',
  EACCES: 'cannot be read by the account of this program',
  EPERM: 'cannot be read by the account of this program',
  EISDIR: 'is a folder',
};

const COMMAND_MS = 9_000;

/** Runs a command without a shell and without Sluice's variables. Its output is the secret. */
export function runCommand({ command, args }: Of<'exec'>, { commands, environment }: Surroundings): Promise<string> {
  const ref = ['exec:', command, ...args.map((arg) => ` ${arg}`)].join('');
  const path = commands.get(command);
  if (path === undefined) throw unavailable(ref, `cannot be read because SVC_SECRET_COMMANDS has no command ${command}`);
  const env = Object.fromEntries(Object.entries(environment).filter(([name]) => !SLUICE_VARIABLE.test(name)));
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const limits = { timeout: COMMAND_MS, maxBuffer: MOST_BYTES + 1, killSignal: 'SIGKILL', encoding: 'utf8' } as const;
  // The error of a command repeats its arguments and may repeat its output, so it is not passed on.
  execFile(path, [...args], { ...limits, env, windowsHide: true }, (error, output) => {
    if (error === null) return resolve(output);
    const how = typeof error.code === 'number' ? `ended with the exit code ${error.code}` : 'did not run to its end';
    reject(unavailable(ref, `cannot be read because its command ${how}`));
  });
  return promise;
}
