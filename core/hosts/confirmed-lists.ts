import { withTimeout } from '#core/lib/with-timeout.ts';
import type { Platform } from '#core/platform/platform.ts';
import { eq } from 'drizzle-orm';
import { writeMeta, readMeta } from '#core/store/meta.ts';
import type { Db } from '#core/store/store.ts';

/** Lists that are sent to hosts whole at every change. Hosts confirm them. */
export type ListKind = 'tokens' | 'identity';

const KEYS: Readonly<Record<ListKind, string>> = { tokens: 'mcp_tokens_revision', identity: 'identity_revision' };

/** The revision of a list; 0 when it never changed. */
export const readRevision = async ({ store }: Platform, kind: ListKind, tx: Db = store.db): Promise<number> =>
  numberOf(await readMeta(store, tx, KEYS[kind]));

const numberOf = (value: string | null): number => (value === null ? 0 : (toRevision(value) ?? 0));

/** Parses a revision. Null when the text is not one. */
const toRevision = (text: string): number | null => (/^\d{1,15}$/.test(text) ? Number(text) : null);

/** How long an API call waits for hosts to apply a change of a list. */
export const CONFIRM_TIMEOUT_MS = 1_000;

/** Name of one revision of a list. */
export const listName = (kind: ListKind, revision: number): string => `${kind}:${revision}`;

export const isListName = (name: string): boolean => /^(?:tokens|identity):/.test(name);

/** Which revision of each list every host has confirmed, and who waits for it. */
export interface ConfirmedLists {
  confirm(host: string, name: string): void;
  /**
   * Sends a list, and resolves when every host has confirmed this revision or a later one, or after `timeout_ms`. Does not wait for
   * hosts that never confirmed a list, nor for hosts that missed a timeout, until they confirm again.
   */
  sendAndWait(name: string, timeout_ms: number, send: () => Promise<unknown>): Promise<void>;
  /** Drops the hosts that have disconnected. */
  forgetDisconnected(): void;
}

/** @param hosts ids of the connected hosts. */
export function createConfirmedLists(hosts: () => Iterable<string>): ConfirmedLists {
  /** Revisions by host and list, while the host is connected. */
  const confirmed = new Map<string, Map<string, number>>();
  const waiters = new Set<() => void>();
  const wakeWaiters = (): void => {
    for (const wake of waiters) wake();
  };
  const behind = (kind: string, revision: number): string[] =>
    [...hosts()].filter((host) => (confirmed.get(host)?.get(kind) ?? revision) < revision);
  return {
    confirm(host, name) {
      const [kind, revision] = partsOf(name);
      if (revision === null) return;
      const lists = confirmed.get(host) ?? new Map<string, number>();
      confirmed.set(host, lists.set(kind, Math.max(lists.get(kind) ?? 0, revision)));
      wakeWaiters();
    },
    async sendAndWait(name, timeout_ms, send) {
      const [kind, revision] = partsOf(name);
      const { promise, resolve } = Promise.withResolvers<void>();
      const wake = () => {
        if (behind(kind, revision ?? 0).length === 0) resolve();
      };
      waiters.add(wake);
      try {
        await send();
        wake();
        await withTimeout(promise, timeout_ms, () => undefined);
      } finally {
        waiters.delete(wake);
      }
      for (const host of behind(kind, revision ?? 0)) confirmed.get(host)?.delete(kind);
    },
    forgetDisconnected() {
      const present = new Set(hosts());
      for (const host of confirmed.keys()) if (!present.has(host)) confirmed.delete(host);
      wakeWaiters();
    },
  };
}

function partsOf(name: string): readonly [kind: string, revision: number | null] {
  const [kind = '', revision = ''] = name.split(':');
  return [kind, toRevision(revision)];
}

/** Raises the revision of a list in the transaction that changes it, so that other servers notice. @returns the new revision. */
export async function raiseRevision({ store }: Platform, tx: Db, kind: ListKind): Promise<number> {
  const { meta } = store.tables;
  const key = KEYS[kind];
  await tx.insert(meta).values({ key, value: '0' }).onConflictDoNothing();
  // The update locks the row until the commit: concurrent changes get different revisions, in the order of their commits.
  const [row] = await tx.update(meta).set({ key }).where(eq(meta.key, key)).returning();
  const revision = numberOf(row?.value ?? null) + 1;
  await writeMeta(store, tx, key, String(revision));
  return revision;
}
