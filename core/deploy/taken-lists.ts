import { withTimeout } from '#core/lib/with-timeout.ts';

/** Lists that hosts are sent whole at every change, and say that they have taken. */
export type ListKind = 'tokens' | 'identity';

/** Within this time hosts apply what was changed (contract section 8); the API answers no later for their sake. */
export const TOLD_MS = 1_000;

/** Names a state of a list. Revisions sort as they were made (UUID version 7). */
export const listName = (kind: ListKind, revision: string): string => `${kind}:${revision}`;
export const isListName = (name: string): boolean => /^(?:tokens|identity):/.test(name);

/** Which state of each list a host has taken, and who waits until all have. */
export interface TakenLists {
  take(host: string, name: string): void;
  /**
   * Resolves when every host has taken the state or a later one, or after `timeout_ms`. Not waited for: hosts that never said what
   * they take, as those of an older release, and those that left somebody waiting, until they say it again.
   */
  wait(name: string, timeout_ms: number, tell: () => Promise<unknown>): Promise<void>;
  /** A host has gone. */
  lookAgain(): void;
}

/** @param hosts those connected now. */
export function createTakenLists(hosts: () => Iterable<string>): TakenLists {
  const taken = new Map<string, string>();
  const waiters = new Set<() => void>();
  const lookAgain = (): void => {
    for (const look of waiters) look();
  };
  const keyOf = (host: string, name: string): string => `${name.slice(0, name.indexOf(':'))} ${host}`;
  const behind = (name: string): string[] =>
    [...hosts()].map((host) => keyOf(host, name)).filter((key) => (taken.get(key) ?? name) < name);
  return {
    take(host, name) {
      const key = keyOf(host, name);
      if ((taken.get(key) ?? '') < name) taken.set(key, name);
      lookAgain();
    },
    async wait(name, timeout_ms, tell) {
      const { promise, resolve } = Promise.withResolvers<void>();
      const look = () => {
        if (behind(name).length === 0) resolve();
      };
      waiters.add(look);
      try {
        await tell();
        look();
        await withTimeout(promise, timeout_ms, () => undefined);
      } finally {
        waiters.delete(look);
      }
      for (const key of behind(name)) taken.delete(key);
    },
    lookAgain,
  };
}
