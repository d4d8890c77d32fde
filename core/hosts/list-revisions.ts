import type { Platform } from '#core/platform/platform.ts';
import { eq } from 'drizzle-orm';
import { readMeta, writeMeta } from '#core/store/meta.ts';
import type { Db } from '#core/store/store.ts';

/** Lists that hosts are sent whole at every change, and say that they have taken. */
export type ListKind = 'tokens' | 'identity';

const KEYS: Readonly<Record<ListKind, string>> = { tokens: 'mcp_tokens_revision', identity: 'identity_revision' };

/** Counts a change of the list in the transaction that makes it, so that other servers see it, and what waits for it knows its number. */
export async function raiseRevision({ store }: Platform, tx: Db, kind: ListKind): Promise<number> {
  const { meta } = store.tables;
  const key = KEYS[kind];
  await tx.insert(meta).values({ key, value: '0' }).onConflictDoNothing();
  // Holds the row until the commit: two changes at once have two numbers, in the order of their commits.
  const [row] = await tx.update(meta).set({ key }).where(eq(meta.key, key)).returning();
  const revision = numberOf(row?.value ?? null) + 1;
  await writeMeta(store, tx, key, String(revision));
  return revision;
}

/** The number of the last change; 0: there was none. */
export const readRevision = async ({ store }: Platform, kind: ListKind, tx: Db = store.db): Promise<number> =>
  numberOf(await readMeta(store, tx, KEYS[kind]));

const numberOf = (value: string | null): number => (value === null ? 0 : (toRevision(value) ?? 0));

/** Servers of an older release write a UUID version 7: its time in ms is the number, which counting goes on from. */
export function toRevision(text: string): number | null {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  return /^[\da-f]{8}-[\da-f]{4}-7/.test(text) ? Number.parseInt(text.slice(0, 13).replace('-', ''), 16) : null;
}
