import { inArray } from 'drizzle-orm';
import { pagesOf } from '#core/lib/slices.ts';
import type { Platform } from '#core/platform/platform.ts';
import { PAGE } from '#core/store/trees.ts';

/** Names of access tokens by id; deleted tokens have none. */
export async function tokenNames(
  { store }: Platform,
  ids: Iterable<string | null | undefined>,
): Promise<ReadonlyMap<string, string>> {
  const { mcp_tokens } = store.tables;
  const names = new Map<string, string>();
  const known = [...new Set(ids)].filter((id) => typeof id === 'string');
  for (const page of pagesOf(known, PAGE)) {
    const { id, name } = mcp_tokens;
    for (const row of await store.db.select({ id, name }).from(mcp_tokens).where(inArray(id, page))) names.set(row.id, row.name);
  }
  return names;
}

/** Names of the access tokens that sessions of clients used, by id of the session. */
export async function tokenNamesOfSessions(app: Platform, ids: Iterable<number | null>): Promise<ReadonlyMap<number, string>> {
  const { mcp_sessions } = app.store.tables;
  const tokens = new Map<number, string | null>();
  const known = [...new Set(ids)].filter((id) => id !== null);
  for (const page of pagesOf(known, PAGE)) {
    const { id, token } = mcp_sessions;
    for (const row of await app.store.db.select({ id, token }).from(mcp_sessions).where(inArray(id, page)))
      tokens.set(row.id, row.token);
  }
  const names = await tokenNames(app, tokens.values());
  return new Map([...tokens].flatMap(([id, token]) => (names.has(token ?? '') ? [[id, names.get(token ?? '') ?? '']] : [])));
}
