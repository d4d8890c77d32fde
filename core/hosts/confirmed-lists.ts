import { withTimeout } from '#core/lib/with-timeout.ts';
import { type ListKind, toRevision } from './list-revisions.ts';

/** Within this time hosts apply what was changed (contract section 8); the API answers no later for their sake. */
export const CONFIRM_TIMEOUT_MS = 1_000;

/** Names a state of a list. */
export const listName = (kind: ListKind, revision: number): string => `${kind}:${revision}`;
export const isListName = (name: string): boolean => /^(?:tokens|identity):/.test(name);

/** Which state of each list a host has taken, and who waits until all have. */
export interface ConfirmedLists {
  take(host: string, name: string): void;
  /**
   * Resolves when every host has taken the state or a later one, or after `timeout_ms`. Not waited for: hosts that never said what
   * they take, as those of an older release, and those that left somebody waiting, until they say it again.
   */
  wait(name: string, timeout_ms: number, tell: () => Promise<unknown>): Promise<void>;
  /** Hosts have gone: nobody waits for them, and nothing is known of them. */
  forgetGone(): void;
}

/** @param hosts those connected now. */
export function createConfirmedLists(hosts: () => Iterable<string>): ConfirmedLists {
  /** By host and list, while the host is there. */
  const taken = new Map<string, Map<string, number>>();
  const waiters = new Set<() => void>();
  const lookAgain = (): void => {
    for (const look of waiters) look();
  };
  const behind = (kind: string, revision: number): string[] =>
    [...hosts()].filter((host) => (taken.get(host)?.get(kind) ?? revision) < revision);
  return {
    take(host, name) {
      const [kind, revision] = partsOf(name);
      if (revision === null) return;
      const lists = taken.get(host) ?? new Map<string, number>();
      taken.set(host, lists.set(kind, Math.max(lists.get(kind) ?? 0, revision)));
      lookAgain();
    },
    async wait(name, timeout_ms, tell) {
      const [kind, revision] = partsOf(name);
      const { promise, resolve } = Promise.withResolvers<void>();
      const look = () => {
        if (behind(kind, revision ?? 0).length === 0) resolve();
      };
      waiters.add(look);
      try {
        await tell();
        look();
        await withTimeout(promise, timeout_ms, () => undefined);
      } finally {
        waiters.delete(look);
      }
      for (const host of behind(kind, revision ?? 0)) taken.get(host)?.delete(kind);
    },
    forgetGone() {
      const present = new Set(hosts());
      for (const host of taken.keys()) if (!present.has(host)) taken.delete(host);
      lookAgain();
    },
  };
}

function partsOf(name: string): readonly [kind: string, revision: number | null] {
  const [kind = '', revision = ''] = name.split(':');
  return [kind, toRevision(revision)];
}
