import type { ReadStream } from 'node:tty';
import type { ParseArgsOptionsConfig } from 'node:util';
import { realpath, stat, writeFile } from 'node:fs/promises';
import { writeFileAtomic } from '#core/lib/durable-file.ts';

/** The parts of its process that a command may use. */
export interface Terminal {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly stdin: NodeJS.ReadableStream & Partial<Pick<ReadStream, 'isTTY' | 'setRawMode'>>;
  /** Results. */
  readonly out: (text: string) => void;
  /** All messages besides the result. */
  readonly err: (text: string) => void;
}

export interface Arguments {
  readonly positionals: readonly string[];
  readonly values: Readonly<Record<string, string | boolean | undefined>>;
}

export interface Command {
  /** As it is typed: `import <file> [--dry-run]`. */
  readonly usage: string;
  readonly summary: string;
  readonly options?: ParseArgsOptionsConfig;
  /** How many arguments follow the command, or their minimum and maximum; none by default. */
  readonly words?: number | readonly [least: number, most: number];
  /** @returns the exit code: 0 done, 1 it failed or found something wrong. */
  run(args: Arguments, terminal: Terminal): Promise<number>;
}

/** The command line itself is wrong: exit code 64. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** Writes a result atomically into a file that only its owner can read. Devices and pipes are written to directly. */
export async function writeOut(path: string, text: string): Promise<void> {
  const there = await stat(path).catch(() => null);
  if (there !== null && !there.isFile()) await writeFile(path, text);
  else await writeFileAtomic(there === null ? path : await realpath(path), text);
}
