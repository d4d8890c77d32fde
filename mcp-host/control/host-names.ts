import { readFile } from 'node:fs/promises';
import type { SavedCopies } from '#core/lib/saved-copies.ts';
import type { Log } from '#core/process/log.ts';
import { sweepBeside, writeFileAtomic } from '#core/lib/durable-file.ts';

/** Names accepted in the Host header: those of the environment, and the domains that the server sends. */
export interface HostNames {
  /** Loads the domains from disk, for a host that starts without its server. */
  load(): Promise<void>;
  /** Replaces the domains. */
  use(domains: readonly string[]): Promise<void>;
  /** In lower case. */
  accepted(): ReadonlySet<string>;
}

export interface HostNamesOptions {
  readonly always: readonly string[];
  /** The host's copy, next to its snapshot; null: the domains are not stored. */
  readonly path: string | null;
  readonly copies: Pick<SavedCopies, 'save'>;
  readonly log: Log;
}

export function createHostNames({ always, path, copies, log }: HostNamesOptions): HostNames {
  let accepted = toSet(always);
  let is_received = false;
  return {
    async load() {
      if (path === null) return;
      try {
        const domains = await read(path);
        if (!is_received) accepted = toSet([...always, ...domains]);
      } catch (error) {
        log.error('names_file_damaged', { error: String(error) });
      }
    },
    async use(domains) {
      is_received = true;
      accepted = toSet([...always, ...domains]);
      if (path === null) return;
      await copies.save('The list of domains', () => writeFileAtomic(path, JSON.stringify({ names: domains })));
    },
    accepted: () => accepted,
  };
}

const toSet = (names: readonly string[]): ReadonlySet<string> => new Set(names.map((name) => name.toLowerCase()));

async function read(path: string): Promise<string[]> {
  await sweepBeside(path);
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
    return '{"names":[]}';
  });
  const { names } = JSON.parse(text) as { names?: unknown };
  if (!Array.isArray(names) || names.some((name) => typeof name !== 'string')) throw new Error(`${path} is not a list of names.`);
  return names as string[];
}
