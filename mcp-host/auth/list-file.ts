import { readFile } from 'node:fs/promises';
import { sweepBeside, writeFileAtomic } from '#core/lib/durable-file.ts';
import type { LiveToken } from '#core/contract/deploy/control.ts';
import { isMembers } from '#mcp-host/protocol/messages.ts';

/** The access tokens as the server last sent them. */
export interface TokenList {
  /** When the server sent them. */
  readonly as_of: string;
  readonly tokens: readonly LiveToken[];
}

/** The host's copy of the list, next to its snapshot, with digests and sealed hashes. */
export type TokenFile = ListFile<TokenList>;

export const tokenFile = (path: string): TokenFile => listFile(path, isTokenList, 'a list of access tokens');

const isTokenList = (value: unknown): value is TokenList =>
  isMembers(value) && typeof value['as_of'] === 'string' && Array.isArray(value['tokens']);

/** A list that the host stores next to its snapshot, so that it can start while the sender is away. */
export interface ListFile<T> {
  /** Null when there is none; rejects when it cannot be read. */
  read(): Promise<T | null>;
  /** Atomic; writes run one after the other. */
  write(list: T): Promise<void>;
}

/** @param isList checks the parsed file. @param what names the list in the error, such as `a list of access tokens`. */
export function listFile<T>(path: string, isList: (value: unknown) => value is T, what: string): ListFile<T> {
  let writing: Promise<void> = Promise.resolve();
  return {
    async read() {
      await sweepBeside(path);
      const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
        if (error.code !== 'ENOENT') throw error;
        return null;
      });
      if (text === null) return null;
      const list = JSON.parse(text) as unknown;
      if (!isList(list)) throw new Error(`${path} is not ${what}.`);
      return list;
    },
    write(list) {
      writing = writing.catch(() => undefined).then(() => writeFileAtomic(path, JSON.stringify(list)));
      return writing;
    },
  };
}

/** Stores nothing. */
export const noListFile = <T>(): ListFile<T> => ({ read: () => Promise.resolve(null), write: () => Promise.resolve() });
