import { open, readFile, rename } from 'node:fs/promises';
import type { LiveToken } from '#core/deploy/hosts.ts';

/** The access tokens as the server last told them. */
export interface TokenList {
  /** When the server told them. */
  readonly as_of: string;
  readonly tokens: readonly LiveToken[];
}

/** The host's copy of the list, beside its snapshot: digests and sealed hashes. */
export interface TokenFile {
  /** Null when there is none; rejects when it cannot be read. */
  read(): Promise<TokenList | null>;
  /** Atomic; one write after the other. */
  write(list: TokenList): Promise<void>;
}

export function tokenFile(path: string): TokenFile {
  let writing: Promise<void> = Promise.resolve();
  return {
    async read() {
      const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
        if (error.code !== 'ENOENT') throw error;
        return null;
      });
      if (text === null) return null;
      const list = JSON.parse(text) as TokenList;
      if (typeof list.as_of !== 'string' || !Array.isArray(list.tokens))
        throw new Error(`${path} is not a list of access tokens.`);
      return list;
    },
    write(list) {
      writing = writing.catch(() => undefined).then(() => replace(path, JSON.stringify(list)));
      return writing;
    },
  };
}

/** A crash leaves the old text or the new one. */
export async function replace(path: string, text: string): Promise<void> {
  const draft = `${path}.${process.pid}.new`;
  const file = await open(draft, 'w', 0o600);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(draft, path);
}
